// The inner loops of rotate(), compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ROTATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ROTATE_INL_H_
#undef ROPEWALK_KERNELS_ROTATE_INL_H_
#else
#define ROPEWALK_KERNELS_ROTATE_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/elements-inl.h"
#include "ropewalk/kernels/rotate_block.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

// Vectors of cosines that stay in registers from head to head, with as many of sines: AVX-512 has 32
// registers, AVX2 16.
constexpr int kHeld = HWY_MAX_BYTES >= 64 ? 4 : 2;

// Tokens whose rows of the table stay near while head after head is turned.
constexpr int64_t kTokensAtOnce = 16;

// Heads that a row is loaded for where each head's tokens lie side by side: so many streams of memory.
constexpr int64_t kHeadsAtOnce = 4;

template <Writing kWriting, class D, typename Element>
HWY_INLINE void write(hn::Vec<D> value, D tag, Element* out) {
  if constexpr (kWriting == Writing::kPastCaches && std::is_same_v<Element, float>) {
    hn::Stream(value, tag, out);
  } else {
    store_elements(value, tag, out);
  }
}

// Calls body(tag, x) for whole vectors of 16, 8, 4 and 1 lanes in turn, from x on, until `size` is
// used up: no load or store reaches past it. `step` is what one lane takes.
template <int kStep = 1, typename Body>
HWY_INLINE void for_vectors_of_heads(int64_t x, int64_t size, const Body& body) {
  const auto run = [&](auto tag) HWY_ATTR {
    const auto lanes = kStep * static_cast<int64_t>(hn::Lanes(tag));
    for (; x + lanes <= size; x += lanes) body(tag, x);
  };
  run(hn::CappedTag<float, 16>());
  run(hn::CappedTag<float, 8>());
  run(hn::CappedTag<float, 4>());
  run(hn::CappedTag<float, 1>());
}

template <class V>
HWY_INLINE void turn(V x, V y, V cos, V sin, V& x_out, V& y_out) {
  x_out = hn::NegMulAdd(y, sin, hn::Mul(x, cos));
  y_out = hn::MulAdd(x, sin, hn::Mul(y, cos));
}

// Sines from `from` on, of the other sign to turn backwards.
template <class D>
HWY_INLINE hn::Vec<D> load_sines(D tag, const float* from, bool backwards) {
  const auto flipped = hn::Set(tag, backwards ? -0.0f : 0.0f);
  return hn::Xor(hn::LoadU(tag, from), flipped);
}

// ---- first halves and second halves

template <class D, typename Element>
HWY_INLINE void halves_vector(D tag, TokenHeads<Element> heads, int64_t pair, int64_t half) {
  const auto c = hn::LoadU(tag, heads.cos + pair);
  const auto s = load_sines(tag, heads.sin + pair, heads.backwards);
  const Element* in = heads.in + pair;
  Element* out = heads.out + pair;
  for (int64_t h = 0; h < heads.count; ++h) {
    hn::Vec<D> x, y;
    turn(load_elements(tag, in), load_elements(tag, in + half), c, s, x, y);
    store_elements(x, tag, out);
    store_elements(y, tag, out + half);
    in += heads.in_stride;
    out += heads.out_stride;
  }
}

