// PairLayout: which coordinates of a head form a pair.
#ifndef ROPEWALK_MATH_PAIR_LAYOUT_H_
#define ROPEWALK_MATH_PAIR_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk {

// head_dim 8, rotary_dim 6, pairs 0, 1, 2:
//   kHalf         012012--
//   kInterleaved  001122--
enum class PairOrder { kHalf, kInterleaved };

// The layout belongs to a checkpoint, not to a formula: the angles are the same for both orders.
struct PairLayout {
  PairOrder order = PairOrder::kHalf;
  int64_t head_dim = 0;  // coordinates of one head
  int64_t rotary_dim =
      0;  // the first rotary_dim of them are rotated; even, 2 <= rotary_dim <= head_dim

  int64_t n_pairs() const { return rotary_dim / 2; }

  // The coordinate holding the first (cosine) and second (sine) part of a pair.
  int64_t first(int64_t pair) const { return order == PairOrder::kHalf ? pair : 2 * pair; }
  int64_t second(int64_t pair) const {
    return order == PairOrder::kHalf ? pair + rotary_dim / 2 : 2 * pair + 1;
  }

  // The drawing above: one character a coordinate, the pair's last digit or '-'.
  std::string strip() const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const PairLayout& layout);

// Row of the half-split head that holds what row `coordinate` of the interleaved head holds: the
// permutation that GGUF converters apply to q and k weights per head. (head_dim)
std::vector<int64_t> interleaved_from_half(int64_t head_dim, int64_t rotary_dim);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_PAIR_LAYOUT_H_
