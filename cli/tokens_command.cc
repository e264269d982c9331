#include "cli/tokens_command.h"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/open_tokenizer.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

struct Options {
  std::string model;
  std::string text;
  std::string texts;
  bool special = false;
  bool bare = false;
  bool json = false;
};

// A string, or its bytes as numbers.
std::string text_of(const nlohmann::ordered_json& entry, const std::string& place) {
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_array()) throw Error(place, "must be a string or an array of bytes");
  std::string text;
  for (const auto& byte : entry) {
    if (!byte.is_number_unsigned() || byte.get<uint64_t>() > 255) {
      throw Error(place, "must hold bytes", byte.dump().substr(0, 40));
    }
    text += static_cast<char>(byte.get<uint64_t>());
  }
  return text;
}

std::vector<std::string> read_texts(const Options& options) {
  if (options.texts.empty()) return {read_text(options.text)};
  const nlohmann::ordered_json json = parse_json(read_text(options.texts), options.texts);
  if (!json.is_array()) throw Error(options.texts, "must be a JSON array", json.type_name());
  std::vector<std::string> texts;
  for (const auto& entry : json) {
    texts.push_back(text_of(entry, options.texts + ", entry " + std::to_string(texts.size())));
  }
  return texts;
}

void run(const Options& options) {
  const std::vector<std::string> texts = read_texts(options);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(options.model);
  const EncodeOptions how = {.add_special = !options.bare, .parse_special = options.special};
  if (!options.json) {
    for (const std::string& text : texts) {
      for (const int32_t id : tokenizer->encode(text, how)) {
        fmt::print("{:>8}  {}\n", id, printable(tokenizer->piece(id)));
      }
    }
    return;
  }
  std::string ids = "[";
  std::string returns = "[";
  for (const std::string& text : texts) {
    const std::vector<int32_t> encoded = tokenizer->encode(text, how);
    ids.append(ids.size() > 1 ? ", " : "").append(json_list(encoded));
    const bool same = tokenizer->decode(encoded, {.show_control = options.special}) == text;
    returns.append(returns.size() > 1 ? ", " : "").append(same ? "true" : "false");
  }
  fmt::print("{{\"ids\": {}], \"returns\": {}]}}\n", ids, returns);
}

}  // namespace

void add_tokens_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tokens", "What a model's tokenizer makes of a text");
  command->add_option("MODEL", options->model, "A GGUF file, or a directory with tokenizer files")
      ->required()
      ->check(names_file());
  CLI::Option_group* input = command->add_option_group("input");
  input->add_option("--text", options->text, "A text file; - is standard input")
      ->check(names_file());
  input
      ->add_option("--texts", options->texts,
                   "A JSON array of texts, each a string or an array of bytes; - is standard "
                   "input")
      ->check(names_file());
  input->require_option(1);
  command->add_flag("--special", options->special,
                    "Take what spells a special token in the text for that token");
  command->add_flag("--bare", options->bare, "Add no BOS and no EOS");
  command->add_flag("--json", options->json,
                    "{\"ids\": [[...]], \"returns\": [...]}: of each text its tokens, and whether "
                    "decoding gives it back");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
