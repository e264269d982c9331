#include "ropewalk/engine/vocabulary.h"

#include <limits>
#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::optional<int32_t> find_id(const GgufMetadata& metadata, const std::string& key) {
  const std::optional<int64_t> id = metadata.find_i64(key);
  if (!id) return std::nullopt;
  if (*id < 0 || *id > std::numeric_limits<int32_t>::max()) {
    throw Error(key, "must be a token id", std::to_string(*id));
  }
  return static_cast<int32_t>(*id);
}

std::vector<std::string> strings(const std::optional<std::span<const std::string_view>>& views) {
  if (!views) return {};
  return {views->begin(), views->end()};
}

// An array of either i8 or u8: both are in use.
std::string bytes(const GgufMetadata& metadata, const std::string& key) {
  std::string all;
  for (const int32_t value : metadata.find_i32_array(key).value_or(std::vector<int32_t>())) {
    if (value < -128 || value > 255) throw Error(key, "must hold bytes", std::to_string(value));
    all += static_cast<char>(value);
  }
  return all;
}

}  // namespace

Vocabulary read_vocabulary(const GgufMetadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  Vocabulary vocabulary;
  vocabulary.model = metadata.get_string(prefix + "model");
  vocabulary.pre = metadata.find_string(prefix + "pre").value_or("");
  vocabulary.tokens = strings(metadata.get_string_array(prefix + "tokens"));
  vocabulary.scores = metadata.find_f32_array(prefix + "scores").value_or(std::vector<float>());
  vocabulary.token_types =
      metadata.find_i32_array(prefix + "token_type").value_or(std::vector<int32_t>());
  vocabulary.merges = strings(metadata.find_string_array(prefix + "merges"));
  vocabulary.bos = find_id(metadata, prefix + "bos_token_id");
  vocabulary.eos = find_id(metadata, prefix + "eos_token_id");
  vocabulary.unknown = find_id(metadata, prefix + "unknown_token_id");
  vocabulary.classification = find_id(metadata, prefix + "cls_token_id");
  vocabulary.separator = find_id(metadata, prefix + "seperator_token_id");
  vocabulary.add_bos = metadata.find_bool(prefix + "add_bos_token");
  vocabulary.add_eos = metadata.find_bool(prefix + "add_eos_token");
  vocabulary.add_separator = metadata.find_bool(prefix + "add_sep_token");
  vocabulary.add_space_prefix = metadata.find_bool(prefix + "add_space_prefix");
  vocabulary.remove_extra_whitespaces = metadata.find_bool(prefix + "remove_extra_whitespaces");
  vocabulary.precompiled_charsmap = bytes(metadata, prefix + "precompiled_charsmap");
  vocabulary.lowercase = metadata.find_bool(prefix + "normalizer.lowercase");
  vocabulary.strip_accents = metadata.find_bool(prefix + "normalizer.strip_accents");
  return vocabulary;
}

}  // namespace ropewalk