#if !HWY_HAVE_SCALABLE
// kVectors vectors of pairs.
template <Writing kWriting, int kVectors, typename Element>
HWY_INLINE void halves_vectors(TokenHeads<Element> heads, int64_t pair, int64_t half) {
  const hn::CappedTag<float, 16> tag;
  using Vec = hn::Vec<decltype(tag)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(tag)()));
  Vec c[kVectors], s[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c[v] = hn::LoadU(tag, heads.cos + pair + v * kLanes);
    s[v] = load_sines(tag, heads.sin + pair + v * kLanes, heads.backwards);
  }
  // Pointers, not offsets: six of them fit in registers.
  const Element* in_x = heads.in + pair;
  const Element* in_y = in_x + half;
  Element* out_x = heads.out + pair;
  Element* out_y = out_x + half;
  const Element* ahead_x = heads.ahead + pair;
  const Element* ahead_y = ahead_x + half;
  for (int64_t h = 0; h < heads.count; ++h) {
    Vec x[kVectors], y[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      turn(load_elements(tag, in_x + v * kLanes), load_elements(tag, in_y + v * kLanes), c[v], s[v],
           x[v], y[v]);
      hwy::Prefetch(ahead_x + v * kLanes);
      hwy::Prefetch(ahead_y + v * kLanes);
    }
    for (int v = 0; v < kVectors; ++v) write<kWriting>(x[v], tag, out_x + v * kLanes);
    for (int v = 0; v < kVectors; ++v) write<kWriting>(y[v], tag, out_y + v * kLanes);
    in_x += heads.in_stride;
    in_y += heads.in_stride;
    out_x += heads.out_stride;
    out_y += heads.out_stride;
    ahead_x += heads.ahead_stride;
    ahead_y += heads.ahead_stride;
  }
}
#endif

template <Writing kWriting, typename Element>
HWY_INLINE void turn_halves(const TokenHeads<Element>& heads, int64_t n_pairs) {
  int64_t pair = 0;
#if !HWY_HAVE_SCALABLE
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<float, 16>()));
  for (; pair + kHeld * kLanes <= n_pairs; pair += kHeld * kLanes) {
    halves_vectors<kWriting, kHeld>(heads, pair, n_pairs);
  }
  for (; pair + 2 * kLanes <= n_pairs; pair += 2 * kLanes) {
    halves_vectors<kWriting, 2>(heads, pair, n_pairs);
  }
#endif
  for_vectors_of_heads(pair, n_pairs, [&](auto tag, int64_t at) HWY_ATTR {
    halves_vector(tag, heads, at, n_pairs);
  });
}

// ---- pairs side by side

template <typename Element>
HWY_INLINE void beside_pair(TokenHeads<Element> heads, int64_t pair) {
  const hn::CappedTag<float, 1> tag;
  const auto c = hn::LoadU(tag, heads.cos + pair);
  const auto s = load_sines(tag, heads.sin + pair, heads.backwards);
  const Element* in = heads.in + 2 * pair;
  Element* out = heads.out + 2 * pair;
  for (int64_t h = 0; h < heads.count; ++h) {
    hn::Vec<decltype(tag)> x, y;
    turn(load_elements(tag, in), load_elements(tag, in + 1), c, s, x, y);
    store_elements(x, tag, out);
    store_elements(y, tag, out + 1);
    in += heads.in_stride;
    out += heads.out_stride;
  }
}

#if HWY_TARGET != HWY_SCALAR
// from[0] from[0] from[1] from[1] ...
template <class D>
HWY_INLINE hn::Vec<D> load_twice(D tag, const float* from) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
  const hn::Rebind<uint32_t, decltype(wide)> narrow;
  const auto bits = hn::PromoteTo(
      wide, hn::BitCast(narrow, hn::LoadU(hn::Rebind<float, decltype(narrow)>(), from)));
  return hn::BitCast(tag, hn::Or(bits, hn::ShiftLeft<32>(bits)));
}

// -s0 s0 -s1 s1 ..., or the other way.
template <class D>
HWY_INLINE hn::Vec<D> load_sines_twice(D tag, const float* from, bool backwards) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
  const auto flipped = hn::Set(wide, uint64_t{1} << (backwards ? 63 : 31));
  return hn::Xor(load_twice(tag, from), hn::BitCast(tag, flipped));
}

template <class V>
HWY_INLINE V turn_beside(V value, V cos, V sin) {
  return hn::MulAdd(hn::Shuffle2301(value), sin, hn::Mul(value, cos));
}

