// Vectors that decoding reads, turns and writes, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_DECODE_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_DECODE_VECTORS_INL_H_
#undef ROPEWALK_KERNELS_DECODE_VECTORS_INL_H_
#else
#define ROPEWALK_KERNELS_DECODE_VECTORS_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ropewalk/base/half.h"
#include "ropewalk/kernels/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DecodeTag = hn::CappedTag<float, 16>;
using DecodeVec = hn::Vec<DecodeTag>;

// A cache in memory is read as fast as its lines are asked for: what lies so far behind is needed
// next.
constexpr int64_t kBytesAhead = 3072, kLineBytes = 64;

// Asks for the lines `ahead` bytes behind `from`, where pair v of vectors begins one.
template <typename Element>
HWY_INLINE void ask_ahead(const Element* from, int v, int64_t lanes, int64_t ahead = kBytesAhead) {
  const int64_t bytes = 2 * lanes * static_cast<int64_t>(sizeof(Element));
  const char* const line = reinterpret_cast<const char*>(from) + v * bytes + ahead;
  if (v * bytes % kLineBytes == 0) hwy::Prefetch(line);
  if (bytes > kLineBytes) hwy::Prefetch(line + kLineBytes);
}

// By the cosines at `entries` and the sines `width` behind them.
HWY_INLINE void turn_query_back(const float* entries, int64_t width, DecodeVec& x, DecodeVec& y) {
  const DecodeTag tag;
  const DecodeVec cos = hn::Load(tag, entries);
  const DecodeVec sin = hn::Load(tag, entries + width);
  const DecodeVec turned = hn::MulAdd(y, sin, hn::Mul(x, cos));
  y = hn::NegMulAdd(x, sin, hn::Mul(y, cos));
  x = turned;
}

HWY_INLINE void turn_key(DecodeVec cos, DecodeVec sin, DecodeVec& x, DecodeVec& y) {
  const DecodeVec turned = hn::NegMulAdd(y, sin, hn::Mul(x, cos));
  y = hn::MulAdd(x, sin, hn::Mul(y, cos));
  x = turned;
}

// Of pairs of bfloat16 vectors, one has every second column and the other those between.
template <typename Element, int V>
HWY_INLINE void load_columns(const Element* from, DecodeVec (&columns)[V]) {
  const DecodeTag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int v = 0; v < V; v += 2) {
    if constexpr (V > 1 && std::is_same_v<Element, Bf16>) {
      load_even_odd(tag, from + v * lanes, columns[v], columns[v + 1]);
    } else {
      columns[v] = load_elements(tag, from + v * lanes);
      if constexpr (V > 1) columns[v + 1] = load_elements(tag, from + (v + 1) * lanes);
    }
  }
}

template <typename Element, int V>
HWY_INLINE void store_columns(const DecodeVec (&sums)[V], float* to) {
  const DecodeTag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int v = 0; v < V; v += 2) {
    if constexpr (V > 1 && std::is_same_v<Element, Bf16>) {
      hn::StoreInterleaved2(sums[v], sums[v + 1], tag, to + v * lanes);
    } else {
      hn::Store(sums[v], tag, to + v * lanes);
      if constexpr (V > 1) hn::Store(sums[v + 1], tag, to + (v + 1) * lanes);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
