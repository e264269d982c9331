// A cap as it was published (github.com/bojone/rerope): the whole QK product twice, and a choice
// between them; by oneDNN's products, beside plain attention by the same means.
#ifndef ROPEWALK_BENCH_PUBLISHED_CAP_H_
#define ROPEWALK_BENCH_PUBLISHED_CAP_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <dnnl.hpp>
#include <utility>
#include <vector>

#include "bench/attention_case.h"
#include "ropewalk/math/turns.h"

namespace ropewalk::bench {

inline constexpr int64_t kPublishedBlock = 256;  // rows

// row (count) becomes weights of its first `seen` numbers, and zeros.
__attribute__((target_clones("avx512f", "avx2", "default"))) inline void soften(float* row,
                                                                                int64_t seen,
                                                                                int64_t count) {
  float largest = row[0];
  for (int64_t j = 1; j < seen; ++j) largest = row[j] > largest ? row[j] : largest;
  float total = 0;
  for (int64_t j = 0; j < seen; ++j) {
    const float x = std::max(row[j] - largest, -80.0F) * 1.44269504F;
    const float shifted = x + 0x1.8p23F;
    const float f = x - (shifted - 0x1.8p23F);
    const float power = 1 + f * (0.693147F + f * (0.2402265F + f * (0.0555033F + f * 0.0096184F)));
    row[j] = std::bit_cast<float>(std::bit_cast<int32_t>(power) +
                                  (std::bit_cast<int32_t>(shifted) << 23));
    total += row[j];
  }
  for (int64_t j = 0; j < seen; ++j) row[j] /= total;
  for (int64_t j = seen; j < count; ++j) row[j] = 0;
}

// All heads, (n_tokens, kHeadDim) each, turned by position_of(token).
template <typename Position>
std::vector<float> turned(const AttentionCase& inputs, const std::vector<float>& heads,
                          const Position& position_of) {
  const Spectrum spectrum = rotary_of("declared").spectrum.at(1);
  constexpr int64_t kHalf = kHeadDim / 2;
  std::vector<float> result(heads.size());
  for (int64_t t = 0; t < inputs.n_tokens; ++t) {
    for (int64_t pair = 0; pair < kHalf; ++pair) {
      const CosSin angle =
          cos_sin_at(position_of(t), spectrum.turns_per_token[static_cast<size_t>(pair)]);
      const auto cos = static_cast<float>(angle.cos), sin = static_cast<float>(angle.sin);
      for (int64_t h = 0; h < inputs.n_heads; ++h) {
        const float* from = heads.data() + (t * inputs.n_heads + h) * kHeadDim + pair;
        float* to = result.data() + (h * inputs.n_tokens + t) * kHeadDim + pair;
        to[0] = from[0] * cos - from[kHalf] * sin;
        to[kHalf] = from[kHalf] * cos + from[0] * sin;
      }
    }
  }
  return result;
}

// Plain attention and a cap, float32, one thread.
class PublishedCap {
 public:
  PublishedCap(AttentionCase inputs, int64_t window)
      : inputs_(std::move(inputs)),
        window_(window),
        scores_(static_cast<size_t>(kPublishedBlock * inputs_.n_tokens)),
        far_scores_(scores_.size()) {
    const auto own = [](int64_t token) { return token; };
    const auto zero = [](int64_t) { return 0; };
    const auto capped = [=](int64_t) { return window; };
    query_ = turned(inputs_, inputs_.queries, own);
    key_ = turned(inputs_, inputs_.keys, own);
    far_query_ = turned(inputs_, inputs_.queries, capped);
    far_key_ = turned(inputs_, inputs_.keys, zero);
    value_ = turned(inputs_, inputs_.values, zero);
  }

  void plain() { attend_all(false); }
  void cap() { attend_all(true); }

 private:
  void attend_all(bool twice) {
    for (int64_t head = 0; head < inputs_.n_heads; ++head) {
      for (int64_t begin = 0; begin < inputs_.n_tokens; begin += kPublishedBlock)
        attend_block(head, begin, std::min(begin + kPublishedBlock, inputs_.n_tokens), twice);
    }
  }

  void attend_block(int64_t head, int64_t begin, int64_t end, bool twice) {
    const int64_t at = head * inputs_.n_tokens * kHeadDim;
    const int64_t rows = end - begin;
    score(query_.data() + at + begin * kHeadDim, key_.data() + at, rows, end, scores_.data());
    if (twice) {
      score(far_query_.data() + at + begin * kHeadDim, far_key_.data() + at, rows, end,
            far_scores_.data());
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = scores_.data() + r * end;
      const int64_t far = std::max<int64_t>(0, begin + r - window_ + 1);
      if (twice) std::copy_n(far_scores_.data() + r * end, far, row);
      soften(row, begin + r + 1, end);
    }
    dnnl_sgemm('N', 'N', rows, kHeadDim, end, 1, scores_.data(), end, value_.data() + at, kHeadDim,
               0, inputs_.out.data() + at + begin * kHeadDim, kHeadDim);
  }

  void score(const float* query, const float* key, int64_t rows, int64_t keys, float* to) const {
    dnnl_sgemm('N', 'T', rows, keys, kHeadDim, inputs_.row_scale[0], query, kHeadDim, key, kHeadDim,
               0, to, keys);
  }

  AttentionCase inputs_;
  int64_t window_;
  std::vector<float> query_, key_, far_query_, far_key_, value_;  // (n_heads, n_tokens, kHeadDim)
  std::vector<float> scores_, far_scores_;                        // (kPublishedBlock, keys)
};

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_PUBLISHED_CAP_H_
