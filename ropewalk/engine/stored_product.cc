#include "ropewalk/engine/stored_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ropewalk/base/half.h"

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/engine/stored_product.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;
using Ints = hn::Rebind<int32_t, Tag>;

// Two halves, as scale and minimum of a block lie.
struct Pair {
  float first;
  float second;
};

HWY_INLINE Pair halves_at(const uint8_t* source) {
#if HWY_TARGET == HWY_SCALAR
  std::array<F16, 2> halves;
  std::memcpy(halves.data(), source, sizeof(halves));
  return {to_float(halves[0]), to_float(halves[1])};
#else
  const hn::CappedTag<float, 4> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  uint32_t bits;
  std::memcpy(&bits, source, sizeof(bits));
  const hn::Repartition<uint32_t, decltype(narrow)> whole;
  const auto both = hn::PromoteTo(wide, hn::BitCast(narrow, hn::Set(whole, bits)));
  return {hn::GetLane(both), hn::ExtractLane(both, 1)};
#endif
}

HWY_INLINE float half_at(const uint8_t* source) {
#if HWY_TARGET == HWY_SCALAR
  F16 half;
  std::memcpy(&half.bits, source, sizeof(half.bits));
  return to_float(half);
#else
  const hn::CappedTag<float, 4> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  uint16_t bits;
  std::memcpy(&bits, source, sizeof(bits));
  const hn::RebindToUnsigned<decltype(narrow)> whole;
  return hn::GetLane(hn::PromoteTo(wide, hn::BitCast(narrow, hn::Set(whole, bits))));
#endif
}

// As many bytes as a vector has lanes, as whole numbers.
HWY_INLINE hn::Vec<Ints> bytes_at(const uint8_t* from) {
  return hn::PromoteTo(Ints(), hn::LoadU(hn::Rebind<uint8_t, Tag>(), from));
}
HWY_INLINE hn::Vec<Ints> signed_bytes_at(const uint8_t* from) {
  const hn::Rebind<int8_t, Tag> tag;
  return hn::PromoteTo(Ints(), hn::LoadU(tag, reinterpret_cast<const int8_t*>(from)));
}

HWY_INLINE Vec product(hn::Vec<Ints> quants, const float* x, Vec sum) {
  return hn::MulAdd(hn::ConvertTo(Tag(), quants), hn::LoadU(Tag(), x), sum);
}

// Whole numbers of 0 ... 15. One look-up where a vector has room for all of them.
HWY_INLINE Vec floats_of_nibbles(hn::Vec<Ints> nibbles) {
  if constexpr (hn::MaxLanes(Tag()) == 16) {
    return hn::TableLookupLanes(hn::Iota(Tag(), 0), hn::IndicesFromVec(Tag(), nibbles));
  } else {
    return hn::ConvertTo(Tag(), nibbles);
  }
}

constexpr size_t kNibbles = 16;  // bytes of a 4-bit block of 32: low halves first, then high halves

// Sum of the block's whole numbers times x, by lane.
HWY_INLINE Vec nibble_sum(const uint8_t* quants, const float* x) {
  const size_t lanes = hn::Lanes(Tag());
  const auto low = hn::Set(Ints(), 15);
  Vec sum = hn::Zero(Tag());
  for (size_t k = 0; k < kNibbles; k += lanes) {
    const auto both = bytes_at(quants + k);
    const Vec first = floats_of_nibbles(hn::And(both, low));
    const Vec second = floats_of_nibbles(hn::ShiftRight<4>(both));
    sum = hn::MulAdd(first, hn::LoadU(Tag(), x + k), sum);
    sum = hn::MulAdd(second, hn::LoadU(Tag(), x + kNibbles + k), sum);
  }
  return sum;
}

// Each Block adds one block's product to `sum`, lane by lane, and what does not go by lane to `rest`.

struct Q4_0 {
  static constexpr int64_t kElements = 32, kBytes = 18;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float* sums, Vec& sum,
                             float& rest) {
    const float scale = half_at(block);
    sum = hn::MulAdd(hn::Set(Tag(), scale), nibble_sum(block + 2, x), sum);
    rest -= 8 * scale * sums[0];
  }
};

struct Q4_1 {
  static constexpr int64_t kElements = 32, kBytes = 20;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float* sums, Vec& sum,
                             float& rest) {
    const Pair scales = halves_at(block);
    sum = hn::MulAdd(hn::Set(Tag(), scales.first), nibble_sum(block + 4, x), sum);
    rest += scales.second * sums[0];
  }
};

struct Q8_0 {
  static constexpr int64_t kElements = 32, kBytes = 34;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float*, Vec& sum, float&) {
    Vec own = hn::Zero(Tag());
    for (size_t k = 0; k < 32; k += hn::Lanes(Tag()))
      own = product(signed_bytes_at(block + 2 + k), x + k, own);
    sum = hn::MulAdd(hn::Set(Tag(), half_at(block)), own, sum);
  }
};

