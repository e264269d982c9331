#include "ropewalk/kernels/vector_ops.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/vector_ops.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;

// Calls body(offset, count) for whole vectors, then once for what is left, count < lanes.
template <typename Body>
HWY_INLINE void for_vectors(size_t size, const Body& body) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t x = 0;
  for (; x + lanes <= size; x += lanes) body(x, lanes);
  if (x < size) body(x, size - x);
}

HWY_INLINE hn::Vec<FloatTag> load_part(const float* from, size_t count) {
  const FloatTag tag;
  if (count == hn::Lanes(tag)) return hn::LoadU(tag, from);
  HWY_ALIGN float lanes[hn::MaxLanes(FloatTag())] = {};
  std::copy(from, from + count, lanes);
  return hn::Load(tag, lanes);
}

HWY_INLINE void store_part(hn::Vec<FloatTag> value, float* to, size_t count) {
  const FloatTag tag;
  if (count == hn::Lanes(tag)) return hn::StoreU(value, tag, to);
  HWY_ALIGN float lanes[hn::MaxLanes(FloatTag())];
  hn::Store(value, tag, lanes);
  std::copy(lanes, lanes + count, to);
}

void scale_by(const float* in, const float* weight, float scale, float* out, size_t size) {
  const auto factor = hn::Set(FloatTag(), scale);
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Mul(hn::Mul(load_part(in + x, count), factor), load_part(weight + x, count)),
               out + x, count);
  });
}

void swiglu_row(float* gate, const float* up, size_t size) {
  const FloatTag tag;
  const auto one = hn::Set(tag, 1.0f);
  for_vectors(size, [&](size_t x, size_t count) {
    const auto value = load_part(gate + x, count);
    // Below -87 exp(-value) would overflow; what is left of the product, 1e-36 * up, stands for 0.
    const auto bounded = hn::Max(value, hn::Set(tag, -87.0f));
    const auto sigmoid = hn::Div(one, hn::Add(one, hn::Exp(tag, hn::Neg(bounded))));
    store_part(hn::Mul(hn::Mul(bounded, sigmoid), load_part(up + x, count)), gate + x, count);
  });
}

void add_row(const float* in, float* out, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Add(load_part(out + x, count), load_part(in + x, count)), out + x, count);
  });
}

// Sum of exp(in - shift), shift the largest of them.
float sum_of_exp(const float* in, float shift, size_t size) {
  const FloatTag tag;
  const auto offset = hn::Set(tag, shift);
  auto sum = hn::Zero(tag);
  for_vectors(size, [&](size_t x, size_t count) {
    const auto bounded = hn::Max(hn::Sub(load_part(in + x, count), offset), hn::Set(tag, -100.0f));
    const auto term =
        hn::IfThenElseZero(hn::Gt(bounded, hn::Set(tag, -87.0f)), hn::Exp(tag, bounded));
    sum = hn::Add(sum, hn::IfThenElse(hn::FirstN(tag, count), term, hn::Zero(tag)));
  });
  return hn::GetLane(hn::SumOfLanes(tag, sum));
}

float largest_of(const float* in, size_t size) {
  const FloatTag tag;
  auto peak = hn::Set(tag, in[0]);
  for_vectors(size, [&](size_t x, size_t count) {
    if (count == hn::Lanes(tag)) {
      peak = hn::Max(peak, hn::LoadU(tag, in + x));
    } else {
      for (size_t k = 0; k < count; ++k) peak = hn::Max(peak, hn::Set(tag, in[x + k]));
    }
  });
  return hn::GetLane(hn::MaxOfLanes(tag, peak));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(scale_by);
HWY_EXPORT(swiglu_row);
HWY_EXPORT(add_row);
HWY_EXPORT(sum_of_exp);
HWY_EXPORT(largest_of);

namespace {

// In double, where squares of floats are exact: no value overflows, and no long sum drifts. Eight
// sums side by side, so that the compiler may use vectors.
double sum_of_squares(std::span<const float> in) {
  constexpr size_t kSums = 8;
  std::array<double, kSums> sums = {};
  size_t x = 0;
  for (; x + kSums <= in.size(); x += kSums) {
    for (size_t k = 0; k < kSums; ++k) {
      const double value = in[x + k];
      sums[k] += value * value;
    }
  }
  double sum = 0;
  for (; x < in.size(); ++x) sum += static_cast<double>(in[x]) * in[x];
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

void rms_norm(std::span<const float> in, std::span<const float> weight, double epsilon,
              std::span<float> out) {
  assert(in.size() == weight.size() && in.size() == out.size());
  const double squares = sum_of_squares(in);
  const auto scale =
      static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(in.size()) + epsilon));
  HWY_DYNAMIC_DISPATCH(scale_by)(in.data(), weight.data(), scale, out.data(), in.size());
}

void swiglu(std::span<float> gate, std::span<const float> up) {
  assert(gate.size() == up.size());
  HWY_DYNAMIC_DISPATCH(swiglu_row)(gate.data(), up.data(), gate.size());
}

void add(std::span<const float> in, std::span<float> out) {
  assert(in.size() == out.size());
  HWY_DYNAMIC_DISPATCH(add_row)(in.data(), out.data(), in.size());
}

double log_sum_exp(std::span<const float> values) {
  constexpr size_t kRun = 256;  // summed in float; runs are summed in double
  const float largest = HWY_DYNAMIC_DISPATCH(largest_of)(values.data(), values.size());
  double sum = 0;
  for (size_t first = 0; first < values.size(); first += kRun) {
    const auto run = values.subspan(first, std::min(kRun, values.size() - first));
    sum += HWY_DYNAMIC_DISPATCH(sum_of_exp)(run.data(), largest, run.size());
  }
  return largest + std::log(sum);
}

}  // namespace ropewalk
#endif  // HWY_ONCE
