#include "ropewalk/math/double_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::decimal_of;
using exact_values::double_double_of;
using exact_values::relative_error;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

nlohmann::json fixture(const char* table) {
  static const nlohmann::json all = exact_values::read_fixture("math/double_double.json");
  return all.at(table);
}

// The expected values carry half a unit of 2^-106 of their own.
double units(DoubleDouble got, DoubleDouble exact) {
  return relative_error(got, exact) * 0x1p106 - 0.5;
}

TEST(DoubleDoubleTest, ArithmeticStaysInItsBounds) {
  for (const auto& row : fixture("arithmetic")) {
    const DoubleDouble a = double_double_of(row["a"]);
    const DoubleDouble b = double_double_of(row["b"]);
    const DoubleDouble sum_error = abs((a + b) - decimal_of(row["sum"]));
    EXPECT_LE(sum_error, 3.5 * 0x1p-106 * (abs(a) + abs(b))) << row;
    EXPECT_LE(units(a * b, decimal_of(row["product"])), 5) << row;
    EXPECT_LE(units(a / b, decimal_of(row["quotient"])), 10) << row;
    EXPECT_LE(units(sqrt(abs(a)), decimal_of(row["sqrt_of_size"])), 8) << row;
  }
}

TEST(DoubleDoubleTest, ResultsAreNormalised) {
  for (const auto& row : fixture("arithmetic")) {
    const DoubleDouble a = double_double_of(row["a"]);
    const DoubleDouble b = double_double_of(row["b"]);
    for (const DoubleDouble x : {a + b, a - b, a * b, a / b, sqrt(abs(a)), log(abs(a))}) {
      EXPECT_EQ(x.hi + x.lo, x.hi) << row;
    }
  }
}

TEST(DoubleDoubleTest, IntegersAreExact) {
  for (const int64_t value :
       {int64_t{0}, int64_t{1}, int64_t{-1}, (int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1,
        (int64_t{1} << 62) + 1, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(to_decimal(DoubleDouble(value), 25),
              to_decimal(from_decimal(std::to_string(value)), 25));
  }
  EXPECT_EQ(DoubleDouble(std::numeric_limits<int64_t>::max()), DoubleDouble(0x1p63, -1.0));
}

TEST(DoubleDoubleTest, QuotientsThatAreDoublesAreExact) {
  EXPECT_EQ(DoubleDouble(48) / 96, DoubleDouble(0.5));
  EXPECT_EQ(DoubleDouble(-2 * 36) / 96, DoubleDouble(-0.75));
  EXPECT_EQ(DoubleDouble(6) / 3, DoubleDouble(2));
}

TEST(DoubleDoubleTest, OverflowIsInfinityAndNotNan) {
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ((DoubleDouble(largest) + largest).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(largest) * 2.0).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(1.0) / 0.0).hi, kInfinity);
  EXPECT_EQ((DoubleDouble(kInfinity) + 1.0).hi, kInfinity);
  EXPECT_EQ(DoubleDouble(1.0) / kInfinity, 0.0);
}

TEST(DoubleDoubleTest, FloatIsRoundedOnce) {
  const double halfway = 1 + 0x1p-24;  // between 1 and the float after it
  EXPECT_EQ(static_cast<float>(DoubleDouble(halfway)), 1.0f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(halfway, 0x1p-100)), 1.0f + 0x1p-23f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(halfway, -0x1p-100)), 1.0f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(-halfway, -0x1p-100)), -1.0f - 0x1p-23f);
  const double next_halfway = 1 + 3 * 0x1p-24;
  EXPECT_EQ(static_cast<float>(DoubleDouble(next_halfway, -0x1p-100)), 1.0f + 0x1p-23f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(next_halfway)), 1.0f + 0x1p-22f);
  // A neighbour of a halfway case must not be moved onto it.
  EXPECT_EQ(static_cast<float>(DoubleDouble(std::nextafter(halfway, 0.0), 0x1p-100)), 1.0f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(0.0)), 0.0f);
  EXPECT_EQ(static_cast<float>(DoubleDouble(1e300)), std::numeric_limits<float>::infinity());
}

TEST(DoubleDoubleTest, Ordering) {
  const DoubleDouble above(1.0, 0x1p-80);
  const DoubleDouble below(1.0, -0x1p-80);
  EXPECT_LT(below, DoubleDouble(1.0));
  EXPECT_GT(above, DoubleDouble(1.0));
  EXPECT_EQ(min(above, below), below);
  EXPECT_EQ(max(above, below), above);
  EXPECT_EQ(clamp(above, 0.0, 1.0), DoubleDouble(1.0));
  EXPECT_EQ(abs(-above), above);
  EXPECT_FALSE(DoubleDouble(NAN) < above);
  EXPECT_FALSE(DoubleDouble(NAN) > above);
}

TEST(DoubleDoubleTest, WholeParts) {
  const DoubleDouble below_three(3.0, -0x1p-80);
  EXPECT_EQ(floor(below_three), 2.0);
  EXPECT_EQ(ceil(below_three), 3.0);
  EXPECT_EQ(round(below_three), 3.0);
  EXPECT_EQ(ceil(DoubleDouble(3.0, 0x1p-80)), 4.0);
  EXPECT_EQ(floor(DoubleDouble(-2.5)), -3.0);
  EXPECT_EQ(round(DoubleDouble(2.5)), 2.0);
  EXPECT_EQ(round(DoubleDouble(3.5)), 4.0);
  EXPECT_EQ(round(DoubleDouble(2.5, 0x1p-80)), 3.0);
  EXPECT_EQ(round(DoubleDouble(3.5, -0x1p-80)), 3.0);
  EXPECT_EQ(round(DoubleDouble(0x1p60, 0.75)), DoubleDouble(0x1p60, 1.0));
  EXPECT_EQ(floor(DoubleDouble(0x1p60, -0.25)), DoubleDouble(0x1p60, -1.0));
}

