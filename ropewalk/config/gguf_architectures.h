// What llama.cpp takes for granted of an architecture's positions, because a GGUF file does not say
// it.
#ifndef ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_
#define ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_

#include <span>
#include <string>
#include <string_view>

#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

struct GgufArchitecture {
  enum class Positions { kRotary, kLearned, kAlibi };

  std::string_view name;  // general.architecture
  Positions positions = Positions::kRotary;
  PairOrder order = PairOrder::kHalf;

  // The converter reordered q and k rows of the Hugging Face checkpoint from halves to interleaved.
  bool permuted = false;

  // The loader refuses a rope.dimension_count other than the head's width.
  bool whole_head = false;

  // rope_factors_long and _short are loaded whatever rope.scaling.type says.
  bool always_loads_factors = false;

  bool runs = false;  // the engine has this architecture
};

// Architectures whose layers all have the same positions, told by the keys that Ropewalk reads.
std::span<const GgufArchitecture> gguf_architectures();

// Null where there is none of that name.
const GgufArchitecture* find_gguf_architecture(std::string_view name);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_ARCHITECTURES_H_
