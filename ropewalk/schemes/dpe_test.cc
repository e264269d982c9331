#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

double seen(const std::string& text, int64_t i, int64_t j, int64_t pair) {
  return static_cast<double>(under(text).distance.at(i, j, pair));
}

// Self-Extend per band: floor(i / g) + w - floor(w / g) - floor(j / g).
TEST(Dpe, EveryBandHasItsGroup) {
  const std::string text = "dpe,window=10,groups=1:2:4:3";
  for (int64_t pair = 0; pair < 4; ++pair) EXPECT_EQ(seen(text, 109, 100, pair), 9) << pair;
  EXPECT_EQ(seen(text, 111, 100, 0), 11);
  EXPECT_EQ(seen(text, 111, 100, 1), 55 + 10 - 5 - 50);
  EXPECT_EQ(seen(text, 111, 100, 2), 27 + 10 - 2 - 25);
  EXPECT_EQ(seen(text, 111, 100, 3), 37 + 10 - 3 - 33);
}

TEST(Dpe, BandsShareThePairsEvenly) {
  const std::string two = "dpe,window=10,groups=1:5";
  EXPECT_EQ(seen(two, 100, 0, 1), 100);
  EXPECT_EQ(seen(two, 100, 0, 2), 20 + 10 - 2);
  // Three bands of four pairs: 2, 1, 1.
  const std::string three = "dpe,window=10,groups=1:2:5";
  EXPECT_EQ(seen(three, 100, 0, 1), 100);
  EXPECT_EQ(seen(three, 100, 0, 2), 50 + 10 - 5);
  EXPECT_EQ(seen(three, 100, 0, 3), 20 + 10 - 2);
}

TEST(Dpe, OneGroupIsSelfExtend) {
  const DistanceMap one = under("dpe,window=10,groups=4").distance;
  const DistanceMap self_extend = under("self_extend,window=10,group=4").distance;
  for (int64_t i = 0; i < 60; ++i) {
    for (int64_t j = 0; j <= i; ++j) EXPECT_EQ(one.at(i, j), self_extend.at(i, j));
  }
}

TEST(Dpe, RefusesWhatIsNoGroup) {
  EXPECT_THROW(under("dpe,window=10,groups=1.5"), Error);
  EXPECT_THROW(under("dpe,window=10,groups=0:2"), Error);
  EXPECT_THROW(under("dpe,window=10,groups=1:1:1:1:1"), Error);
}

}  // namespace
}  // namespace ropewalk