// Coordinates x ...
template <class D, typename Element>
HWY_INLINE void beside_vector(D tag, TokenHeads<Element> heads, int64_t x) {
  const auto c = load_twice(tag, heads.cos + x / 2);
  const auto s = load_sines_twice(tag, heads.sin + x / 2, heads.backwards);
  const Element* in = heads.in + x;
  Element* out = heads.out + x;
  for (int64_t h = 0; h < heads.count; ++h) {
    store_elements(turn_beside(load_elements(tag, in), c, s), tag, out);
    in += heads.in_stride;
    out += heads.out_stride;
  }
}
#endif

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
template <Writing kWriting, int kVectors, typename Element>
HWY_INLINE void beside_vectors(TokenHeads<Element> heads, int64_t x) {
  const hn::CappedTag<float, 16> tag;
  using Vec = hn::Vec<decltype(tag)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(tag)()));
  Vec c[kVectors], s[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c[v] = load_twice(tag, heads.cos + (x + v * kLanes) / 2);
    s[v] = load_sines_twice(tag, heads.sin + (x + v * kLanes) / 2, heads.backwards);
  }
  const Element* in = heads.in + x;
  Element* out = heads.out + x;
  const Element* ahead = heads.ahead + x;
  for (int64_t h = 0; h < heads.count; ++h) {
    Vec value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      value[v] = turn_beside(load_elements(tag, in + v * kLanes), c[v], s[v]);
      hwy::Prefetch(ahead + v * kLanes);
    }
    for (int v = 0; v < kVectors; ++v) write<kWriting>(value[v], tag, out + v * kLanes);
    in += heads.in_stride;
    out += heads.out_stride;
    ahead += heads.ahead_stride;
  }
}
#endif

template <Writing kWriting, typename Element>
HWY_INLINE void turn_beside_pairs(const TokenHeads<Element>& heads, int64_t n_pairs) {
  const int64_t size = 2 * n_pairs;
  int64_t x = 0;
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<float, 16>()));
  for (; x + 2 * kHeld * kLanes <= size; x += 2 * kHeld * kLanes) {
    beside_vectors<kWriting, 2 * kHeld>(heads, x);
  }
  for (; x + kHeld * kLanes <= size; x += kHeld * kLanes) {
    beside_vectors<kWriting, kHeld>(heads, x);
  }
#endif
  for_vectors_of_heads(x, size, [&](auto tag, int64_t at) HWY_ATTR {
    if constexpr (hn::MaxLanes(decltype(tag)()) > 1) {
      beside_vector(tag, heads, at);
    } else if (at % 2 == 0) {
      beside_pair(heads, at / 2);
    }
  });
}

// ---- bf16: a lane of 32 bits holds two, and a shift or a mask makes each a float

#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> load_twos(D /*tag*/, const Bf16* from) {
  const hn::RebindToUnsigned<D> twos;
  const hn::Repartition<uint16_t, decltype(twos)> ones;
  return hn::BitCast(twos, hn::LoadU(ones, reinterpret_cast<const uint16_t*>(from)));
}

template <class D, class V>
HWY_INLINE void split_twos(D tag, V twos, hn::Vec<D>& even, hn::Vec<D>& odd) {
  const hn::RebindToUnsigned<D> bits;
  even = hn::BitCast(tag, hn::ShiftLeft<16>(twos));
  odd = hn::BitCast(tag, hn::And(twos, hn::Set(bits, 0xffff0000u)));
}

// The upper half is then the nearest bf16, ties to even. The low half of a NaN that came of bf16 or of
// arithmetic is 0, so nothing carries.
template <class D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> rounded_up(D /*tag*/, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> bits;
  const auto own = hn::BitCast(bits, value);
  const auto is_odd = hn::TestBit(own, hn::Set(bits, 0x10000));
  return hn::Add(own, hn::IfThenElse(is_odd, hn::Set(bits, 0x8000), hn::Set(bits, 0x7fff)));
}

template <Writing kWriting, class D>
HWY_INLINE void store_twos(D tag, hn::Vec<D> even, hn::Vec<D> odd, Bf16* to) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Repartition<uint16_t, decltype(bits)> ones;
  const auto twos = hn::Or(hn::ShiftRight<16>(rounded_up(tag, even)),
                           hn::And(rounded_up(tag, odd), hn::Set(bits, 0xffff0000u)));
  // Past the caches only by whole lines.
  if (kWriting == Writing::kPastCaches && hn::Lanes(tag) * sizeof(float) == 64) {
    hn::Stream(hn::BitCast(ones, twos), ones, reinterpret_cast<uint16_t*>(to));
  } else {
    hn::StoreU(hn::BitCast(ones, twos), ones, reinterpret_cast<uint16_t*>(to));
  }
}

