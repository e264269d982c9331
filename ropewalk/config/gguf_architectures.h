// What llama.cpp takes for granted of an architecture's positions, because a GGUF file does not say
// it.
#ifndef ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_
#define ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

// Layers that see a window only, and what turns their pairs.
struct GgufSliding {
  enum class When {
    kNever,
    kAlways,      // sliding_window must be there
    kWithWindow,  // where sliding_window is there and not 0
    kUnlessZero,  // where sliding_window is not there, too
  };
  enum class Base {
    kTenThousand,  // freq_base_swa, else 10000
    kFull,         // freq_base_swa, else freq_base
    kFullOnly,     // freq_base: llama.cpp does not look at freq_base_swa
  };
  enum class Scaling {
    kFull,   // as the other layers
    kPlain,  // none, whatever rope.scaling says
  };
  enum class Sight {
    kCausal,     // the last `sliding_window` tokens, the query's own included
    kChunked,    // those of the query's own chunk of so many tokens
    kSymmetric,  // half as many on each side
  };

  static constexpr int32_t kEveryLayer = -1;

  When when = When::kNever;
  int32_t period = 0;        // every n-th layer is full; 0: only a list by layer tells
                             // kEveryLayer: none is
  bool full_first = false;   // layers 0, n, 2n are full; else n - 1, 2n - 1
  bool period_only = false;  // llama.cpp does not look at a list by layer, only at a number
  Base base = Base::kFull;
  Scaling scaling = Scaling::kFull;
  Sight sight = Sight::kCausal;
  int32_t window = 0;       // tokens, where sliding_window is absent; 0: it must be there
  int32_t only_layers = 0;  // llama.cpp lets layers slide in the model of so many only; 0: in all
};

struct GgufArchitecture {
  enum class Positions {
    kRotary,
    kLearned,          // a table, position_embd.weight
    kAlibi,            // with attention.max_alibi_bias, or `alibi_bias`
    kRelativeBuckets,  // T5's
    kNone,             // recurrent, or attention that is told nothing
  };
  // More than one coordinate of a position.
  enum class Axes {
    kOne,
    kSections,         // contiguous; rope.dimension_sections must be there
    kSectionsIfGiven,  // contiguous, and halves, where the first two sections are positive
    kInterleaved,      // alternating; rope.dimension_sections must be there
  };
  // Tensors with divisors of the frequencies that llama.cpp loads; it refuses files with others.
  enum class Factors {
    kNone,
    kFreqs,         // rope_freqs
    kFreqsOrLists,  // rope_freqs; under scaling longrope rope_factors_long and _short instead
    kLists,         // rope_factors_long and _short, whatever rope.scaling.type says
    kUnused,        // loads them like kFreqsOrLists and turns without them
  };
  // Layers whose queries and keys are not rotated.
  enum class Unrotated {
    kNone,
    kFull,             // those that do not slide
    kFullAfterDense,   // those that do not slide, but for the first leading_dense_block_count
    kFourth,           // 3, 7, 11, ...
    kFourthIfChunks,   // the same, where there are sliding layers at all
    kFromFirstFourth,  // 0, 4, 8, ..., where there are sliding layers at all
    kFinetuned,        // all, where rope.scaling.finetuned is false
    kPattern,          // where attention.rope_pattern is false
  };
  enum class Temperature {
    kNone,
    kLlama4,          // of unrotated layers: 0.1, 8192, offset 1
    kOriginalLength,  // of all: temperature_scale, by steps of the original length
    kOwnLength,       // of all: temperature_scale, by steps of temperature_length
  };
  // Which of rope.scaling.yarn_* llama.cpp reads.
  enum class YarnKeys { kNone, kBetas, kAll };
  enum class LogMultiplier {
    kIgnored,
    kPlain,  // yarn_log_multiplier is mscale_all_dim
    kTenth,  // it is a tenth of it, and the logits are multiplied, too (DeepSeek)
  };
  // Layers without attention; where the key-value heads of a layer are 0 in any architecture.
  enum class Recurrent { kNone, kByInterval };

  std::string_view name;  // general.architecture
  Positions positions = Positions::kRotary;
  PairOrder order = PairOrder::kHalf;
  Axes axes = Axes::kOne;

  // The converter reordered q and k rows of the Hugging Face checkpoint from halves to interleaved.
  bool permuted = false;

  // The loader refuses a rope.dimension_count other than the head's width.
  bool whole_head = false;

  // Queries and keys are a part that passes through, then one of rotary width that is rotated.
  bool latent = false;

  // Interleaved all the same, where this key is there; a suffix, or empty.
  std::string_view interleaved_with;

  Factors factors = Factors::kNone;
  bool factors_of_full = false;  // they are for layers that do not slide
  GgufSliding sliding;
  Unrotated unrotated = Unrotated::kNone;
  Temperature temperature = Temperature::kNone;
  YarnKeys yarn_keys = YarnKeys::kNone;
  LogMultiplier log_multiplier = LogMultiplier::kIgnored;
  bool mscale_is_all_dim =
      false;  // yarn_log_multiplier stands for mscale, too, which is 1 elsewhere
  Recurrent recurrent = Recurrent::kNone;
  int32_t attention_interval = 0;  // kByInterval: every n-th layer has attention

  float alibi_bias = 0;         // the largest slope's exponent, where no key tells it; 0: none
  bool token_types = false;     // adds a learned row for the token's type
  bool encoder_only = false;    // T5 without its decoder
  bool runs_both_ways = false;  // an encoder that the engine runs: it may say that it is not causal
  bool alpha = false;           // rope.scaling.alpha counts
  bool fixed = false;         // base 10000, unscaled, over the whole head: no rope key is looked at
  bool half_of_full = false;  // layers that do not slide turn half of rope.dimension_count
  bool compressed = false;  // attention.compress_ratios tells which layers have a base of their own
  bool by_layer_count = false;  // Baichuan: 32 layers are rotary, 40 have ALiBi
  bool rotates_all = false;     // llama.cpp rotates layers that `unrotated` says are not
  bool read_by_transformers =
      false;                  // by its GGUF reader, integrations/ggml.py, which vLLM uses, too
  bool equal_widths = false;  // the loader refuses values of another width than keys
};

// Every architecture that llama.cpp loads and that has layers of its own, by name.
std::span<const GgufArchitecture> gguf_architectures();

// Null where there is none of that name.
const GgufArchitecture* find_gguf_architecture(std::string_view name);

// "arcee, llama, ...", for messages.
std::string known_gguf_architectures();

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_
