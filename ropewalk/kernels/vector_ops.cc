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
#include "ropewalk/kernels/elements-inl.h"
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

// One lane is always whole, which the compiler does not see.
HWY_INLINE bool is_whole(size_t count) {
  return hn::MaxLanes(FloatTag()) == 1 || count == hn::Lanes(FloatTag());
}

HWY_INLINE hn::Vec<FloatTag> load_part(const float* from, size_t count) {
  const FloatTag tag;
  if (is_whole(count)) return hn::LoadU(tag, from);
  HWY_ALIGN float lanes[hn::MaxLanes(FloatTag())] = {};
  std::copy(from, from + count, lanes);
  return hn::Load(tag, lanes);
}

HWY_INLINE void store_part(hn::Vec<FloatTag> value, float* to, size_t count) {
  const FloatTag tag;
  if (is_whole(count)) return hn::StoreU(value, tag, to);
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

// x sigmoid(slope). Below -87 exp(-slope) would overflow; what is left of the product, 1e-36, stands
// for 0.
HWY_INLINE hn::Vec<FloatTag> times_sigmoid(hn::Vec<FloatTag> x, hn::Vec<FloatTag> slope) {
  const FloatTag tag;
  const auto bounded = hn::Max(slope, hn::Set(tag, -87.0f));
  const auto one = hn::Set(tag, 1.0f);
  return hn::Mul(x, hn::Div(one, hn::Add(one, hn::Exp(tag, hn::Neg(bounded)))));
}

HWY_INLINE hn::Vec<FloatTag> silu(hn::Vec<FloatTag> x) {
  const auto bounded = hn::Max(x, hn::Set(FloatTag(), -87.0f));
  return times_sigmoid(bounded, bounded);
}

// 0.5 (1 + tanh(u)) is sigmoid(2 u).
HWY_INLINE hn::Vec<FloatTag> gelu_tanh(hn::Vec<FloatTag> x) {
  const FloatTag tag;
  const auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(tag, 0.044715f), hn::Set(tag, 1.0f));
  const auto twice = hn::Mul(hn::Mul(x, cubic), hn::Set(tag, 1.5957691216057308f));
  return times_sigmoid(x, twice);
}

void swiglu_row(float* gate, const float* up, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Mul(silu(load_part(gate + x, count)), load_part(up + x, count)), gate + x,
               count);
  });
}

void silu_row(float* values, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(silu(load_part(values + x, count)), values + x, count);
  });
}

void gelu_tanh_row(float* values, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(gelu_tanh(load_part(values + x, count)), values + x, count);
  });
}

void relu_row(float* values, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Max(load_part(values + x, count), hn::Zero(FloatTag())), values + x, count);
  });
}

void multiply_row(const float* in, float* out, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Mul(load_part(out + x, count), load_part(in + x, count)), out + x, count);
  });
}

void add_scaled_row(float factor, const float* in, float* out, size_t size) {
  const auto each = hn::Set(FloatTag(), factor);
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::MulAdd(load_part(in + x, count), each, load_part(out + x, count)), out + x,
               count);
  });
}

void add_row(const float* in, float* out, size_t size) {
  for_vectors(size, [&](size_t x, size_t count) {
    store_part(hn::Add(load_part(out + x, count), load_part(in + x, count)), out + x, count);
  });
}

void round_row(const float* in, Bf16* out, size_t size) {
  const FloatTag tag;
  for_vectors(size, [&](size_t x, size_t count) {
    if (count == hn::Lanes(tag)) {
      store_elements(hn::LoadU(tag, in + x), tag, out + x);
    } else {
      for (size_t k = 0; k < count; ++k) out[x + k] = to_bf16(in[x + k]);
    }
  });
}

