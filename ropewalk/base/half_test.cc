#include "ropewalk/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ropewalk {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Value of a binary16 by its definition.
double value_of(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

bool is_special(uint16_t bits) { return ((bits >> 10) & 31) == 31; }

TEST(F16Test, EveryValueReadsByItsDefinitionAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const F16 half{static_cast<uint16_t>(bits)};
    if (is_special(half.bits)) continue;
    EXPECT_EQ(to_float(half), value_of(half.bits)) << bits;
    EXPECT_EQ(to_f16(to_float(half)).bits, bits);
  }
}

TEST(F16Test, RoundsToNearestEven) {
  // Halfway between neighbours, and one float to each side of it.
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto halfway =
        static_cast<float>((value_of(bits) + value_of(static_cast<uint16_t>(bits + 1))) / 2);
    EXPECT_EQ(to_f16(halfway).bits, bits + bits % 2) << bits;
    EXPECT_EQ(to_f16(std::nextafter(halfway, 0.0f)).bits, bits) << bits;
    EXPECT_EQ(to_f16(std::nextafter(halfway, kInfinity)).bits, bits + 1) << bits;
    EXPECT_EQ(to_f16(-halfway).bits, 0x8000 | (bits + bits % 2)) << bits;
  }
}

TEST(F16Test, EdgesOfTheRange) {
  EXPECT_EQ(to_f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_f16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_f16(kInfinity).bits, 0x7c00);
  EXPECT_EQ(to_f16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_f16(1e-30f).bits, 0);
  EXPECT_EQ(to_float(F16{0x7c00}), kInfinity);
  EXPECT_EQ(to_float(F16{0xfc00}), -kInfinity);
}

TEST(F16Test, NanStaysNan) {
  EXPECT_TRUE(std::isnan(to_float(to_f16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(to_float(to_f16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(to_float(F16{0x7c01})));
}

TEST(Bf16Test, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 value{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(value))) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(to_float(value)))));
    } else {
      EXPECT_EQ(to_bf16(to_float(value)).bits, bits);
    }
  }
}

TEST(Bf16Test, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1 + 0x1p-8f).bits, 0x3f80);  // halfway, to even
  EXPECT_EQ(to_bf16(std::nextafter(1 + 0x1p-8f, 2.0f)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(1 + 3 * 0x1p-8f).bits, 0x3f82);
  EXPECT_EQ(to_bf16(-1 - 3 * 0x1p-8f).bits, 0xbf82);
  EXPECT_EQ(to_bf16(257.0f).bits, to_bf16(256.0f).bits);  // why positions are never bf16
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace ropewalk
