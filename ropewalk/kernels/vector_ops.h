// The row-wise functions between matrix products.
#ifndef ROPEWALK_KERNELS_VECTOR_OPS_H_
#define ROPEWALK_KERNELS_VECTOR_OPS_H_

#include <cstdint>
#include <limits>
#include <span>

#include "ropewalk/base/half.h"

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

// out[x] = (in[x] - mean(in)) / sqrt(variance(in) + epsilon) * weight[x] + bias[x]. Source: Ba et al.
// 2016, arXiv 1607.06450.
//   weight, bias  as long as `in`, or empty: all 1, all 0
// Within 4 float ulps of the largest term per element of the formula in exact arithmetic.
void layer_norm(std::span<const float> in, std::span<const float> weight,
                std::span<const float> bias, double epsilon, std::span<float> out);

enum class Activation {
  kSilu,      // x sigmoid(x)
  kGelu,      // x Phi(x), Phi the normal distribution. Source: Hendrycks, Gimpel 2016, 1606.08415
  kGeluTanh,  // its approximation by tanh, of the same paper
  kRelu,      // max(x, 0)
  kReluSquared,  // max(x, 0)^2. Source: So et al. 2021, arXiv 2109.08668
};

// values[x] = f(values[x]), within 6 float ulps per element; of both GELUs where it is above 1e-6 of
// x, and within 1e-7 of x below.
void activate(Activation activation, std::span<float> values);

// gate[x] = f(gate[x]) * up[x], f within the same bounds.
void activate_gated(Activation activation, std::span<float> gate, std::span<const float> up);

// out[x] *= factor.
void scale(float factor, std::span<float> out);

// out[x] += factor * in[x].
void add_scaled(float factor, std::span<const float> in, std::span<float> out);

// out[x] += in[x].
void add(std::span<const float> in, std::span<float> out);

// out[x] = in[x], to the nearest bfloat16, ties to even, as to_bf16() rounds.
//   in, out  out may be longer
void round_to_bf16(std::span<const float> in, std::span<Bf16> out);

// A sum of exponentials that comes in parts.
class SumOfExp {
 public:
  //   values  at least one; NaN and plus infinity make log() no finite number
  void add(std::span<const float> values);

  // ln of the sum, within 2e-7 + 1 float ulp of the result; after at least one part.
  double log() const;

 private:
  float largest_ = -std::numeric_limits<float>::max();
  double sum_ = 0;  // of exp(value - largest_)
};

// ln(sum of exp(values)), within 2e-7 + 1 float ulp of the result; values finite, at least one.
double log_sum_exp(std::span<const float> values);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_VECTOR_OPS_H_