TEST(DoubleDoubleTest, Logarithm) {
  for (const auto& row : fixture("log")) {
    EXPECT_LE(relative_error(log(double_double_of(row["x"])), decimal_of(row["log"])), 0x1p-104)
        << row;
  }
  EXPECT_EQ(log(1.0), 0.0);
  EXPECT_TRUE(std::isnan(log(0.0).hi));
  EXPECT_TRUE(std::isnan(log(-1.0).hi));
  EXPECT_EQ(log(kInfinity).hi, kInfinity);
}

TEST(DoubleDoubleTest, Exponential) {
  for (const auto& row : fixture("exp")) {
    EXPECT_LE(relative_error(exp(double_double_of(row["x"])), decimal_of(row["exp"])), 0x1p-102)
        << row;
  }
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(1000.0).hi, kInfinity);
  EXPECT_EQ(exp(kInfinity).hi, kInfinity);
  EXPECT_EQ(exp(-1000.0), 0.0);
  EXPECT_EQ(exp(-kInfinity), 0.0);
  EXPECT_NEAR(exp(-740.0).hi, std::exp(-740.0), 0x1p-1074);
  EXPECT_TRUE(std::isnan(exp(NAN).hi));
}

TEST(DoubleDoubleTest, Power) {
  for (const auto& row : fixture("pow")) {
    const DoubleDouble got = pow(double_double_of(row["base"]), double_double_of(row["exponent"]));
    EXPECT_LE(relative_error(got, decimal_of(row["pow"])), 0x1p-101) << row;
  }
  const DoubleDouble tenth = DoubleDouble(1) / 10;
  EXPECT_EQ(pow(tenth, 0.0), 1.0);
  EXPECT_EQ(pow(tenth, -0.0), 1.0);
  EXPECT_EQ(pow(1.0, tenth), 1.0);
  EXPECT_EQ(pow(tenth, 1.0), tenth);
  EXPECT_TRUE(std::isnan(pow(-2.0, 3.0).hi));
}

TEST(DoubleDoubleTest, SquareRoot) {
  EXPECT_EQ(sqrt(0.0), 0.0);
  EXPECT_EQ(sqrt(49.0), 7.0);
  EXPECT_EQ(sqrt(kInfinity).hi, kInfinity);
  EXPECT_TRUE(std::isnan(sqrt(-1.0).hi));
}

TEST(DoubleDoubleTest, Constants) {
  EXPECT_EQ(kPi, from_decimal("3.14159265358979323846264338327950288419716939937510"));
  EXPECT_EQ(kTwoPi, kPi * 2.0);
  EXPECT_EQ(kLn2, from_decimal("0.693147180559945309417232121458176568075500134360255254"));
}

TEST(DecimalTest, ReadsTheNearestValue) {
  for (const auto& row : fixture("numerals")) {
    EXPECT_EQ(decimal_of(row["text"]), double_double_of(row["value"])) << row;
  }
  EXPECT_EQ(from_decimal("+.5"), 0.5);
  EXPECT_EQ(from_decimal("5."), 5.0);
  EXPECT_EQ(from_decimal("1E3"), 1000.0);
  EXPECT_EQ(from_decimal("0.000e99999999999999999999"), 0.0);
  EXPECT_EQ(from_decimal("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(from_decimal("4.9406564584124654e-324").hi, 0x1p-1074);
  EXPECT_EQ(from_decimal("1" + std::string(200, '0') + "e-200"), 1.0);
  EXPECT_EQ(from_decimal("0." + std::string(200, '0') + "1e201"), 1.0);
}

TEST(DecimalTest, RefusesWhatIsNoNumeral) {
  for (const char* const text : {"", "-", ".", "e5", "1e", "1e+", " 1", "1 ", "1.2.3", "0x10",
                                 "inf", "nan", "1e400", "1,5", "--1", "1e99999999999999999999"}) {
    EXPECT_THROW(from_decimal(text), Error) << '"' << text << '"';
  }
}

TEST(DecimalTest, WritesRoundedDigits) {
  EXPECT_EQ(to_decimal(DoubleDouble(1) / 10, 8), "1.0000000e-1");
  EXPECT_EQ(to_decimal(0.0, 3), "0.00e0");
  EXPECT_EQ(to_decimal(1.0, 1), "1e0");
  EXPECT_EQ(to_decimal(9.99, 2), "1.0e1");
  EXPECT_EQ(to_decimal(-1234.5, 5), "-1.2345e3");
  EXPECT_EQ(to_decimal(kPi, 31), "3.141592653589793238462643383280e0");
  EXPECT_EQ(to_decimal(from_decimal("1e22"), 31), "1.000000000000000000000000000000e22");
  EXPECT_EQ(to_decimal(std::numeric_limits<double>::max(), 17), "1.7976931348623157e308");
  EXPECT_EQ(to_decimal(0x1p-1074, 5), "4.9407e-324");
  EXPECT_EQ(to_decimal(-kInfinity, 5), "-inf");
  EXPECT_EQ(to_decimal(NAN, 5), "nan");
}

TEST(DecimalTest, SeventeenDigitsReadBackTheSameDouble) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int draw = 0; draw < 2000; ++draw) {
    const double x = std::pow(10.0, exponent(random));
    EXPECT_EQ(from_decimal(to_decimal(x, 17)).hi, x);
    EXPECT_EQ(std::stod(to_decimal(x, 17)), x);
  }
}

}  // namespace
}  // namespace ropewalk