// Pairs `pair` ..., a lane each.
template <Writing kWriting, class D>
HWY_INLINE void beside_twos(D tag, TokenHeads<Bf16> heads, int64_t pair) {
  const auto c = hn::LoadU(tag, heads.cos + pair);
  const auto s = load_sines(tag, heads.sin + pair, heads.backwards);
  const Bf16* in = heads.in + 2 * pair;
  Bf16* out = heads.out + 2 * pair;
  for (int64_t h = 0; h < heads.count; ++h) {
    hn::Vec<D> x, y;
    split_twos(tag, load_twos(tag, in), x, y);
    turn(x, y, c, s, x, y);
    store_twos<kWriting>(tag, x, y, out);
    in += heads.in_stride;
    out += heads.out_stride;
  }
}

// Pairs `pair` ..., two a lane.
template <Writing kWriting, class D>
HWY_INLINE void halves_twos(D tag, TokenHeads<Bf16> heads, int64_t pair, int64_t half) {
  hn::Vec<D> c_even, c_odd, s_even, s_odd;
  hn::LoadInterleaved2(tag, heads.cos + pair, c_even, c_odd);
  hn::LoadInterleaved2(tag, heads.sin + pair, s_even, s_odd);
  const auto flipped = hn::Set(tag, heads.backwards ? -0.0f : 0.0f);
  s_even = hn::Xor(s_even, flipped);
  s_odd = hn::Xor(s_odd, flipped);
  const Bf16* in = heads.in + pair;
  Bf16* out = heads.out + pair;
  for (int64_t h = 0; h < heads.count; ++h) {
    hn::Vec<D> x_even, x_odd, y_even, y_odd;
    split_twos(tag, load_twos(tag, in), x_even, x_odd);
    split_twos(tag, load_twos(tag, in + half), y_even, y_odd);
    turn(x_even, y_even, c_even, s_even, x_even, y_even);
    turn(x_odd, y_odd, c_odd, s_odd, x_odd, y_odd);
    store_twos<kWriting>(tag, x_even, x_odd, out);
    store_twos<kWriting>(tag, y_even, y_odd, out + half);
    in += heads.in_stride;
    out += heads.out_stride;
  }
}

template <Writing kWriting>
HWY_INLINE void turn_halves(const TokenHeads<Bf16>& heads, int64_t n_pairs) {
  int64_t pair = 0;
#if HWY_TARGET == HWY_AVX3
  pair = turn_halves_by_cpu(heads, n_pairs, kWriting);
#endif
  const int64_t even = n_pairs - n_pairs % 2;
  for_vectors_of_heads<2>(pair, even, [&](auto tag, int64_t at) HWY_ATTR {
    halves_twos<kWriting>(tag, heads, at, n_pairs);
  });
  if (even < n_pairs) halves_vector(hn::CappedTag<float, 1>(), heads, even, n_pairs);
}

template <Writing kWriting>
HWY_INLINE void turn_beside_pairs(const TokenHeads<Bf16>& heads, int64_t n_pairs) {
  int64_t pair = 0;
#if HWY_TARGET == HWY_AVX3
  pair = turn_beside_by_cpu(heads, n_pairs, kWriting);
#endif
  for_vectors_of_heads(
      pair, n_pairs, [&](auto tag, int64_t at) HWY_ATTR { beside_twos<kWriting>(tag, heads, at); });
}
#endif

// ---- tokens

template <Writing kWriting, typename Element>
class BlockRotation {
 public:
  explicit BlockRotation(const RotateBlock<Element>& block)
      : block_(block),
        ahead_(bytes_ahead(kWriting) /
                   (block.layout.head_dim * static_cast<int64_t>(sizeof(Element))) +
               1),
        by_head_(block.n_tokens > 1 && block.in_head_stride > block.in_token_stride) {}

