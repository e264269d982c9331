// Elements of float, bf16 and f16 as vectors of floats, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ELEMENTS_INL_H_
#undef ROPEWALK_KERNELS_ELEMENTS_INL_H_
#else
#define ROPEWALK_KERNELS_ELEMENTS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "ropewalk/base/half.h"

// Targets whose own conversion between float and f16 rounds to nearest even; Highway's emulation
// for the others truncates.
#define ROPEWALK_NATIVE_F16 (HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON)

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V bf16_bits(D /*tag*/, V bits) {
  const hn::DFromV<V> wide;
  // Ties to even; the low half of a NaN that came from bf16 or arithmetic is 0, so nothing carries.
  const V odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1));
  return hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(wide, 0x7fff)), odd));
}

// to_f16() of half.h for each lane.
template <class V>
HWY_INLINE V f16_bits(V bits) {
  const hn::DFromV<V> wide;
  const hn::RebindToFloat<decltype(wide)> floats;
  const hn::RebindToSigned<decltype(wide)> ints;
  const V magnitude = hn::And(bits, hn::Set(wide, 0x7fffffff));
  const V sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 0x8000));
  const auto size = hn::BitCast(ints, magnitude);  // as signed: every target compares those
  const V odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(wide, 1));
  const V normal = hn::ShiftRight<13>(
      hn::Add(magnitude, hn::Add(hn::Set(wide, 0xfff - (uint32_t{112} << 23)), odd)));
  const V shifted =
      hn::BitCast(wide, hn::Add(hn::BitCast(floats, magnitude), hn::Set(floats, 0.5f)));
  const V subnormal = hn::Sub(shifted, hn::Set(wide, 0x3f000000));
  const auto is_small = hn::RebindMask(wide, hn::Lt(size, hn::Set(ints, 0x38800000)));
  const auto is_large = hn::RebindMask(wide, hn::Gt(size, hn::Set(ints, 0x477fefff)));
  const auto is_nan = hn::RebindMask(wide, hn::Gt(size, hn::Set(ints, 0x7f800000)));
  V result = hn::IfThenElse(is_small, subnormal, normal);
  result = hn::IfThenElse(is_large, hn::Set(wide, 0x7c00), result);
  result = hn::IfThenElse(is_nan, hn::Set(wide, 0x7e00), result);
  return hn::Or(result, sign);
}

// to_float(F16) of half.h for each lane.
template <class V>
HWY_INLINE V f16_to_float_bits(V half) {
  const hn::DFromV<V> wide;
  const hn::RebindToFloat<decltype(wide)> floats;
  const V sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(wide, 0x8000)));
  const V magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(wide, 0x7fff)));
  // Scaling by 2^112 sets the exponent right, subnormals too; infinity and NaN want their own.
  const V scaled =
      hn::BitCast(wide, hn::Mul(hn::BitCast(floats, magnitude), hn::Set(floats, 0x1p112f)));
  const V exponent = hn::And(magnitude, hn::Set(wide, uint32_t{31} << 23));
  const auto special = hn::Eq(exponent, hn::Set(wide, uint32_t{31} << 23));
  const V full = hn::Or(magnitude, hn::Set(wide, 0x7f800000));
  return hn::Or(hn::IfThenElse(special, full, scaled), sign);
}

// Lanes(tag) elements from any address, as floats.
template <class D>
HWY_INLINE hn::Vec<D> load_elements(D tag, const float* from) {
  return hn::LoadU(tag, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load_elements(D tag, const Bf16* from) {
  const hn::Rebind<uint32_t, D> wide;
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(tag, hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> load_elements(D tag, const F16* from) {
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from));
#if ROPEWALK_NATIVE_F16
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(tag, hn::BitCast(half, bits));
#else
  const hn::Rebind<uint32_t, D> wide;
  return hn::BitCast(tag, f16_to_float_bits(hn::PromoteTo(wide, bits)));
#endif
}

// 2 Lanes(tag) elements: every second one from the first on, and those between.
template <class D>
HWY_INLINE void load_even_odd(D tag, const float* from, hn::Vec<D>& even, hn::Vec<D>& odd) {
  hn::LoadInterleaved2(tag, from, even, odd);
}

template <class D>
HWY_INLINE void load_even_odd(D tag, const Bf16* from, hn::Vec<D>& even, hn::Vec<D>& odd) {
#if HWY_TARGET == HWY_SCALAR  // one lane, which is not cut in two
  even = load_elements(tag, from);
  odd = load_elements(tag, from + 1);
#else
  const hn::Repartition<uint16_t, D> narrow;
  const hn::Repartition<uint32_t, D> wide;
  const auto both = hn::BitCast(wide, hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from)));
  even = hn::BitCast(tag, hn::ShiftLeft<16>(both));
  odd = hn::BitCast(tag, hn::And(both, hn::Set(wide, 0xffff0000U)));
#endif
}

// The other way; bf16 and f16 rounded to nearest even.
template <class D>
HWY_INLINE void store_elements(hn::Vec<D> value, D tag, float* to) {
  hn::StoreU(value, tag, to);
}

template <class D>
HWY_INLINE void store_elements(hn::Vec<D> value, D tag, Bf16* to) {
  const hn::Rebind<uint32_t, D> wide;
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = bf16_bits(tag, hn::BitCast(wide, value));
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(hn::Rebind<int32_t, D>(), bits)), narrow,
             reinterpret_cast<uint16_t*>(to));
}

template <class D>
HWY_INLINE void store_elements(hn::Vec<D> value, D tag, F16* to) {
  const hn::Rebind<uint16_t, D> narrow;
#if ROPEWALK_NATIVE_F16
  const hn::Rebind<hwy::float16_t, D> half;
  hn::StoreU(hn::BitCast(narrow, hn::DemoteTo(half, value)), narrow,
             reinterpret_cast<uint16_t*>(to));
#else
  const hn::Rebind<uint32_t, D> wide;
  const auto bits = f16_bits(hn::BitCast(wide, value));
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(hn::Rebind<int32_t, D>(), bits)), narrow,
             reinterpret_cast<uint16_t*>(to));
#endif
  (void)tag;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
