// InputEmbedding: a vector per position, added to the embedding of the token.
#ifndef ROPEWALK_MATH_INPUT_EMBEDDING_H_
#define ROPEWALK_MATH_INPUT_EMBEDDING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// dim 8, frequencies 0 to 3, s for sin and c for cos:
//   kInterleaved   s0 c0 s1 c1 s2 c2 s3 c3   base^(-2k/dim)        Vaswani et al. 2017, arXiv
//   1706.03762 kConcatenated  s0 s1 s2 s3 c0 c1 c2 c3   base^(-2k/dim)        RoFormer, Marian, XLM
//   kTensor2Tensor s0 s1 s2 s3 c0 c1 c2 c3   base^(-k/(dim/2 - 1)) M2M-100, fairseq, Whisper: other
//   frequencies
enum class SinusoidOrder { kInterleaved, kConcatenated, kTensor2Tensor };

// The sinusoidal table, row by row; it has no end.
class SinusoidalEmbedding {
 public:
  //   dim     even, >= 2; >= 4 for kTensor2Tensor
  //   offset  added to every position (fairseq: padding index + 1)
  //   Throws Error.
  SinusoidalEmbedding(SinusoidOrder order, int64_t dim, double base = 10000, int64_t offset = 0);

  int64_t dim() const { return dim_; }

  // Each value within 2 ulps, or 2^-62 where it is near zero: see cos_sin_at().
  //   out  (dim)
  void row(int64_t position, std::span<double> out) const;

 private:
  SinusoidOrder order_;
  int64_t dim_;
  int64_t offset_;
  std::vector<DoubleDouble> turns_per_token_;  // (dim / 2)
};

// A learned table. Position p is row p + offset (BERT, GPT-2: 0; OPT: 2; RoBERTa: padding index +
// 1).
class LearnedEmbedding {
 public:
  //   table  (n_rows, dim), n_rows >= 1. Throws Error where it is no whole number of rows.
  LearnedEmbedding(std::vector<float> table, int64_t dim, int64_t offset = 0);

  int64_t dim() const { return dim_; }
  int64_t n_rows() const { return static_cast<int64_t>(table_.size()) / dim_; }

  // Throws Error where the table has no such row: a learned embedding ends.
  //   out  (dim)
  void row(int64_t position, std::span<double> out) const;

 private:
  std::vector<float> table_;
  int64_t dim_;
  int64_t offset_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_INPUT_EMBEDDING_H_