// Eight groups of 32 with a scale and a minimum of 6 bits each.
struct Q4_K {
  static constexpr int64_t kElements = 256, kBytes = 144;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float* sums, Vec& sum,
                             float& rest) {
    const auto [scale, minimum] = halves_at(block);
    const uint8_t* const packed = block + 4;
    const uint8_t* const quants = block + 16;
    const auto low = hn::Set(Ints(), 15);
    for (size_t g = 0; g < 8; g += 2) {
      Vec first = hn::Zero(Tag()), second = hn::Zero(Tag());
      const float* const at = x + 32 * g;
      for (size_t k = 0; k < 32; k += hn::Lanes(Tag())) {
        const auto both = bytes_at(quants + 16 * g + k);
        first = hn::MulAdd(floats_of_nibbles(hn::And(both, low)), hn::LoadU(Tag(), at + k), first);
        second = hn::MulAdd(floats_of_nibbles(hn::ShiftRight<4>(both)),
                            hn::LoadU(Tag(), at + 32 + k), second);
      }
      const auto own = six_bits(packed, g), next = six_bits(packed, g + 1);
      sum = hn::MulAdd(hn::Set(Tag(), scale * own[0]), first, sum);
      sum = hn::MulAdd(hn::Set(Tag(), scale * next[0]), second, sum);
      rest -= minimum * (own[1] * sums[g] + next[1] * sums[g + 1]);
    }
  }
  // Scale and minimum of group g. The last four have their upper two bits with the first four.
  static HWY_INLINE std::array<float, 2> six_bits(const uint8_t* packed, size_t g) {
    if (g < 4) {
      return {static_cast<float>(packed[g] & 63), static_cast<float>(packed[g + 4] & 63)};
    }
    const int scale = (packed[g + 4] & 15) | ((packed[g - 4] >> 6) << 4);
    const int minimum = (packed[g + 4] >> 4) | ((packed[g] >> 6) << 4);
    return {static_cast<float>(scale), static_cast<float>(minimum)};
  }
};

// Four low bits and two high ones apart; sixteen signed scales.
struct Q6_K {
  static constexpr int64_t kElements = 256, kBytes = 210;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float*, Vec& sum, float&) {
    const float scale = half_at(block + 208);
    for (size_t n = 0; n < 2; ++n) {
      const uint8_t* const low = block + 64 * n;
      const uint8_t* const high = block + 128 + 32 * n;
      const auto* const scales = reinterpret_cast<const int8_t*>(block + 192 + 8 * n);
      const float* const at = x + 128 * n;
      // Sixteen elements share a scale; a vector has no more lanes than that.
      for (size_t k = 0; k < 32; k += hn::Lanes(Tag())) {
        const auto a = bytes_at(low + k), b = bytes_at(low + 32 + k), h = bytes_at(high + k);
        const int8_t* const own = scales + k / 16;
        sum = part<0>(a, h, scale * static_cast<float>(own[0]), at + k, sum);
        sum = part<2>(b, h, scale * static_cast<float>(own[2]), at + 32 + k, sum);
        sum =
            part<4>(hn::ShiftRight<4>(a), h, scale * static_cast<float>(own[4]), at + 64 + k, sum);
        sum =
            part<6>(hn::ShiftRight<4>(b), h, scale * static_cast<float>(own[6]), at + 96 + k, sum);
      }
    }
  }
  template <int kShift>
  static HWY_INLINE Vec part(hn::Vec<Ints> low, hn::Vec<Ints> high, float scale, const float* x,
                             Vec sum) {
    const auto upper = hn::And(hn::ShiftRight<kShift>(high), hn::Set(Ints(), 3));
    const auto six = hn::Or(hn::And(low, hn::Set(Ints(), 15)), hn::ShiftLeft<4>(upper));
    const auto quants = hn::ConvertTo(Tag(), hn::Sub(six, hn::Set(Ints(), 32)));
    return hn::MulAdd(hn::Mul(quants, hn::Set(Tag(), scale)), hn::LoadU(Tag(), x), sum);
  }
};

struct StoredBf16 {
  static constexpr int64_t kElements = 32, kBytes = 64;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float*, Vec& sum, float&) {
    const hn::Rebind<uint16_t, Tag> narrow;
    const hn::Rebind<uint32_t, Tag> wide;
    for (size_t k = 0; k < 32; k += hn::Lanes(Tag())) {
      const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(block) + k);
      const auto value = hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
      sum = hn::MulAdd(value, hn::LoadU(Tag(), x + k), sum);
    }
  }
};

