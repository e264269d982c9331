// One pass over tiles of keys with a running maximum. Source: Milakov, Gimelshein 2018, arXiv
// 1805.02867; Dao et al. 2022, arXiv 2205.14135.
#include "ropewalk/kernels/attention_both_ways.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/parallel.h"

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/attention_both_ways.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/exp2-inl.h"
#include "ropewalk/kernels/matmul-inl.h"
// clang-format on

#ifndef ROPEWALK_KERNELS_ATTENTION_BOTH_WAYS_ONCE_
#define ROPEWALK_KERNELS_ATTENTION_BOTH_WAYS_ONCE_
namespace ropewalk {

constexpr int64_t kBothWaysRows = 96;  // of queries; a tile is packed once for all of them
constexpr int64_t kBothWaysKeys = 64;  // of a tile
constexpr float kLog2E = 1.44269504088896341f;

// Memory of one thread.
struct BothWaysScratch {
  int64_t value_stride;         // head_dim, rounded up to whole vectors
  AlignedBuffer<float> keys;    // (head_dim, kBothWaysKeys)
  AlignedBuffer<float> values;  // (kBothWaysKeys, value_stride)
  AlignedBuffer<float> scores;  // (kBothWaysRows, kBothWaysKeys)
  AlignedBuffer<float> sums;    // (kBothWaysRows, value_stride)
  std::vector<float> peaks;     // (kBothWaysRows), base 2
  std::vector<double> weights;  // (kBothWaysRows), their sums

  explicit BothWaysScratch(int64_t head_dim)
      : value_stride((head_dim + 15) / 16 * 16),
        keys(static_cast<size_t>(head_dim * kBothWaysKeys)),
        values(static_cast<size_t>(kBothWaysKeys * value_stride)),
        scores(static_cast<size_t>(kBothWaysRows * kBothWaysKeys)),
        sums(static_cast<size_t>(kBothWaysRows * value_stride)),
        peaks(static_cast<size_t>(kBothWaysRows)),
        weights(static_cast<size_t>(kBothWaysRows)) {}
};

// Rows [first, first + rows) of one query head.
struct BothWaysItem {
  const BothWaysAttention* attention;
  const float* bias;  // of the head, in base 2, kBothWaysKeys more than there are; or null
  int64_t head;
  int64_t first;
  int64_t rows;
  BothWaysScratch* scratch;

  // Keys that row i sees: [from, to).
  int64_t from(int64_t i) const {
    return attention->before >= i ? 0 : std::min(i - attention->before, attention->n_keys);
  }
  int64_t to(int64_t i) const {
    const int64_t left = attention->n_keys - i;
    if (attention->after >= left) return attention->n_keys;
    return i + attention->after + 1;
  }
};

}  // namespace ropewalk
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys turned about, values as they are, zeros after the last of both.
void pack_tile(const BothWaysItem& item, int64_t begin, int64_t count) {
  const BothWaysAttention& a = *item.attention;
  BothWaysScratch& scratch = *item.scratch;
  const int64_t kv_head = item.head / (a.n_heads / a.n_kv_heads);
  const int64_t stride = a.n_kv_heads * a.head_dim;
  const float* const keys = a.keys + begin * stride + kv_head * a.head_dim;
  const float* const values = a.values + begin * stride + kv_head * a.head_dim;
  for (int64_t c = 0; c < a.head_dim; ++c) {
    float* const to = scratch.keys.data() + c * kBothWaysKeys;
    for (int64_t j = 0; j < count; ++j) to[j] = keys[j * stride + c];
    std::fill(to + count, to + kBothWaysKeys, 0.0f);
  }
  for (int64_t j = 0; j < kBothWaysKeys; ++j) {
    float* const to = scratch.values.data() + j * scratch.value_stride;
    if (j < count) std::copy_n(values + j * stride, a.head_dim, to);
    if (j >= count) std::fill_n(to, a.head_dim, 0.0f);
  }
}

// Makes weights of the products of row r with the tile's keys, and takes what the row has summed so
// far to their scale.
void weigh_row(const BothWaysItem& item, int64_t r, int64_t begin) {
  const FloatTag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const BothWaysAttention& a = *item.attention;
  BothWaysScratch& scratch = *item.scratch;
  const int64_t i = item.first + r;
  float* const scores = scratch.scores.data() + r * kBothWaysKeys;
  const auto factor = hn::Set(tag, a.row_scale[static_cast<size_t>(i)] * kLog2E);
  const float* const bias =
      item.bias == nullptr ? nullptr : item.bias + begin - i + a.n_queries - 1;
  for (int64_t x = 0; x < kBothWaysKeys; x += lanes) {
    auto score = hn::Mul(hn::Load(tag, scores + x), factor);
    if (bias != nullptr) score = hn::Add(score, hn::LoadU(tag, bias + x));
    hn::Store(score, tag, scores + x);
  }
  const int64_t from = std::clamp<int64_t>(item.from(i) - begin, 0, kBothWaysKeys);
  const int64_t to = std::clamp<int64_t>(item.to(i) - begin, from, kBothWaysKeys);
  std::fill(scores, scores + from, -INFINITY);
  std::fill(scores + to, scores + kBothWaysKeys, -INFINITY);

  auto highest = hn::Load(tag, scores);
  for (int64_t x = lanes; x < kBothWaysKeys; x += lanes)
    highest = hn::Max(highest, hn::Load(tag, scores + x));
  const float before = scratch.peaks[static_cast<size_t>(r)];
  const float peak = std::max(before, hn::GetLane(hn::MaxOfLanes(tag, highest)));
  if (peak == -INFINITY) return std::fill(scores, scores + kBothWaysKeys, 0.0f);
  auto sum = hn::Zero(tag);
  for (int64_t x = 0; x < kBothWaysKeys; x += lanes) {
    const auto weight = exp2_of_weight(tag, hn::Sub(hn::Load(tag, scores + x), hn::Set(tag, peak)));
    hn::Store(weight, tag, scores + x);
    sum = hn::Add(sum, weight);
  }
  double& total = scratch.weights[static_cast<size_t>(r)];
  if (peak != before) {
    const float kept = before == -INFINITY ? 0.0f : std::exp2(before - peak);
    total *= static_cast<double>(kept);
    float* const sums = scratch.sums.data() + r * scratch.value_stride;
    for (int64_t c = 0; c < scratch.value_stride; ++c) sums[c] *= kept;
    scratch.peaks[static_cast<size_t>(r)] = peak;
  }
  total += static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
}

