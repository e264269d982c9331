// What a model file declares: its shape and its positions, each number with where it comes from.
#ifndef ROPEWALK_CONFIG_MODEL_CONFIG_H_
#define ROPEWALK_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/math/input_embedding.h"
#include "ropewalk/math/rotary.h"
#include "ropewalk/math/score_bias.h"

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

// A thing worth saying of a file that can be read.
struct Finding {
  enum class Severity {
    kInfo,     // how it is taken, where engines differ
    kWarning,  // a fault that the file can be read in spite of
  };
  Severity severity = Severity::kInfo;
  FaultKind kind = FaultKind::kUnspecified;
  std::string key;      // as the file has it: "rope_scaling.factor"; empty where it is about no key
  std::string text;     // one sentence naming key, value and what is made of it
  int engine_rule = 0;  // the row of docs/engines.md that it is about; 0: none
};

// Layers that declare the same positions.
struct LayerGroup {
  std::string name;             // the layer type: "sliding_attention"; empty where all are alike
  std::vector<int64_t> layers;  // rising; empty where the file does not tell how many there are

  // Nothing where q and k are not rotated.
  std::optional<Rotary> rotary;

  // Of layers that are not rotated; a Rotary has its own.
  QueryTemperature temperature;

  // The positions as a scheme string that rebuilds them from plain RoPE of the same source and
  // layout, such as "yarn,factor=4,original=32768"; "rope" for plain; empty where free factors make
  // it inexpressible, or the group is not rotary.
  std::string scheme;

  std::vector<DeclaredField> fields;  // what holds for these layers alone
};

// ---- positions that are not rotation

// A learned row for each position: position p is row p + offset.
struct LearnedTable {
  int64_t n_rows = 0;  // with the rows that `offset` skips; 0: the file does not say
  int64_t offset = 0;
};

// SinusoidalEmbedding's arguments.
struct SinusoidalTable {
  SinusoidOrder order = SinusoidOrder::kInterleaved;
  int64_t dim = 0;
  double base = 10000;
  int64_t offset = 0;
};

// A learned row for each token type ("segment"), added to the embedding.
struct SegmentTable {
  int64_t n_types = 0;
};

// -slope[head] * |i - j| on the scores.
struct AlibiBias {
  std::vector<double> slopes;  // (n_heads)
};

// Transformer-XL's and XLNet's scores against a sinusoid of the distance.
struct TransformerXlScores {
  int64_t dim = 0;
};

// A convolution over the input, as wav2vec 2.0 has it: no formula of positions.
struct ConvolutionalEmbedding {
  int64_t width = 0;
};

using PositionMechanism =
    std::variant<LearnedTable, SinusoidalTable, SegmentTable, AlibiBias, T5Buckets, DebertaBuckets,
                 ClippedDistance, TransformerXlScores, ConvolutionalEmbedding>;

struct ModelConfig {
  std::string architecture;  // general.architecture, or model_type
  ModelShape shape;

  std::vector<LayerGroup> groups;       // at least one; by the first layer of each
  std::vector<int32_t> group_of_layer;  // (n_layers), or one entry that stands for all where the
                                        // file does not tell how many there are
  std::vector<PositionMechanism> mechanisms;  // beside rotation, for all layers

  // The positions that the file declares, before any scaling is looked at; 0: unknown.
  int64_t context_length = 0;

  // The most tokens that the file is good for as it stands, and why; 0 where nothing limits them.
  int64_t usable_length = 0;
  std::string usable_reason;

  std::vector<DeclaredField> fields;  // what holds for all layers, in reading order
  std::vector<Finding> findings;

  // The positions of a layer, 0 <= layer < group_of_layer.size().
  const std::optional<Rotary>& layer(size_t layer) const {
    return groups[static_cast<size_t>(group_of_layer[layer])].rotary;
  }
};

// The trained length L that schemes refer to: of the first rotary layer, 0 where there is none.
int64_t trained_length(const ModelConfig& config);

// One group of all layers. For files whose layers are alike.
//   n_layers  0 where the file does not tell
void set_single_group(ModelConfig& config, int64_t n_layers, LayerGroup group);

// Groups by a name for each layer; `group_of(name)` is asked once for each name, in order.
void set_groups(ModelConfig& config, const std::vector<std::string>& name_of_layer,
                const std::function<LayerGroup(const std::string& name)>& group_of);

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
