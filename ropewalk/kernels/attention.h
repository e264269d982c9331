// Causal attention under any Rotary: one flash-style pass over tiles of keys that are cached
// unrotated.
//
// Goal: exact for every plan, the same bits whatever the thread count. A tile inside one branch
// costs one QK product; only tiles cut by an edge cost more; pairs that a branch does not hear are
// not computed; tiles that nobody sees are skipped. Non-goal: holding scores. Source of the pass:
// Dao et al. 2022, arXiv 2205.14135.
#ifndef ROPEWALK_KERNELS_ATTENTION_H_
#define ROPEWALK_KERNELS_ATTENTION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/half.h"
#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

inline constexpr int64_t kTile = 64;  // keys per tile, rows per block

// Keys and values of one layer, unrotated, in tiles: what attention reads.
//   Element  float or Bf16
template <typename Element>
class KvTiles {
 public:
  KvTiles() = default;
  //   capacity  tokens
  KvTiles(int64_t n_kv_heads, int64_t head_dim, int64_t capacity);

  int64_t n_kv_heads() const { return n_kv_heads_; }
  int64_t head_dim() const { return head_dim_; }
  int64_t capacity() const { return capacity_; }
  int64_t value_stride() const { return value_stride_; }

  // Stores tokens [first, first + count), within the capacity.
  //   keys, values  (count, n_kv_heads, head_dim)
  void store(int64_t first, int64_t count, const float* keys, const float* values);

  // (head_dim, kTile): coordinate-major, so that a tile is rotated and multiplied without a
  // transposition.
  const Element* keys(int64_t kv_head, int64_t tile) const {
    return keys_.data() + (kv_head * n_tiles_ + tile) * head_dim_ * kTile;
  }
  // (kTile, value_stride), zero beyond head_dim.
  const Element* values(int64_t kv_head, int64_t tile) const {
    return values_.data() + (kv_head * n_tiles_ + tile) * kTile * value_stride_;
  }

 private:
  int64_t n_kv_heads_ = 0;
  int64_t head_dim_ = 0;
  int64_t capacity_ = 0;
  int64_t n_tiles_ = 0;
  int64_t value_stride_ = 0;
  AlignedBuffer<Element> keys_;
  AlignedBuffer<Element> values_;
};

// How queries meet keys and weights meet values.
enum class Products {
  kFloat,  // in float32
  // In bfloat16, summed in float32, where the cache is bfloat16, the machine multiplies such numbers
  // itself and the plan has no pairs of tokens that go by distance; kFloat elsewhere.
  kBf16,
};

// The logit of query i and key j is softcap(row_scale * score) + bias(i - j), natural units.
struct AttentionOptions {
  Products products = Products::kFloat;
  float softcap = 0;                     // softcap(x) = c tanh(x / c), c > 0; 0: x itself
  std::span<const float> distance_bias;  // (n_heads, n_distances) by distance d, the last one for
                                         // what lies beyond; empty: none
};

// One sequence of a batch: rows [rotations.first_row(), + n_rows()), all keys up to each row being
// stored already.
//   queries      (n_rows, n_heads, head_dim), unrotated; n_heads a multiple of kv.n_kv_heads()
//   row_scale    (n_rows), multiplies the logits of a row: 1 / sqrt(head_dim), multiplier and
//                temperature together; > 0, finite
//   out          (n_rows, n_heads, head_dim)
//   first_key    keys before it are padding, seen by no row; rows before it come out as zeros.
//                Positions count from key 0 all the same. What is stored there must be finite.
//   log_sum_exp  (n_rows, n_heads) of the logits seen, minus infinity where there are none; or empty
//   TheirRotations  Rotations, or decode()'s
template <typename Element, typename TheirRotations = Rotations>
struct AttentionSequence {
  const TheirRotations* rotations = nullptr;
  const KvTiles<Element>* kv = nullptr;
  const float* queries = nullptr;
  std::span<const float> row_scale;
  float* out = nullptr;
  int64_t first_key = 0;
  std::span<float> log_sum_exp;
};

// kFloat: within 2e-5 of the double reference for inputs of unit size. kBf16: rotated queries and
// keys and the weights are rounded to bfloat16 once, so that a logit is off by at most 2^-8 times
// row_scale * sum |q k| over its coordinates, and an output by that, as a share of the values'
// spread, and 2^-8 of the values' size. The same bits whatever the thread count, the rows that come
// together and the sequences that do. What is not a number stays so in the rows that see it.
// Throws Error where the bias has no whole number of distances for each head, std::bad_alloc.
//   sequences  any lengths, also none
template <typename Element>
void attend(std::span<const AttentionSequence<Element>> sequences, int64_t n_heads,
            const AttentionOptions& options);

// One sequence without padding.
template <typename Element>
void attend(const Rotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, std::span<const float> row_scale, float* out,
            const AttentionOptions& options = {});

// The SIMD targets compiled in that this machine can run, best first, by name; and a way to take
// one of them, for tests. An empty name undoes the choice. Throws Error for a name that is not in
// the list.
std::vector<std::string> attention_targets();
void force_attention_target(const std::string& name);

// The same for the units that multiply bfloat16 numbers; there may be none.
std::vector<std::string> bf16_product_units();
void force_bf16_product_unit(const std::string& name);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_H_
