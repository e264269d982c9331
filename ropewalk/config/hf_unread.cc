#include "ropewalk/config/hf_unread.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ropewalk/config/hf_spelling.h"

namespace ropewalk {
namespace {

// Keys that some family reads, by the names that files have.
const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> kKeys = {"rope_scaling",
                                                 "rope_parameters",
                                                 "rope_theta",
                                                 "max_position_embeddings",
                                                 "head_dim",
                                                 "partial_rotary_factor",
                                                 "sliding_window",
                                                 "layer_types",
                                                 "rope_local_base_freq",
                                                 "no_rope_layers",
                                                 "no_rope_layer_interval",
                                                 "rotary_dim",
                                                 "rotary_emb_base",
                                                 "original_max_position_embeddings",
                                                 "sliding_window_pattern",
                                                 "use_sliding_window",
                                                 "max_window_layers",
                                                 "qk_rope_head_dim",
                                                 "position_embedding_type"};
  return kKeys;
}

}  // namespace

bool is_position_key(const std::string& key) {
  constexpr std::array<std::string_view, 14> kWords = {
      "rope", "rotary", "position", "sliding", "window", "alibi", "ntk",
      "logn", "yarn",   "theta",    "swa",     "seqlen", "nope",  "mrope"};
  constexpr std::array<std::string_view, 8> kParts = {
      "layer_types", "seq_len",         "max_seq",     "attention_chunk",
      "dual_chunk",  "compress_ratios", "kv_channels", "model_max_length"};
  constexpr std::array<std::string_view, 3> kWhole = {"head_dim", "attention_head_dim",
                                                      "global_head_dim"};
  if (std::ranges::find(kWhole, key) != kWhole.end()) return true;
  for (const std::string_view part : kParts) {
    if (key.find(part) != key.npos) return true;
  }
  for (size_t start = 0; start < key.size();) {
    const size_t end = std::min(key.find('_', start), key.size());
    const std::string_view word = std::string_view(key).substr(start, end - start);
    for (const std::string_view hint : kWords) {
      if (word.starts_with(hint)) return true;
    }
    start = end + 1;
  }
  return false;
}

void note_unread_keys(const JsonFields& fields, HfNotes& notes) {
  const std::vector<std::string>& known = known_keys();
  for (const std::string& key : fields.unread()) {
    if (!is_position_key(key) || !fields.has_value(key)) continue;
    const std::string name = fields.name(key);
    const std::string text = name + " = " + fields.spelled(key) + " is not used";
    const bool is_known = std::ranges::find(known, key) != known.end();
    const std::string nearest = is_known ? std::string() : nearest_spelling(key, known);
    const bool is_free = !nearest.empty() && !fields.has_value(nearest);
    if (is_free) {
      notes.warn(name, "unknown key: " + text + "; did you mean " + nearest + "?",
                 FaultKind::kUnknownValue);
    } else {
      notes.info(name, text + " by this model type");
    }
  }
}

}  // namespace ropewalk
