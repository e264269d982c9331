// The row-wise functions between matrix products.
#ifndef ROPEWALK_KERNELS_VECTOR_OPS_H_
#define ROPEWALK_KERNELS_VECTOR_OPS_H_

#include <cstdint>
#include <span>

namespace ropewalk {

// out[x] = in[x] / sqrt(mean(in^2) + epsilon) * weight[x]. Source: Zhang, Sennrich 2019, arXiv
// 1910.07467.
//   in, weight, out  equal lengths; out may be in
// Within 4 float ulps per element of the formula in exact arithmetic.
void rms_norm(std::span<const float> in, std::span<const float> weight, double epsilon,
              std::span<float> out);

// gate[x] = gate[x] * sigmoid(gate[x]) * up[x]. Source: Shazeer 2020, arXiv 2002.05202.
// Within 6 float ulps per element.
void swiglu(std::span<float> gate, std::span<const float> up);

// out[x] += in[x].
void add(std::span<const float> in, std::span<float> out);

// ln(sum of exp(values)), within 2e-7 + 1 float ulp of the result; values finite, at least one.
double log_sum_exp(std::span<const float> values);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_VECTOR_OPS_H_
