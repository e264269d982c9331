// 2^x for weights of a softmax, vectorised.
#if defined(ROPEWALK_KERNELS_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_EXP2_INL_H_
#undef ROPEWALK_KERNELS_EXP2_INL_H_
#else
#define ROPEWALK_KERNELS_EXP2_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Within 2 ulp for -126 <= x <= 0, exactly 1 at 0, below 2^-125 there, exactly 0 below -127, minus
// infinity included. The polynomial of degree 6 is the minimax one of 2^f on [-1/2, 1/2] with 1 at 0
// (relative error 2.0e-9 before its coefficients are rounded).
template <class Tag, class Vec>
HWY_INLINE Vec exp2_of_weight(Tag tag, Vec x) {
  const hn::RebindToSigned<Tag> whole;
  // Added to a small number it leaves the nearest whole one in the last bits.
  const Vec rounder = hn::Set(tag, 0x1.8p23f);
  const Vec least = hn::Set(tag, -127.0f);
  // A NaN stays: in this order x86's maximum gives it, and Arm's in any; where it is a comparison's
  // doing, the other one.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_RVV
  const Vec bounded = hn::IfThenElse(hn::Lt(x, least), least, x);
#else
  const Vec bounded = hn::Max(least, x);
#endif
  const Vec shifted = hn::Add(bounded, rounder);
  const Vec f = hn::Sub(bounded, hn::Sub(shifted, rounder));
  Vec sum = hn::Set(tag, 1.5353362e-4f);
  sum = hn::MulAdd(sum, f, hn::Set(tag, 1.3398875e-3f));
  sum = hn::MulAdd(sum, f, hn::Set(tag, 9.618437e-3f));
  sum = hn::MulAdd(sum, f, hn::Set(tag, 5.5503324e-2f));
  sum = hn::MulAdd(sum, f, hn::Set(tag, 2.4022648e-1f));
  sum = hn::MulAdd(sum, f, hn::Set(tag, 6.931472e-1f));
  sum = hn::MulAdd(sum, f, hn::Set(tag, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(whole, shifted));
  return hn::BitCast(tag, hn::Add(hn::BitCast(whole, sum), exponent));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
