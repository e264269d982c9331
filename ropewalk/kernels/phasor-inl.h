// cos and sin of 2 pi * position * turns for vectors of doubles, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_PHASOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_PHASOR_INL_H_
#undef ROPEWALK_KERNELS_PHASOR_INL_H_
#else
#define ROPEWALK_KERNELS_PHASOR_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DoubleTag = hn::CappedTag<double, 8>;
using DoubleVec = hn::Vec<DoubleTag>;

// a + b - sum exactly, in any order of size (Knuth).
HWY_INLINE DoubleVec sum_error(DoubleVec a, DoubleVec b, DoubleVec sum) {
  const DoubleVec b_seen = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, b_seen)), hn::Sub(b, b_seen));
}

#if !HWY_NATIVE_FMA
// The upper 26 bits of x (Veltkamp).
HWY_INLINE DoubleVec upper_half(DoubleVec x) {
  const DoubleVec scaled = hn::Mul(x, hn::Set(DoubleTag(), 134217729.0));  // 2^27 + 1
  return hn::Sub(scaled, hn::Sub(scaled, x));
}
#endif

// a * b - product exactly, where product is a * b rounded; by FMA, or as Dekker 1971 does without.
HWY_INLINE DoubleVec product_error(DoubleVec a, DoubleVec b, DoubleVec product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  const DoubleVec a_high = upper_half(a);
  const DoubleVec b_high = upper_half(b);
  const DoubleVec a_low = hn::Sub(a, a_high);
  const DoubleVec b_low = hn::Sub(b, b_high);
  const DoubleVec first = hn::Sub(hn::Mul(a_high, b_high), product);
  const DoubleVec second = hn::Add(hn::Add(first, hn::Mul(a_high, b_low)), hn::Mul(a_low, b_high));
  return hn::Add(second, hn::Mul(a_low, b_low));
#endif
}

// sum of a[k] x^k, a from the highest power on.
template <size_t kSize>
HWY_INLINE DoubleVec polynomial(const double (&a)[kSize], DoubleVec x) {
  const DoubleTag tag;
  DoubleVec sum = hn::Set(tag, a[0]);
  for (size_t k = 1; k < kSize; ++k) sum = hn::MulAdd(sum, x, hn::Set(tag, a[k]));
  return sum;
}

// position * turns less its nearest quarter turn: high + rest, in [-1/8 - 2^-10, 1/8 + 2^-10].
// `high` is exact, `rest` off by at most 2^-66 turns while |position| <= 2^40 and |turns| <= 1/6.
// The low two bits of `quarters` count the quarter turns.
HWY_INLINE void reduce(DoubleVec position, DoubleVec position_lo, DoubleVec turns,
                       DoubleVec turns_lo, DoubleVec& high, DoubleVec& rest, DoubleVec& quarters) {
  const DoubleTag tag;
  const DoubleVec to_integer = hn::Set(tag, 0x1.8p52);  // adding it leaves no bits below one
  const DoubleVec product = hn::Mul(position, turns);
  rest = product_error(position, turns, product);
  rest = hn::MulAdd(position, turns_lo, rest);
  rest = hn::MulAdd(position_lo, turns, rest);
  quarters = hn::MulAdd(product, hn::Set(tag, 4.0), to_integer);
  high = hn::NegMulAdd(hn::Sub(quarters, to_integer), hn::Set(tag, 0.25), product);
}

// A reduced angle less another, reduced again: `high` is exact still, `rest` off by 2^-65 turns.
HWY_INLINE void reduce_difference(DoubleVec from_high, DoubleVec from_rest, DoubleVec from_quarters,
                                  DoubleVec& high, DoubleVec& rest, DoubleVec& quarters) {
  const DoubleTag tag;
  const hn::RebindToUnsigned<DoubleTag> bits_tag;
  const DoubleVec to_integer = hn::Set(tag, 0x1.8p52);
  const DoubleVec apart = hn::Sub(high, from_high);  // a quarter turn and a little at most
  rest = hn::Add(hn::Sub(rest, from_rest), sum_error(high, hn::Neg(from_high), apart));
  const DoubleVec own = hn::MulAdd(apart, hn::Set(tag, 4.0), to_integer);
  high = hn::NegMulAdd(hn::Sub(own, to_integer), hn::Set(tag, 0.25), apart);
  const auto count = hn::Sub(hn::BitCast(bits_tag, quarters), hn::BitCast(bits_tag, from_quarters));
  quarters = hn::BitCast(tag, hn::Add(count, hn::BitCast(bits_tag, own)));
}

// Turns cos and sin of what reduce() left by the quarters that it took.
HWY_INLINE void put_back(DoubleVec quarters, DoubleVec& cosine, DoubleVec& sine) {
  const DoubleTag tag;
  const hn::RebindToUnsigned<DoubleTag> bits_tag;
  const auto count = hn::BitCast(bits_tag, quarters);
  const auto one = hn::Set(bits_tag, 1);
  const auto sign = hn::Set(bits_tag, uint64_t{1} << 63);
  const auto sine_sign = hn::And(hn::ShiftLeft<62>(count), sign);
  const auto cosine_sign = hn::And(hn::ShiftLeft<62>(hn::Add(count, one)), sign);
  const auto odd = hn::RebindMask(tag, hn::TestBit(count, one));
  const DoubleVec first = hn::IfThenElse(odd, sine, cosine);
  const DoubleVec second = hn::IfThenElse(odd, cosine, sine);
  cosine = hn::Xor(first, hn::BitCast(tag, cosine_sign));
  sine = hn::Xor(second, hn::BitCast(tag, sine_sign));
}