  // In the order of memory: all heads of one token, or some tokens of a few heads after the others.
  void run() const {
    if (!by_head_) {
      for (int64_t t = 0; t < block_.n_tokens; ++t) turn_heads(t, 0, block_.n_heads);
      return;
    }
    for (int64_t first = 0; first < block_.n_tokens; first += kTokensAtOnce) {
      const int64_t last = std::min(first + kTokensAtOnce, block_.n_tokens);
      for (int64_t h = 0; h < block_.n_heads; h += kHeadsAtOnce) {
        const int64_t count = std::min(kHeadsAtOnce, block_.n_heads - h);
        for (int64_t t = first; t < last; ++t) turn_heads(t, h, count);
      }
    }
  }

 private:
  const float* row(int64_t t) const {
    return block_.table + block_.row_of(t) * 2 * block_.pair_stride;
  }

  HWY_INLINE void turn_heads(int64_t t, int64_t head, int64_t count) const {
    const int64_t n_pairs = block_.layout.n_pairs();
    TokenHeads<Element> heads = {
        .in = block_.in + t * block_.in_token_stride + head * block_.in_head_stride,
        .out = block_.out + t * block_.out_token_stride + head * block_.out_head_stride,
        .in_stride = block_.in_head_stride,
        .out_stride = block_.out_head_stride,
        .count = count,
        .cos = row(t),
        .sin = row(t) + block_.pair_stride,
        .backwards = block_.backwards};
    if (kWriting == Writing::kApart) {
      heads.ahead = heads.out + ahead_ * (by_head_ ? block_.out_token_stride : heads.out_stride);
      heads.ahead_stride = heads.out_stride;
    } else {
      heads.ahead = heads.in + ahead_ * (by_head_ ? block_.in_token_stride : heads.in_stride);
      heads.ahead_stride = heads.in_stride;
    }
    if (t + 1 < block_.n_tokens) ask_for_row(t + 1, n_pairs);
    if (block_.layout.order == PairOrder::kHalf) {
      turn_halves<kWriting>(heads, n_pairs);
    } else {
      turn_beside_pairs<kWriting>(heads, n_pairs);
    }
    if (kWriting != Writing::kInPlace) copy_rest(heads);
  }

  // A row comes from afar, and nothing of its token can be done before it is there.
  HWY_INLINE void ask_for_row(int64_t t, int64_t n_pairs) const {
    constexpr int64_t kLine = 16;
    const float* cos = row(t);
    for (int64_t p = 0; p < n_pairs; p += kLine) {
      hwy::Prefetch(cos + p);
      hwy::Prefetch(cos + block_.pair_stride + p);
    }
  }

  HWY_INLINE void copy_rest(const TokenHeads<Element>& heads) const {
    const int64_t first = block_.layout.rotary_dim;
    const int64_t size = block_.layout.head_dim - first;
    if (size == 0) return;
    for (int64_t h = 0; h < heads.count; ++h) {
      std::copy_n(heads.in + h * heads.in_stride + first, size,
                  heads.out + h * heads.out_stride + first);
    }
  }

  const RotateBlock<Element>& block_;
  const int64_t ahead_;  // heads from one that is turned to one that is asked for
  const bool by_head_;
};

template <typename Element>
HWY_INLINE void turn_block(const RotateBlock<Element>& block) {
  if (block.in == block.out) return BlockRotation<Writing::kInPlace, Element>(block).run();
  if (block.past_caches && HWY_MAX_BYTES >= 32) {  // two vectors a line at least
    BlockRotation<Writing::kPastCaches, Element>(block).run();
    return hwy::FlushStream();
  }
  BlockRotation<Writing::kApart, Element>(block).run();
}

void rotate_f32(const RotateBlock<float>& block) { turn_block(block); }
void rotate_bf16(const RotateBlock<Bf16>& block) { turn_block(block); }
void rotate_f16(const RotateBlock<F16>& block) { turn_block(block); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
