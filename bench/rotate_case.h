// Inputs that the benchmarks of rotate() share.
#ifndef ROPEWALK_BENCH_ROTATE_CASE_H_
#define ROPEWALK_BENCH_ROTATE_CASE_H_

#include <cstdint>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/half.h"
#include "ropewalk/kernels/rotate.h"

namespace ropewalk::bench {

enum class Order { kSequence, kHeads };  // [seq, heads, dim] or [heads, seq, dim]

// Heads of tokens 0, 1, ... of one sequence, all rotated.
template <typename Element>
struct RotateCase {
  PairLayout layout;
  int64_t n_tokens;
  int64_t n_heads;
  Order order;
  RotationRows<float> table;
  AlignedBuffer<Element> in;
  AlignedBuffer<Element> out;

  RotateCase(int64_t tokens, int64_t heads, int64_t dim, PairOrder pairs,
             Order lie = Order::kSequence)
      : layout{pairs, dim, dim},
        n_tokens(tokens),
        n_heads(heads),
        order(lie),
        table(rotation_rows<float>(rope_spectrum(1e4, dim, dim / 2), RowPositions::range(0, tokens),
                                   TableAmplitude::kApplied)),
        in(static_cast<size_t>(tokens * heads * dim)),
        out(in.size()) {
    for (size_t k = 0; k < in.size(); ++k) set(0.25F + static_cast<float>(k % 97) / 97, in[k]);
  }

  size_t bytes() const { return in.size() * sizeof(Element); }
  double flops() const { return 3.0 * static_cast<double>(in.size()); }

  void turn_apart() {
    rotate<Element>({layout, table}, {{view<const Element>(in.data()), view<Element>(out.data())}});
  }
  void turn_in_place() { rotate<Element>({layout, table}, {in_place(view<Element>(in.data()))}); }

 private:
  template <typename E>
  HeadsView<E> view(E* data) const {
    const int64_t dim = layout.head_dim;
    if (order == Order::kHeads) return {data, 1, n_tokens, n_heads, 0, dim, n_tokens * dim};
    return {data, 1, n_tokens, n_heads, 0, n_heads * dim, dim};
  }

  static void set(float value, float& to) { to = value; }
  static void set(float value, Bf16& to) { to = to_bf16(value); }
  static void set(float value, F16& to) { to = to_f16(value); }
};

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_ROTATE_CASE_H_