struct StoredF16 {
  static constexpr int64_t kElements = 32, kBytes = 64;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float*, Vec& sum, float&) {
    const hn::Rebind<hwy::float16_t, Tag> narrow;
    for (size_t k = 0; k < 32; k += hn::Lanes(Tag())) {
      const auto* const from = reinterpret_cast<const hwy::float16_t*>(block) + k;
      sum = hn::MulAdd(hn::PromoteTo(Tag(), hn::LoadU(narrow, from)), hn::LoadU(Tag(), x + k), sum);
    }
  }
};

struct StoredF32 {
  static constexpr int64_t kElements = 32, kBytes = 128;
  static HWY_INLINE void add(const uint8_t* block, const float* x, const float*, Vec& sum, float&) {
    for (size_t k = 0; k < 32; k += hn::Lanes(Tag())) {
      const auto value = hn::LoadU(Tag(), reinterpret_cast<const float*>(block) + k);
      sum = hn::MulAdd(value, hn::LoadU(Tag(), x + k), sum);
    }
  }
};

// Four rows side by side, so that their sums do not wait for one another.
template <class Block>
HWY_INLINE void multiply_rows(const uint8_t* rows, int64_t count, int64_t inputs, const float* x,
                              const float* sums, float* y) {
  const int64_t blocks = inputs / Block::kElements, bytes = blocks * Block::kBytes;
  const auto row = [&](auto together, int64_t r) HWY_ATTR {
    constexpr int kRows = decltype(together)::value;
    Vec sum[kRows];
    float rest[kRows];
    for (int k = 0; k < kRows; ++k) {
      sum[k] = hn::Zero(Tag());
      rest[k] = 0;
    }
    const uint8_t* const from = rows + r * bytes;
    for (int64_t b = 0; b < blocks; ++b) {
      const float* const at = x + b * Block::kElements;
      const float* const own = sums + b * (Block::kElements / 32);
      for (int k = 0; k < kRows; ++k) {
        const uint8_t* const block = from + k * bytes + b * Block::kBytes;
        hwy::Prefetch(block + 4096);
        Block::add(block, at, own, sum[k], rest[k]);
      }
    }
    for (int k = 0; k < kRows; ++k) y[r + k] = hn::GetLane(hn::SumOfLanes(Tag(), sum[k])) + rest[k];
  };
  int64_t r = 0;
  for (; r + 4 <= count; r += 4) row(std::integral_constant<int, 4>(), r);
  for (; r < count; ++r) row(std::integral_constant<int, 1>(), r);
}

// Whether the type has a loop of its own.
bool multiply_blocks(TensorType type, const uint8_t* rows, int64_t count, int64_t inputs,
                     const float* x, const float* sums, float* y) {
  switch (type) {
    case TensorType::kQ4_0:
      multiply_rows<Q4_0>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kQ4_1:
      multiply_rows<Q4_1>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kQ8_0:
      multiply_rows<Q8_0>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kQ4_K:
      multiply_rows<Q4_K>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kQ6_K:
      multiply_rows<Q6_K>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kBF16:
      multiply_rows<StoredBf16>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kF16:
      multiply_rows<StoredF16>(rows, count, inputs, x, sums, y);
      return true;
    case TensorType::kF32:
      multiply_rows<StoredF32>(rows, count, inputs, x, sums, y);
      return true;
    default:
      return false;
  }
}

float dot(const float* a, const float* b, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  Vec sum = hn::Zero(Tag());
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes)
    sum = hn::MulAdd(hn::LoadU(Tag(), a + k), hn::LoadU(Tag(), b + k), sum);
  float rest = 0;
  for (; k < count; ++k) rest += a[k] * b[k];
  return hn::GetLane(hn::SumOfLanes(Tag(), sum)) + rest;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(multiply_blocks);
HWY_EXPORT(dot);

void multiply_stored(const StoredRows& rows, int64_t count, const StoredActivations& x, float* y) {
  const auto* const from = reinterpret_cast<const uint8_t*>(rows.data);
  if (!x.sums.empty() && HWY_DYNAMIC_DISPATCH(multiply_blocks)(rows.type, from, count, rows.inputs,
                                                               x.values.data(), x.sums.data(), y)) {
    return;
  }
  std::vector<float> row(static_cast<size_t>(rows.inputs));
  const auto bytes = static_cast<size_t>(rows.row_bytes());
  for (int64_t r = 0; r < count; ++r) {
    dequantize(rows.type, {rows.data + r * rows.row_bytes(), bytes}, row);
    y[r] = HWY_DYNAMIC_DISPATCH(dot)(row.data(), x.values.data(), rows.inputs);
  }
}

void sum_by_blocks(std::span<const float> values, std::span<float> sums) {
  for (size_t b = 0; b < sums.size(); ++b) {
    float sum = 0;
    for (size_t k = 0; k < 32; ++k) sum += values[32 * b + k];
    sums[b] = sum;
  }
}

}  // namespace ropewalk
#endif  // HWY_ONCE