// Sum of exp(in - shift), shift no less than any of them; NaN where one is NaN.
float sum_of_exp(const float* in, float shift, size_t size) {
  const FloatTag tag;
  const auto offset = hn::Set(tag, shift);
  auto sum = hn::Zero(tag);
  for_vectors(size, [&](size_t x, size_t count) {
    const auto power = hn::Sub(load_part(in + x, count), offset);
    const auto bounded = hn::Max(power, hn::Set(tag, -100.0f));
    const auto seen =
        hn::IfThenElseZero(hn::Gt(bounded, hn::Set(tag, -87.0f)), hn::Exp(tag, bounded));
    const auto term = hn::IfThenElse(hn::IsNaN(power), power, seen);
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
HWY_EXPORT(silu_row);
HWY_EXPORT(gelu_tanh_row);
HWY_EXPORT(relu_row);
HWY_EXPORT(multiply_row);
HWY_EXPORT(add_scaled_row);
HWY_EXPORT(add_row);
HWY_EXPORT(round_row);
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

void layer_norm(std::span<const float> in, std::span<const float> weight,
                std::span<const float> bias, double epsilon, std::span<float> out) {
  assert(in.size() == out.size());
  const auto count = static_cast<double>(in.size());
  double sum = 0;
  for (const float value : in) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const float value : in) squares += (value - mean) * (value - mean);
  const double scale = 1.0 / std::sqrt(squares / count + epsilon);
  for (size_t x = 0; x < in.size(); ++x) {
    const double normed = (in[x] - mean) * scale;
    const double weighed = weight.empty() ? normed : normed * weight[x];
    out[x] = static_cast<float>(bias.empty() ? weighed : weighed + bias[x]);
  }
}

void activate(Activation activation, std::span<float> values) {
  switch (activation) {
    case Activation::kSilu:
      return HWY_DYNAMIC_DISPATCH(silu_row)(values.data(), values.size());
    case Activation::kGelu:
      for (float& value : values) value *= 0.5f * std::erfc(-value * 0.70710678118654752f);
      return;
    case Activation::kGeluTanh:
      return HWY_DYNAMIC_DISPATCH(gelu_tanh_row)(values.data(), values.size());
    case Activation::kRelu:
      return HWY_DYNAMIC_DISPATCH(relu_row)(values.data(), values.size());
    case Activation::kReluSquared:
      HWY_DYNAMIC_DISPATCH(relu_row)(values.data(), values.size());
      return HWY_DYNAMIC_DISPATCH(multiply_row)(values.data(), values.data(), values.size());
  }
}

void activate_gated(Activation activation, std::span<float> gate, std::span<const float> up) {
  assert(gate.size() == up.size());
  if (activation == Activation::kSilu) return swiglu(gate, up);
  activate(activation, gate);
  HWY_DYNAMIC_DISPATCH(multiply_row)(up.data(), gate.data(), gate.size());
}

void scale(float factor, std::span<float> out) {
  for (float& value : out) value *= factor;
}

void add_scaled(float factor, std::span<const float> in, std::span<float> out) {
  assert(in.size() == out.size());
  HWY_DYNAMIC_DISPATCH(add_scaled_row)(factor, in.data(), out.data(), in.size());
}

void add(std::span<const float> in, std::span<float> out) {
  assert(in.size() == out.size());
  HWY_DYNAMIC_DISPATCH(add_row)(in.data(), out.data(), in.size());
}

void round_to_bf16(std::span<const float> in, std::span<Bf16> out) {
  assert(in.size() <= out.size());
  HWY_DYNAMIC_DISPATCH(round_row)(in.data(), out.data(), in.size());
}

void SumOfExp::add(std::span<const float> values) {
  constexpr size_t kRun = 256;  // summed in float; runs are summed in double
  const float largest =
      std::max(largest_, HWY_DYNAMIC_DISPATCH(largest_of)(values.data(), values.size()));
  sum_ *= std::exp(static_cast<double>(largest_) - static_cast<double>(largest));
  largest_ = largest;
  for (size_t first = 0; first < values.size(); first += kRun) {
    const auto run = values.subspan(first, std::min(kRun, values.size() - first));
    sum_ += HWY_DYNAMIC_DISPATCH(sum_of_exp)(run.data(), largest_, run.size());
  }
}

double SumOfExp::log() const { return largest_ + std::log(sum_); }

double log_sum_exp(std::span<const float> values) {
  SumOfExp sum;
  sum.add(values);
  return sum.log();
}

}  // namespace ropewalk
#endif  // HWY_ONCE
