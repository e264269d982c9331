// Where the config.json of a model type says the sizes that running it needs beside positions.
#ifndef ROPEWALK_CONFIG_HF_SIZES_H_
#define ROPEWALK_CONFIG_HF_SIZES_H_

#include <cstdint>
#include <string_view>

namespace ropewalk {

struct HfSizes {
  enum class KeyHeads {
    kStated,      // num_key_value_heads must say how many there are
    kGrouped,     // as many as heads where it is absent
    kOwn,         // as many as heads; no key counts
    kMultiQuery,  // multi_query: 1, but of a new_decoder_architecture num_kv_heads
  };
  KeyHeads key_heads = KeyHeads::kStated;

  std::string_view head_key = {};  // a head's width, of families that do not rotate

  std::string_view ffn_key = "intermediate_size";  // empty: none; "a|b": of several spellings
  int64_t ffn_ratio = 0;                // to hidden_size, where that is absent; 0: it must be there
  std::string_view ffn_ratio_key = {};  // says another ratio

  std::string_view norm_key = "rms_norm_eps";  // empty: none; "a|b": of several spellings
  double norm_epsilon = 0;                     // where that is absent; 0: it must be there
};

using KeyHeads = HfSizes::KeyHeads;

inline constexpr HfSizes kLlamaSizes = {.key_heads = KeyHeads::kGrouped, .norm_epsilon = 1e-6};
inline constexpr HfSizes kGroupedSizes = {.key_heads = KeyHeads::kGrouped};
inline constexpr HfSizes kPhiSizes = {.key_heads = KeyHeads::kGrouped,
                                      .norm_key = "layer_norm_eps"};
inline constexpr HfSizes kStableSizes = {.norm_key = "layer_norm_eps"};
inline constexpr HfSizes kStarCoderSizes = {.norm_key = "norm_epsilon"};
inline constexpr HfSizes kNemotronSizes = {.key_heads = KeyHeads::kGrouped, .norm_key = "norm_eps"};
inline constexpr HfSizes kOlmoSizes = {
    .key_heads = KeyHeads::kGrouped, .norm_key = {}, .norm_epsilon = 1e-5};
inline constexpr HfSizes kNeoxSizes = {.key_heads = KeyHeads::kOwn, .norm_key = "layer_norm_eps"};
inline constexpr HfSizes kGpt2Sizes = {.key_heads = KeyHeads::kOwn,
                                       .ffn_key = "n_inner",
                                       .ffn_ratio = 4,
                                       .norm_key = "layer_norm_epsilon"};
inline constexpr HfSizes kOptSizes = {
    .key_heads = KeyHeads::kOwn, .ffn_key = "ffn_dim", .norm_key = {}, .norm_epsilon = 1e-5};
inline constexpr HfSizes kBloomSizes = {
    .key_heads = KeyHeads::kOwn, .ffn_key = {}, .ffn_ratio = 4, .norm_key = "layer_norm_epsilon"};
inline constexpr HfSizes kMptSizes = {.key_heads = KeyHeads::kOwn,
                                      .ffn_key = {},
                                      .ffn_ratio = 4,
                                      .ffn_ratio_key = "expansion_ratio",
                                      .norm_key = "layer_norm_epsilon",
                                      .norm_epsilon = 1e-5};
inline constexpr HfSizes kFalconSizes = {.key_heads = KeyHeads::kMultiQuery,
                                         .ffn_key = "ffn_hidden_size",
                                         .ffn_ratio = 4,
                                         .norm_key = "layer_norm_epsilon"};
inline constexpr HfSizes kBertSizes = {
    .key_heads = KeyHeads::kOwn, .norm_key = "layer_norm_eps", .norm_epsilon = 1e-12};
inline constexpr HfSizes kNomicSizes = {.key_heads = KeyHeads::kOwn,
                                        .ffn_key = "n_inner|intermediate_size",
                                        .norm_key = "layer_norm_epsilon|layer_norm_eps",
                                        .norm_epsilon = 1e-12};
inline constexpr HfSizes kModernBertSizes = {
    .key_heads = KeyHeads::kOwn, .norm_key = "norm_eps", .norm_epsilon = 1e-5};
inline constexpr HfSizes kT5Sizes = {.key_heads = KeyHeads::kOwn,
                                     .head_key = "d_kv",
                                     .ffn_key = "d_ff",
                                     .norm_key = "layer_norm_epsilon",
                                     .norm_epsilon = 1e-6};

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SIZES_H_
