#include "ropewalk/math/distance_bias.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(KerpleTest, Logarithmic) {
  const Kerple kerple{.r1 = 0.5, .r2 = 0.25};
  EXPECT_EQ(kerple.bias(0), 0);
  for (const int64_t d : {1, 5, 100, 100000}) {
    EXPECT_NEAR(kerple.bias(d) / (-0.5 * std::log1p(0.25 * static_cast<double>(d))), 1, 1e-15);
  }
}

TEST(KerpleTest, Power) {
  const Kerple kerple{.kernel = Kerple::Kernel::kPower, .r1 = 0.125, .r2 = 1.5};
  EXPECT_EQ(kerple.bias(0), 0);
  EXPECT_EQ(kerple.bias(4), -1);
  EXPECT_EQ(kerple.bias(16), -8);
}

TEST(KerpleTest, BiasOfHeads) {
  const ScoreBias bias = kerple_bias({{.r1 = 1, .r2 = 1}, {.r1 = 2, .r2 = 1}});
  EXPECT_EQ(bias.at(1, 9, 4), 2 * bias.at(0, 9, 4));
  EXPECT_EQ(bias.at(0, 4, 9), bias.at(0, 9, 4));
  EXPECT_THROW(kerple_bias({{.r1 = 0}}), Error);
  EXPECT_THROW(kerple_bias({{.r2 = -1}}), Error);
  EXPECT_THROW(kerple_bias({{.kernel = Kerple::Kernel::kPower, .r2 = 2.5}}), Error);
}

TEST(SandwichTest, IsTheInnerProductOfSinusoids) {
  const Sandwich sandwich{.d_bar = 16};
  EXPECT_EQ(sandwich.inner_product(0), 8);
  for (const int64_t d : {1, 7, 300}) {
    double sum = 0;
    for (int k = 1; k <= 8; ++k) sum += std::cos(static_cast<double>(d) * std::pow(1e4, -k / 8.0));
    EXPECT_NEAR(sandwich.inner_product(d), sum, 1e-13);
  }
}

TEST(SandwichTest, BiasFallsFromZero) {
  const ScoreBias bias = sandwich_bias({.d_bar = 64}, 4);
  EXPECT_EQ(bias.at(0, 7, 7), 0);
  EXPECT_LT(bias.at(0, 9, 7), 0);
  EXPECT_NEAR(bias.at(3, 9, 7), 4 * bias.at(0, 9, 7), 1e-12);
  EXPECT_THROW(sandwich_bias({.d_bar = 63}, 4), Error);
}

TEST(FireTest, InputRunsFromZeroToOne) {
  const Fire fire{.c = 0.1, .threshold = 512};
  EXPECT_EQ(fire.input(10, 10), 0);
  EXPECT_EQ(fire.input(512, 0), 1);
  EXPECT_EQ(fire.input(100000, 0), 1);
  EXPECT_NEAR(fire.input(100, 40), std::log1p(6) / std::log1p(51.2), 1e-15) << "below L";
  EXPECT_NEAR(fire.input(1000, 40), std::log1p(96) / std::log1p(100), 1e-15) << "above L";
}

TEST(FireTest, BiasIsTheLearnedFunction) {
  const ScoreBias bias = fire_bias({.c = 1, .threshold = 2}, [](int64_t head, double input) {
    return static_cast<double>(head + 1) * input;
  });
  EXPECT_EQ(bias.at(1, 5, 0), 2);
  EXPECT_THROW(fire_bias({.c = 0.0}, [](int64_t, double x) { return x; }), Error);
  EXPECT_THROW(fire_bias({.threshold = 0.0}, [](int64_t, double x) { return x; }), Error);
}

}  // namespace
}  // namespace ropewalk
