// InputEmbedding: a vector per position, added to the embedding of the token.
#ifndef ROPEWALK_MATH_INPUT_EMBEDDING_H_
#define ROPEWALK_MATH_INPUT_EMBEDDING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// How a row is laid out; dim 8 and dim 5, frequencies 0 to 3, s for sin, c for cos, - for 0:
//   kInterleaved    s0 c0 s1 c1 s2 c2 s3 c3   s0 c0 s1 c1 s2   base^(-2k/dim)
//   kConcatenated   s0 s1 s2 s3 c0 c1 c2 c3   s0 s1 s2 c0 c1   base^(-2k/dim)
//   kTensor2Tensor  s0 s1 s2 s3 c0 c1 c2 c3   s0 s1 c0 c1 -    base^(-k/(floor(dim/2) - 1))
// The first is of Vaswani et al. 2017, arXiv 1706.03762; the second of RoFormer, Marian and XLM;
// the third, with its other frequencies, of M2M-100, fairseq and Whisper.
enum class SinusoidOrder { kInterleaved, kConcatenated, kTensor2Tensor };

// The sinusoidal table, row by row; it has no end.
class SinusoidalEmbedding {
 public:
  //   dim     >= 1; >= 2 for kTensor2Tensor, whose one frequency then is 1
  //   base    > 0
  //   offset  added to every position (fairseq: padding index + 1)
  //   Throws Error.
  SinusoidalEmbedding(SinusoidOrder order, int64_t dim, double base = 10000, int64_t offset = 0);

  int64_t dim() const { return dim_; }

  // Each value within 2 ulps, or 2^-62 where it is near zero: see cos_sin_at().
  //   position  any, negative ones included
  //   out       (dim)
  void row(int64_t position, std::span<double> out) const;

 private:
  SinusoidOrder order_;
  int64_t dim_;
  int64_t offset_;
  std::vector<DoubleDouble> turns_per_token_;  // (frequencies)
};

// Position of each token of a padded row: how many tokens before it are no padding; -1 for padding.
// With the offset of a LearnedEmbedding this is OPT's row, and with offset padding index + 1 that of
// RoBERTa and fairseq: padding then reads row offset - 1.
//   is_token  (n_tokens), 0 for padding, 1 for a token
//   returns   (n_tokens)
std::vector<int64_t> positions_of_tokens(std::span<const uint8_t> is_token);

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

// A learned row for each token type ("segment": BERT's sentence A and B), added like a position's.
class SegmentEmbedding {
 public:
  //   table  (n_types, dim), n_types >= 1. Throws Error where it is no whole number of rows.
  SegmentEmbedding(std::vector<float> table, int64_t dim);

  int64_t dim() const { return dim_; }
  int64_t n_types() const { return static_cast<int64_t>(table_.size()) / dim_; }

  // Throws Error where there is no such type.
  //   out  (dim)
  void row(int64_t type, std::span<double> out) const;

 private:
  std::vector<float> table_;
  int64_t dim_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_INPUT_EMBEDDING_H_
