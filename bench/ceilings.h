// What the machine can do at most: copy, scale and read bytes, multiply and add floats, multiply pairs
// of bfloat16. Each function does one piece of work of known size on as many threads as OpenMP has.
#ifndef ROPEWALK_BENCH_CEILINGS_H_
#define ROPEWALK_BENCH_CEILINGS_H_

#include <cstdint>
#include <span>

namespace ropewalk::bench {

// to = from; equal sizes.
void copy(std::span<const float> from, std::span<float> to);

// values *= factor.
void scale(std::span<float> values, float factor);

// The sum of all 64-bit words, so that no read is left out.
uint64_t read(std::span<const uint64_t> words);

// Does about `flops` floating-point operations per thread in registers, by the widest fused multiply-add
// the machine has.
//   returns the operations of all threads; 0 where this machine's kind is not known here
double multiply_add_floats(double flops);

// The same by the dot products of bfloat16 pairs; 0 where the machine has none.
double multiply_add_bf16(double flops);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_CEILINGS_H_
