// Attention with bfloat16 products, where the machine multiplies them itself.
#ifndef ROPEWALK_KERNELS_ATTENTION_AVX512BF16_H_
#define ROPEWALK_KERNELS_ATTENTION_AVX512BF16_H_

#include "ropewalk/kernels/attention_block.h"

namespace ropewalk {

using Bf16BlockFunction = void (*)(const AttentionBlock<Bf16>&);

// One way to multiply bfloat16 numbers.
struct Bf16Unit {
  const char* name;
  Bf16BlockFunction attend_block;
};

// Those that this machine has, best first; none where this is compiled for another kind of machine.
std::span<const Bf16Unit> bf16_units();

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_AVX512BF16_H_