// Of a reduced angle. Error: at most 2^-51 of each result, and what `rest` is off by; for float tables.
HWY_INLINE void cos_sin_of_reduced(DoubleVec high, DoubleVec rest, DoubleVec quarters,
                                   DoubleVec& cosine, DoubleVec& sine) {
  // (2 pi)^n / n! with the signs of the series, to x^15 and x^16: what follows is below 2^-54.
  static constexpr double kSine[] = {
      -0x1.6fadb9f155744p-1, 0x1.e8f434d018d63p+1, -0x1.e3074fde8871fp+3, 0x1.50783487ee782p+5,
      -0x1.32d2cce62bd86p+6, 0x1.466bc6775aae2p+6, -0x1.4abbce625be53p+5, 0x1.921fb54442d18p+2};
  static constexpr double kCosine[] = {
      0x1.20c62c2f2d7f5p-2,  -0x1.b6e24f44b128fp+0, 0x1.f9d38a3763cc3p+2,
      -0x1.a6d1f2a204a8cp+4, 0x1.e1f506891babbp+5,  -0x1.55d3c7e3cbffap+6,
      0x1.03c1f081b5ac4p+6,  -0x1.3bd3cc9be45dep+4, 1.0};
  const DoubleVec x = hn::Add(high, rest);
  const DoubleVec squared = hn::Mul(x, x);
  sine = hn::Mul(polynomial(kSine, squared), x);
  cosine = polynomial(kCosine, squared);
  put_back(quarters, cosine, sine);
}

// Error: at most 2^-51 of each result, and 2^-63. Position and turns as for reduce().
HWY_INLINE void cos_sin(DoubleVec position, DoubleVec position_lo, DoubleVec turns,
                        DoubleVec turns_lo, DoubleVec& cosine, DoubleVec& sine) {
  DoubleVec high, rest, quarters;
  reduce(position, position_lo, turns, turns_lo, high, rest, quarters);
  cos_sin_of_reduced(high, rest, quarters, cosine, sine);
}

// Of a reduced angle, as cos_sin_of_turns() of turns.h reckons: at most 2 ulps of each result above
// 2^-10, and below them 2^-63 and what `rest` is off by.
HWY_INLINE void cos_sin_precise_of_reduced(DoubleVec high, DoubleVec rest, DoubleVec quarters,
                                           DoubleVec& cosine, DoubleVec& sine) {
  static constexpr double kSine[] = {
      1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
      1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  static constexpr double kCosine[] = {
      -1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
      -1.0 / 3628800,          1.0 / 40320,          -1.0 / 720,         1.0 / 24};
  const DoubleTag tag;
  const DoubleVec turn = hn::Add(high, rest);
  const DoubleVec turn_lo = sum_error(high, rest, turn);
  // x = 2 pi * turn, as a sum of two doubles.
  const DoubleVec two_pi = hn::Set(tag, 0x1.921fb54442d18p+2);
  const DoubleVec x = hn::Mul(turn, two_pi);
  DoubleVec x_lo = product_error(turn, two_pi, x);
  x_lo = hn::MulAdd(turn, hn::Set(tag, 0x1.1a62633145c07p-52), x_lo);
  x_lo = hn::MulAdd(turn_lo, two_pi, x_lo);

  const DoubleVec half = hn::Mul(x, hn::Set(tag, 0.5));
  const DoubleVec half_square = hn::Mul(x, half);
  const DoubleVec half_square_lo = product_error(x, half, half_square);
  const DoubleVec squared = hn::Add(half_square, half_square);
  const DoubleVec one = hn::Set(tag, 1.0);

  const DoubleVec slope = hn::Sub(one, half_square);  // of the sine, enough for x_lo
  sine = hn::MulAdd(hn::Mul(x, squared), polynomial(kSine, squared), hn::Mul(x_lo, slope));
  sine = hn::Add(x, sine);

  const DoubleVec leading_lo = hn::Sub(hn::Sub(one, slope), half_square);
  const DoubleVec correction = hn::NegMulAdd(x, x_lo, hn::Sub(leading_lo, half_square_lo));
  cosine = hn::MulAdd(hn::Mul(squared, squared), polynomial(kCosine, squared), correction);
  cosine = hn::Add(slope, cosine);
  put_back(quarters, cosine, sine);
}

// At most 2 ulps of each result above 2^-10, and 2^-62 below.
HWY_INLINE void cos_sin_precise(DoubleVec position, DoubleVec position_lo, DoubleVec turns,
                                DoubleVec turns_lo, DoubleVec& cosine, DoubleVec& sine) {
  DoubleVec high, rest, quarters;
  reduce(position, position_lo, turns, turns_lo, high, rest, quarters);
  cos_sin_precise_of_reduced(high, rest, quarters, cosine, sine);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
