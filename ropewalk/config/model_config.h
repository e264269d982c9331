// What a model file declares: its shape and its positions, each number with where it comes from.
#ifndef ROPEWALK_CONFIG_MODEL_CONFIG_H_
#define ROPEWALK_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// Where a number comes from.
enum class Provenance {
  kFile,           // a key of the file, named
  kDerived,        // computed from keys of the file, named
  kFamilyDefault,  // what the family's reference implementation takes when the key is absent
  kAssumed,        // nobody says; what we take, and why, is in the note
};

// "file", "derived", "family default", "assumed".
std::string to_string(Provenance provenance);

// One declared number, as text, for `show` and for messages.
struct DeclaredField {
  std::string name;   // in Ropewalk's vocabulary: "base", "trained_length", "head_dim"
  std::string value;  // as the file spells it, shortest round-trip decimal
  Provenance provenance = Provenance::kFile;
  std::string from;  // the key, or the reason
};

// Far above every known model. More is refused, so that no file decides how much memory is taken.
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxHeadDim = 8192;

// Sizes of a decoder of the Llama family.
struct ModelShape {
  int64_t n_layers = 0;
  int64_t hidden = 0;      // embedding_length, hidden_size
  int64_t n_heads = 0;     // query heads
  int64_t n_kv_heads = 0;  // divides n_heads
  int64_t head_dim = 0;
  int64_t ffn = 0;  // feed_forward_length, intermediate_size
  int64_t vocabulary = 0;
  double norm_epsilon = 0;   // RMSNorm
  bool tied_output = false;  // the output matrix is the embedding
};

struct ModelConfig {
  std::string architecture;  // general.architecture, or model_type
  ModelShape shape;

  // What each layer declares; empty where a layer has no rotary positions. (n_layers), or one entry
  // that stands for all where the file does not tell how many there are.
  std::vector<std::optional<Rotary>> layers;

  // The declared positions as a scheme string that rebuilds them from plain RoPE of the same file,
  // such as "yarn,factor=4,original=32768"; "rope" for plain; empty where free factors make it
  // inexpressible, or no layer is rotary.
  std::string scheme;

  std::vector<DeclaredField> fields;  // in reading order
  std::vector<std::string> notes;     // engines that would disagree, keys not used
};

// The trained length L that schemes refer to: of the first rotary layer, 0 where there is none.
int64_t trained_length(const ModelConfig& config);

// Reads the declared configuration of a GGUF file of the Llama family, complete enough to run it.
// Keys, defaults and the effect of tensors such as rope_freqs.weight follow llama.cpp's loader.
// Throws Error naming key, rule and value: unknown architecture, missing or inconsistent sizes, a
// scaling that is unknown or lacks what it needs.
ModelConfig read_gguf_config(const GgufFile& file);

// Reads config.json of the Llama family, both forms (rope_scaling and rope_parameters).
//   config  the parsed document
//   place   names it in messages
// Throws Error as above.
ModelConfig read_hf_config(const nlohmann::ordered_json& config, const std::string& place);

// The same two for looking rather than running: only what positions need must be there, other sizes
// stay 0, and more architectures are known. Throws Error where the positions cannot be told.
ModelConfig read_gguf_positions(const GgufFile& file);
ModelConfig read_hf_positions(const nlohmann::ordered_json& config, const std::string& place);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_MODEL_CONFIG_H_
