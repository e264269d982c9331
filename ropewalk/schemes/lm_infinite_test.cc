#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

TEST(LmInfinite, SeesTheFirstAndTheNearest) {
  const Rotary rotary = under("lm_infinite,sinks=3,window=10");
  EXPECT_TRUE(rotary.visibility.sees(100, 2));
  EXPECT_FALSE(rotary.visibility.sees(100, 3));
  EXPECT_FALSE(rotary.visibility.sees(100, 90));
  EXPECT_TRUE(rotary.visibility.sees(100, 91));
}

// The first tokens stand where they are, but never farther than the ceiling.
TEST(LmInfinite, HasACeiling) {
  const auto seen = [](const std::string& text, int64_t i, int64_t j) {
    const Rotary rotary = under(text);
    return static_cast<double>(rotary.distance.at(rotary.visibility.standing(i, j), j));
  };
  EXPECT_EQ(seen("lm_infinite,sinks=3,window=10", 9, 0), 9);
  EXPECT_EQ(seen("lm_infinite,sinks=3,window=10", 11, 2), 9);
  for (const int64_t j : {0, 1, 2}) EXPECT_EQ(seen("lm_infinite,sinks=3,window=10", 100, j), 10);
  EXPECT_EQ(seen("lm_infinite,sinks=3,window=10,ceiling=50", 40, 2), 38);
  EXPECT_EQ(seen("lm_infinite,sinks=3,window=10,ceiling=50", 100, 2), 50);
  EXPECT_EQ(seen("lm_infinite,sinks=3,window=10,ceiling=5", 100, 93), 5);
}

TEST(LmInfinite, GoesWithNoMap) {
  EXPECT_THROW(under("cap,window=20+lm_infinite,sinks=3,window=10"), Error);
  EXPECT_NO_THROW(under("linear,factor=2+lm_infinite,sinks=3,window=10+logn"));
}

}  // namespace
}  // namespace ropewalk
