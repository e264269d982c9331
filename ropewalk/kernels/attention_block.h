// What attention.cc and its kernels share: one work item, as plain pointers, and a thread's memory.
#ifndef ROPEWALK_KERNELS_ATTENTION_BLOCK_H_
#define ROPEWALK_KERNELS_ATTENTION_BLOCK_H_

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/attention_walk.h"

namespace ropewalk {

// Tiles whose scores are held at once: one softmax and one product with the values for all of
// them. Groups are counted from key 0, so that a row's sums do not depend on the block it is in.
inline constexpr int64_t kTilesTogether = 4;
inline constexpr int64_t kKeysTogether = kTilesTogether * kTile;

// Rows an even number of cache lines apart would share few of the caches' sets.
//   floats  a multiple of 16
//   returns floats, or 16 more
constexpr int64_t odd_lines(int64_t floats) { return floats / 16 % 2 == 0 ? floats + 16 : floats; }
inline constexpr int64_t kScoreStride = odd_lines(kKeysTogether);

inline constexpr int64_t kMostPanelRows = 32;  // that a kernel may want at once

// Some keys of a tile, row by row.
struct ChosenKeys {
  const uint64_t* bits;  // (rows) bit k: the tile's key k
  KeyInterval within;    // other bits do not count
  bool is_first;         // all bits count, and other keys become hidden
};

// Memory of one thread, grown once and reused; handed out from the start again for each work item.
class AttentionWorkspace {
 public:
  // Room for `bytes` bytes in pieces of whole cache lines. Throws std::bad_alloc.
  void reset(size_t bytes) {
    memory_.reserve(bytes);
    used_ = 0;
  }

  template <typename T>
  T* take(int64_t count) noexcept {
    T* const piece = reinterpret_cast<T*>(memory_.data() + used_);
    used_ += piece_bytes<T>(count);
    assert(used_ <= memory_.size());
    return piece;
  }

  template <typename T>
  static size_t piece_bytes(int64_t count) {
    return (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine;
  }

 private:
  static constexpr size_t kLine = 64;

  AlignedBuffer<std::byte> memory_;
  size_t used_ = 0;
};

// Distances below 0 for which a bias may be read, though not used: those of a tile that some row of
// a panel sees.
inline constexpr int64_t kBiasMargin = kTile + kMostPanelRows;

// Rows [row_begin, row_end) (counted from rotations.first_row()) of the query heads that share
// `kv_head`.
template <typename Element>
struct AttentionBlock {
  const AttentionWalk* walk;
  const Rotations* rotations;
  const KvTiles<Element>* kv;
  int64_t n_heads;
  const float* queries;
  const float* row_scale;
  float* out;
  float* log_sum_exp;  // (n_rows, n_heads), or null
  float softcap;       // 0: none
  const float* bias;   // (n_heads, bias_stride) by falling distance, times 1 / ln 2; null: none
  int64_t bias_stride;
  Products products;
  int64_t kv_head;
  int64_t row_begin;
  int64_t row_end;
  AttentionWorkspace* workspace;

  int64_t group() const { return n_heads / kv->n_kv_heads(); }
  int64_t tokens() const { return row_end - row_begin; }
  int64_t rows() const { return tokens() * group(); }
  // What the products of queries and keys are, before softcap() and bias_of(): powers of two, or,
  // where there is a cap, shares of it.
  float query_scale(int64_t token) const {
    const float scale = row_scale[row_begin + token];
    return softcap == 0 ? scale * std::numbers::log2e_v<float> : scale / softcap;
  }

  // Added, as a power of two, to the scores of row r and keys first_key, first_key + 1, ...
  const float* bias_of(int64_t r, int64_t first_key) const {
    return bias + (kv_head * group() + r % group()) * bias_stride + bias_stride - kBiasMargin - 1 -
           (rotations->first_row() + row_of(r) - first_key);
  }

  int64_t first_position() const { return rotations->first_row() + row_begin; }

  // Row r of the block belongs to token r / group() and to query head r % group() of the group.
  int64_t row_of(int64_t r) const { return row_begin + r / group(); }
  int64_t head_row_of(int64_t r) const {  // in queries and out
    return row_of(r) * n_heads + kv_head * group() + r % group();
  }

  // Ends row r.
  //   sums     (head_dim) of weighted values
  //   total    of weights; 0 where only padding was seen
  //   largest  logit, as a power of two
  void write_row(int64_t r, const float* sums, float total, float largest) const {
    const int64_t head_dim = kv->head_dim();
    float* const to = out + head_row_of(r) * head_dim;
    const float share = total == 0 ? 0 : 1.0F / total;
    for (int64_t x = 0; x < head_dim; ++x) to[x] = sums[x] * share;
    if (log_sum_exp != nullptr)
      log_sum_exp[head_row_of(r)] = (largest + std::log2(total)) * std::numbers::ln2_v<float>;
  }
};

// What a block's rows have summed so far: weighted values, their weights, and the largest score, as a
// power of two, that the weights are counted from.
class RunningSums {
 public:
  RunningSums(AttentionWorkspace& memory, int64_t rows, int64_t padded_rows, int64_t value_stride)
      : rows_(rows),
        padded_rows_(padded_rows),
        stride_(odd_lines(value_stride)),
        sums_(memory.take<float>(padded_rows * stride_)),
        largest_(memory.take<float>(rows)),
        total_(memory.take<float>(rows)) {}

  void begin() const {
    std::fill_n(sums_, padded_rows_ * stride_, 0.0F);
    std::fill_n(largest_, rows_, -std::numeric_limits<float>::infinity());
    std::fill_n(total_, rows_, 0.0F);
  }

  int64_t stride() const { return stride_; }
  float* of(int64_t row) const { return sums_ + row * stride_; }
  float& largest(int64_t row) const { return largest_[row]; }
  float& total(int64_t row) const { return total_[row]; }

 private:
  int64_t rows_;
  int64_t padded_rows_;
  int64_t stride_;
  float* sums_;     // (padded_rows, stride)
  float* largest_;  // (rows)
  float* total_;    // (rows)
};

inline constexpr int64_t kLivePartWords = 28;  // at most, of a part of the walk (attention_pass.h)

// Bounds what any kernel takes from the workspace for a block of `rows` rows.
inline size_t workspace_bytes(const AttentionWalk& walk, int64_t rows, int64_t head_dim,
                              int64_t value_stride) {
  const auto words = [](int64_t count) { return AttentionWorkspace::piece_bytes<float>(count); };
  const auto families = static_cast<int64_t>(walk.families().size());
  const int64_t padded = (rows + kMostPanelRows - 1) / kMostPanelRows * kMostPanelRows;
  const int64_t width = head_dim + 17;                             // of a query, as pairs too
  return words(padded * width) + words(padded * width * families)  // queries, and turned ones
         + words(width * kTile)                                    // keys
         + words(kKeysTogether * (value_stride + kTile))           // values
         + words(padded * kScoreStride)                            // scores
         + words(padded * odd_lines(value_stride))                 // sums
         + 4 * words(padded)                                       // by row
         + words(families) + words(kLivePartWords * std::ssize(walk.parts()))  // of the walk
         + 2 * words(kMostPanelRows * kTile);  // scores of a cut panel
}

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BLOCK_H_