void add_tile(const BothWaysItem& item, int64_t begin) {
  const BothWaysAttention& a = *item.attention;
  BothWaysScratch& scratch = *item.scratch;
  const int64_t stride = a.n_heads * a.head_dim;
  const float* const queries = a.queries + item.first * stride + item.head * a.head_dim;
  for (int64_t r = 0; r < item.rows; r += kProductRows) {
    multiply<Into::kFresh>({.a = queries + r * stride,
                            .a_stride = stride,
                            .b = scratch.keys.data(),
                            .b_stride = kBothWaysKeys,
                            .c = scratch.scores.data() + r * kBothWaysKeys,
                            .c_stride = kBothWaysKeys,
                            .depth = a.head_dim},
                           std::min(kProductRows, item.rows - r), kBothWaysKeys);
  }
  for (int64_t r = 0; r < item.rows; ++r) weigh_row(item, r, begin);
  for (int64_t r = 0; r < item.rows; r += kProductRows) {
    multiply<Into::kAdd>({.a = scratch.scores.data() + r * kBothWaysKeys,
                          .a_stride = kBothWaysKeys,
                          .b = scratch.values.data(),
                          .b_stride = scratch.value_stride,
                          .c = scratch.sums.data() + r * scratch.value_stride,
                          .c_stride = scratch.value_stride,
                          .depth = kBothWaysKeys},
                         std::min(kProductRows, item.rows - r), scratch.value_stride);
  }
}

void both_ways_block(const BothWaysItem& item) {
  const BothWaysAttention& a = *item.attention;
  BothWaysScratch& scratch = *item.scratch;
  std::fill_n(scratch.sums.data(), scratch.sums.size(), 0.0f);
  std::ranges::fill(scratch.peaks, -INFINITY);
  std::ranges::fill(scratch.weights, 0.0);
  const int64_t end = item.to(item.first + item.rows - 1);
  for (int64_t begin = item.from(item.first); begin < end; begin += kBothWaysKeys) {
    pack_tile(item, begin, std::min(kBothWaysKeys, a.n_keys - begin));
    add_tile(item, begin);
  }
  for (int64_t r = 0; r < item.rows; ++r) {
    const double total = scratch.weights[static_cast<size_t>(r)];
    const float share = total == 0 ? 0.0f : static_cast<float>(1 / total);
    const float* const sums = scratch.sums.data() + r * scratch.value_stride;
    float* const out = a.out + ((item.first + r) * a.n_heads + item.head) * a.head_dim;
    for (int64_t c = 0; c < a.head_dim; ++c) out[c] = sums[c] * share;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(both_ways_block);

void attend_both_ways(const BothWaysAttention& attention) {
  const BothWaysAttention& a = attention;
  // In base 2, each head's followed by what the last tile reads past the end.
  const int64_t distances = a.n_queries + a.n_keys - 1, padded = distances + kBothWaysKeys;
  std::vector<float> bias;
  if (!a.bias.empty()) bias.resize(static_cast<size_t>(a.n_heads * padded));
  for (int64_t head = 0; head < (bias.empty() ? 0 : a.n_heads); ++head) {
    std::transform(a.bias.begin() + head * distances, a.bias.begin() + (head + 1) * distances,
                   bias.begin() + head * padded, [](float value) { return value * kLog2E; });
  }
  const int64_t blocks = (a.n_queries + kBothWaysRows - 1) / kBothWaysRows;
  parallel_for(
      blocks * a.n_heads, [&] { return BothWaysScratch(a.head_dim); },
      [&](int64_t index, BothWaysScratch& scratch) {
        const int64_t head = index / blocks, first = index % blocks * kBothWaysRows;
        HWY_DYNAMIC_DISPATCH(both_ways_block)
        ({.attention = &a,
          .bias = bias.empty() ? nullptr : bias.data() + head * padded,
          .head = head,
          .first = first,
          .rows = std::min(kBothWaysRows, a.n_queries - first),
          .scratch = &scratch});
      });
}

}  // namespace ropewalk
#endif  // HWY_ONCE
