#include "cli/golden/gguf_bytes.h"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/golden/bounds.h"
#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/formats/append_bytes.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk::golden {
namespace {

constexpr size_t kAlignment = 32;

struct Tensor {
  std::string name;
  std::vector<float> values;
};

void pad(std::string& out) { out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment); }

void append_type(std::string& out, GgufType type) {
  append_number(out, static_cast<uint32_t>(type));
}

void append_list(std::string& out, const Json& list) {
  append_type(out, GgufType::kArray);
  const bool whole = std::ranges::all_of(list, [](const Json& x) { return x.is_number_integer(); });
  append_type(out, list.empty() || whole ? GgufType::kInt32 : GgufType::kFloat32);
  append_number<uint64_t>(out, list.size());
  for (const Json& item : list) {
    if (whole) {
      append_number(out, item.get<int32_t>());
    } else {
      append_number(out, static_cast<float>(number(item)));
    }
  }
}

std::optional<float> decimal_of(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  try {
    return static_cast<float>(from_decimal(value.get<std::string>()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void append_value(std::string& out, const Json& value, bool decimals) {
  const std::optional<float> decimal = decimals ? decimal_of(value) : std::nullopt;
  if (decimal) {
    append_type(out, GgufType::kFloat32);
    append_number(out, *decimal);
  } else if (value.is_boolean()) {
    append_type(out, GgufType::kBool);
    append_number<uint8_t>(out, value.get<bool>() ? 1 : 0);
  } else if (value.is_number_integer() && value.get<int64_t>() < 0) {
    append_type(out, GgufType::kInt32);
    append_number(out, value.get<int32_t>());
  } else if (value.is_number_integer()) {
    append_type(out, GgufType::kUint32);
    append_number(out, value.get<uint32_t>());
  } else if (value.is_number()) {
    append_type(out, GgufType::kFloat32);
    append_number(out, static_cast<float>(value.get<double>()));
  } else if (value.is_array()) {
    append_list(out, value);
  } else {
    append_type(out, GgufType::kString);
    append_string(out, value.get<std::string>());
  }
}

std::string file_of(const Json& keys, const std::vector<Tensor>& tensors, bool decimals) {
  std::string out = "GGUF";
  append_number<uint32_t>(out, 3);
  append_number<uint64_t>(out, tensors.size());
  append_number<uint64_t>(out, keys.size());
  for (const auto& [key, value] : keys.items()) {
    append_string(out, key);
    append_value(out, value, decimals);
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    append_string(out, tensor.name);
    append_number<uint32_t>(out, 1);
    append_number<uint64_t>(out, tensor.values.size());
    append_number<uint32_t>(out, 0);  // f32
    append_number<uint64_t>(out, offset);
    offset += (tensor.values.size() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  }
  pad(out);
  for (const Tensor& tensor : tensors) {
    for (const float value : tensor.values) append_number(out, value);
    pad(out);
  }
  return out;
}

std::vector<float> values_of(const Json& given) {
  std::vector<float> values;
  if (given.is_object()) {
    for (const Json& run : given.at("repeat")) {
      const int64_t count = require_between("repeat", run.at(1).get<int64_t>(), 0, kMostWidth);
      values.insert(values.end(), static_cast<size_t>(count),
                    static_cast<float>(number(run.at(0))));
    }
  } else {
    for (const Json& value : given) values.push_back(static_cast<float>(number(value)));
  }
  return values;
}

// "shape [48]": how many values a tensor has that a malformed case only names.
std::vector<float> ones_of(const std::string& shape) {
  const size_t digits = shape.find_first_of("0123456789");
  if (digits == std::string::npos) throw Error("tensor", "must have a shape", shape);
  const int64_t count =
      require_between("tensor", std::stoll(shape.substr(digits)), 0, kMostNumbers);
  return std::vector<float>(static_cast<size_t>(count), 1.0F);
}

// Sizes that cases leave out.
class Filler {
 public:
  Filler(Json& keys, std::string architecture)
      : keys_(keys), architecture_(std::move(architecture)) {}

  void fill(const std::vector<Tensor>& tensors) {
    if (!keys_.contains("general.architecture")) keys_["general.architecture"] = architecture_;
    set("block_count", 12);
    // A file that may have to scale from its own context length must tell it.
    const std::string type = text("rope.scaling.type");
    const bool scales = type == "yarn" || type == "longrope";
    if (!scales || has("rope.scaling.original_context_length")) set("context_length", 4096);
    fill_head(tensors);
    set("attention.head_count", 32);
    set("embedding_length", 4096);
    if (architecture_ == "deepseek2") fill_latent_attention();
  }

 private:
  bool has(const std::string& suffix) const { return keys_.contains(architecture_ + "." + suffix); }
  std::string text(const std::string& suffix) const {
    const auto found = keys_.find(architecture_ + "." + suffix);
    return found != keys_.end() && found->is_string() ? found->get<std::string>() : "";
  }
  void set(const std::string& suffix, int64_t value) {
    if (!has(suffix)) keys_[architecture_ + "." + suffix] = value;
  }
  int64_t get(const std::string& suffix) const {
    return keys_[architecture_ + "." + suffix].get<int64_t>();
  }

  // A head as wide as what is rotated of it, where the case tells nothing of the head.
  void fill_head(const std::vector<Tensor>& tensors) {
    if (has("attention.key_length") || has("embedding_length")) return;
    if (has("rope.dimension_count")) {
      set("attention.key_length", get("rope.dimension_count"));
    } else if (!tensors.empty()) {
      set("attention.key_length", 2 * static_cast<int64_t>(tensors.front().values.size()));
    }
    if (has("rope.dimension_count_swa")) {
      set("attention.key_length_swa", get("rope.dimension_count_swa"));
    }
  }

  // DeepSeek-V2 and V3, Kimi-K2: a head of 128 unrotated and 64 rotated coordinates.
  void fill_latent_attention() {
    if (!has("rope.dimension_count")) return;
    keys_.erase(architecture_ + ".attention.key_length");
    set("attention.kv_lora_rank", 512);
    set("attention.key_length", 512 + get("rope.dimension_count"));
    set("attention.key_length_mla", 128 + get("rope.dimension_count"));
  }

  Json& keys_;
  std::string architecture_;
};

}  // namespace

std::string architecture_of(const Json& keys, const std::string& model) {
  const auto named = keys.find("general.architecture");
  if (named != keys.end() && named->is_string()) return named->get<std::string>();
  for (const auto& [key, value] : keys.items()) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos || key.starts_with("general.")) continue;
    const std::string prefix = key.substr(0, dot);
    if (prefix != "A") return prefix;
    return find_gguf_architecture(model) != nullptr ? model : "qwen3";
  }
  throw Error("gguf", "must have a key of its architecture");
}

ModelConfig read_gguf_case(const Json& keys, const Json& tensors, const std::string& model,
                           bool decimals) {
  const std::string architecture = architecture_of(keys, model);
  Json named = Json::object();
  std::vector<Tensor> vectors;
  for (const auto& [key, value] : keys.items()) {
    if (key.ends_with(".weight")) {
      vectors.push_back({key, ones_of(value.get<std::string>())});
    } else {
      named[key.starts_with("A.") ? architecture + key.substr(1) : key] = value;
    }
  }
  if (tensors.is_object()) {
    for (const auto& [name, values] : tensors.items()) vectors.push_back({name, values_of(values)});
  }
  Filler(named, architecture).fill(vectors);
  const std::string bytes = file_of(named, vectors, decimals);
  return read_gguf_positions(GgufFile::parse(std::as_bytes(std::span(bytes)), "case.gguf"));
}

}  // namespace ropewalk::golden
