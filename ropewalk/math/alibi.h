// ALiBi: a slope for each head, by which its scores fall with distance.
#ifndef ROPEWALK_MATH_ALIBI_H_
#define ROPEWALK_MATH_ALIBI_H_

#include <cstdint>
#include <vector>

namespace ropewalk {

// Slopes of ALiBi. With p the largest power of two <= n_heads: 2^(-max_bias k / p) for k = 1 to p,
// then 2^(-max_bias (2h + 1) / (2 p)) for the heads that are left, h = 0, 1, ... So they do not
// fall steadily where n_heads is no power of two; sorted slopes are another model. Source: Press,
// Smith, Lewis 2022, arXiv 2108.12409; max_bias other than 8 as MPT and GGUF have it.
//   n_heads  >= 1
//   returns  (n_heads), each within 1 ulp
std::vector<double> alibi_slopes(int64_t n_heads, double max_bias = 8);

// Each rounded to bfloat16, by way of float32: the slopes that Falcon computes with.
std::vector<double> bfloat16_slopes(std::vector<double> slopes);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_ALIBI_H_
