#include "cli/declared_file.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "cli/model_parts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/hf_tokenizer_length.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// What running needs beyond positions, as one line; empty where nothing is lacking.
template <typename ReadConfig>
std::string obstacle_of(const std::string& path, ReadConfig read_config) {
  try {
    read_config();
    return {};
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string place = path + ": ";
    if (text.starts_with(place)) text.erase(0, place.size());
    return text;
  }
}

DeclaredFile open_json(const std::string& path, const std::vector<std::string>& overrides) {
  DeclaredFile file{.path = path, .format = "config.json", .kind = ModelFormat::kHuggingFace};
  file.document = load_json(path);
  for (const std::string& text : overrides) override_key(file.document, text);
  file.config = read_hf_positions(file.document, path);
  add_tokenizer_length(path, file.config);
  file.obstacle = obstacle_of(path, [&] { return read_hf_config(file.document, path); });
  return file;
}

DeclaredFile open_gguf(const std::string& path, const std::vector<std::string>& overrides) {
  if (!overrides.empty()) {
    throw Error("--override", "can change a config.json only", path,
                "`ropewalk write` makes a GGUF file that declares something else");
  }
  DeclaredFile file{.path = path};
  file.gguf = std::make_shared<GgufFile>(GgufFile::open(path, GgufData::kOptional));
  file.format = "GGUF version " + std::to_string(file.gguf->version());
  std::shared_ptr<const GgufFile> all = file.gguf;
  try {
    all = with_other_parts(file.gguf);
  } catch (const Error&) {
    // Another part is damaged: the obstacle below says so.
  }
  file.config = read_gguf_positions(*all);
  file.obstacle = obstacle_of(path, [&] {
    if (!all->is_part()) return read_gguf_config(*all);
    return read_gguf_config(GgufFile::open_all(path, GgufData::kOptional));
  });
  return file;
}

}  // namespace

void add_tokenizer_length(const std::string& path, ModelConfig& config) {
  const std::filesystem::path beside =
      std::filesystem::path(path).parent_path() / "tokenizer_config.json";
  std::error_code failed;
  if (!std::filesystem::is_regular_file(beside, failed)) return;
  note_tokenizer_length(config, load_json(beside.string()));
}

DeclaredFile open_declared(const std::string& path, const std::vector<std::string>& overrides) {
  const std::string file = positions_file(path);
  return model_format(path) == ModelFormat::kHuggingFace ? open_json(file, overrides)
                                                         : open_gguf(file, overrides);
}

void override_key(Json& document, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--override", "must read key=JSON", text,
                "for example rope_scaling={\"rope_type\":\"linear\",\"factor\":4}");
  }
  const std::string key = text.substr(0, equals);
  Json value = parse_json(std::string_view(text).substr(equals + 1), "--override " + key);

  Json* place = &document;
  size_t start = 0;
  for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', start)) {
    place = &(*place)[key.substr(start, dot - start)];
    if (place->is_null()) *place = Json::object();
    if (!place->is_object()) {
      throw Error("--override " + key, "must name a key of an object",
                  key.substr(0, dot) + " is a " + place->type_name());
    }
    start = dot + 1;
  }
  (*place)[key.substr(start)] = std::move(value);
}

}  // namespace ropewalk
