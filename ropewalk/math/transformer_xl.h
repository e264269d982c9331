// Transformer-XL's and XLNet's scores: content and position apart, position as a sinusoid of the
// distance. Source: Dai et al. 2019, arXiv 1901.02860; Yang et al. 2019, arXiv 1906.08237.
#ifndef ROPEWALK_MATH_TRANSFORMER_XL_H_
#define ROPEWALK_MATH_TRANSFORMER_XL_H_

#include <cstdint>
#include <span>

#include "ropewalk/math/input_embedding.h"

namespace ropewalk {

// R[d], d = i - j: all sines, then all cosines, of d * 10000^(-2k / dim). Keys after the query
// (XLNet) have negative distances.
//   dim  the model's width, even, >= 2. Throws Error.
class DistanceSinusoid {
 public:
  explicit DistanceSinusoid(int64_t dim);

  int64_t dim() const { return table_.dim(); }

  //   out  (dim)
  void row(int64_t distance, std::span<double> out) const { table_.row(distance, out); }

 private:
  SinusoidalEmbedding table_;
};

// (query + content_bias) . key + (query + position_bias) . position: the logit of one head before
// its scale 1/sqrt(head_dim).
//   query, key                    (head_dim)
//   content_bias, position_bias   (head_dim), learned; the paper's u and v
//   position                      (head_dim), R[i - j] through the head's learned projection
double transformer_xl_logit(std::span<const double> query, std::span<const double> content_bias,
                            std::span<const double> position_bias, std::span<const double> key,
                            std::span<const double> position);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_TRANSFORMER_XL_H_
