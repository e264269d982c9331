// What the reference implementation of a model type takes for granted, because its config.json need
// not say it. A table: policy for a model type is data here and nowhere else.
#ifndef ROPEWALK_CONFIG_HF_FAMILIES_H_
#define ROPEWALK_CONFIG_HF_FAMILIES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ropewalk/config/hf_sizes.h"
#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

// Keys that have several spellings are written "a|b".
struct HfFamily {
  // What tells tokens apart, unless a key says otherwise.
  enum class Positions {
    kRotary,
    kNone,               // state space models, and attention without positions
    kLearned,            // a row for each position
    kSinusoidalPaper,    // sines and cosines in turn
    kSinusoidalConcat,   // sines, then cosines
    kSinusoidalTensor2,  // the same, frequencies as in tensor2tensor
    kWhisper,            // encoder: as tensor2tensor; decoder: learned
    kAlibi,
    kT5,
    kDeberta,
    kTransformerXl,
    kConvolution,
  };

  // The key that can change the above.
  enum class Switch {
    kNever,
    kType,        // position_embedding_type: absolute, rotary, alibi, relative_key, nope
    kAlibiFlag,   // alibi
    kAlibiHeads,  // ALiBi where there are 40 heads: Baichuan-13B says it nowhere else
    kAttnConfig,  // attn_config.alibi, attn_config.rope
    kMlaNope,     // mla_use_nope: no rotation
    kRotaryFlag,  // rotary
  };

  enum class Base {
    kTheta,  // rope_theta, or one of base_keys
    kFixed,  // no key changes it
    kRatio,  // base times rope_ratio
  };

  // Which layers differ from the full_attention ones, where no layer_types say it. Layers count
  // from 0.
  enum class Layers {
    kAlike,
    kLastOfEvery,   // full where (i + 1) % period is 0
    kFirstOfEvery,  // full where i % period is 0
    kFlags,         // layers_key is a list; full where the entry is full_flag
    kIndices,       // layers_key lists the full ones
    kCycle,         // layers_key lists types that repeat
    kFromLayer,     // sliding from max_window_layers on, where use_sliding_window
    kRatios,        // layers_key is a list; full (compressed) where the entry is not 0
    kChunks,        // chunked where the layer is rotated
  };

  // Which layers are not rotated, among those with attention.
  enum class Nope {
    kNever,
    kList,  // no_rope_layers: 0 where not; else every no_rope_layer_interval-th
    kFull,  // full_attention layers, where others have a window
  };

  // Which layers have a window.
  enum class Window {
    kNever,        // no key gives one
    kWhenPresent,  // all, unless null
    kSliding,      // sliding_attention layers
  };

  // A base that grows with the length, said outside of a scaling block.
  enum class Growth {
    kNever,
    kQwen,      // use_dynamic_ntk, from seq_length on; use_logn_attn
    kNomic,     // rotary_scaling_factor, from max_trained_positions on
    kTeleChat,  // always: from base_seqlen on, and never below training_seqlen
  };

  // How mrope_section gives pairs to axes.
  enum class Axes { kBlocks, kInterleaved, kErnie };

  std::string_view name;  // model_type, without "_text"
  Positions positions = Positions::kRotary;
  Switch position_switch = Switch::kNever;

  PairOrder order = PairOrder::kHalf;
  std::string_view order_key = {};  // true: interleaved, false: half

  double base = 10000;   // where no key gives one
  double base_in_4 = 0;  // where transformers before version 5 took another; else 0
  Base base_rule = Base::kTheta;
  std::string_view base_keys = {};  // beside rope_theta
  double sliding_base = 0;          // of sliding layers where no key gives one; 0: no key does
  std::string_view sliding_base_keys = {};

  int64_t trained_length = 0;         // where no key gives one; 0: unknown
  std::string_view length_keys = {};  // beside max_position_embeddings and n_positions

  int64_t head_dim = 0;        // where head_dim is absent; 0: hidden_size / num_attention_heads
  int64_t class_head_dim = 0;  // of the class's own sizes, where hidden_size and heads are absent
  int64_t usual_head_dim = 0;  // of every released model, where the sizes do not divide
  std::string_view head_keys = {};         // beside head_dim
  std::string_view full_head_key = {};     // of full layers alone
  int64_t full_head_dim = 0;               // where that key is absent
  std::string_view sliding_head_key = {};  // of sliding layers alone

  int64_t rotary_dim = 0;  // where no key gives width or share; 0: `fraction` of the head
  double fraction = 1;
  std::string_view fraction_keys = {};  // beside partial_rotary_factor
  int64_t mla_rope = 0;                 // qk_rope_head_dim's default, of families that have it
  int64_t mla_nope = 0;                 // qk_nope_head_dim's

  Layers layers = Layers::kAlike;
  std::string_view layers_key = {};
  int64_t period = 0;     // where the key is absent
  int64_t full_flag = 1;  // of kFlags
  std::string_view other = "sliding_attention";
  Nope nope = Nope::kNever;

  Window window = Window::kNever;
  std::string_view window_key = "sliding_window";
  int64_t window_size = 0;      // where the key is absent; 0: none
  bool window_is_both = false;  // half of it lies on either side of the query

  bool scaling_on_full_only = false;  // a scaling that is not nested leaves sliding layers plain
  std::string_view block = {};        // rope_parameters where a file has none, as JSON
  std::string_view plain_type = {};   // a rope_type that means "default" here
  Growth growth = Growth::kNever;
  bool two_mscales = false;       // short_mscale and long_mscale before attention_factor
  bool yarn_is_longrope = false;  // where the block has long_factor
  bool logits_squared = false;    // mscale_all_dim multiplies logits by its square
  bool logits_left = false;       // but not in transformers 5.0, which leaves it out
  bool steps_queries = false;     // llama_4_scaling_beta; attn_temperature_tuning
  bool lists_by_layer = false;    // rope_theta and partial_rotary_factors may be lists

  Axes axes = Axes::kBlocks;
  std::array<int64_t, 3> sections = {};  // where mrope_section is absent; {}: one axis

  int64_t learned_offset = 0;  // row of position 0
  bool offset_is_pad = false;  // pad_token_id + 1 instead
  bool learned_adds = false;   // the table has `offset` rows beside max_position_embeddings
  int64_t segments = 0;        // type_vocab_size's default; 0: none are embedded
  bool rounds_slopes = false;  // the class rounds ALiBi's slopes to bfloat16

  // general.architecture that llama.cpp's converter gives it; empty: the name itself, which
  // is no architecture where the converter does not know the model type.
  std::string_view gguf = {};
  bool cut_from_hidden = false;  // the converter cuts the rotated share from hidden_size

  HfSizes sizes = {};  // of families that the engine runs
};

// Every row, by group.
std::span<const std::span<const HfFamily>> hf_families();

// By model_type, "_text" and "_text_model" left out. Null where there is none of that name.
const HfFamily* find_hf_family(std::string_view name);

// Why a model_type is refused although it is known: its positions are of images or sounds. Empty
// where that is not so.
std::string_view why_not_text(std::string_view name);

// The known name nearest to this one; empty where none is near.
std::string nearest_hf_family(std::string_view name);

// Groups of the table, one for each file.
std::span<const HfFamily> hf_alike_families();
std::span<const HfFamily> hf_layered_families();
std::span<const HfFamily> hf_unrotated_families();

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_FAMILIES_H_
