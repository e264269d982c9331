#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(LogTail, IsLogarithmicPastTheWindow) {
  EXPECT_EQ(distance_under("log_tail,window=128", 127), 127);
  EXPECT_EQ(distance_under("log_tail,window=128", 128), 128);
  EXPECT_NEAR(distance_under("log_tail,window=128", 4096), 128 * (1 + std::log(32.0)), 1e-12);
  EXPECT_TRUE(under("log_tail,window=128").distance.is_curve());
}

TEST(LogTail, MeetsItsBound) {
  const std::string text = "log_tail,window=128,bound=256,at=4096";
  EXPECT_NEAR(distance_under(text, 4096), 256, 1e-12);
  EXPECT_NEAR(distance_under(text, 724), 128 * (1 + std::log(724 / 128.0) / std::log(32.0)), 1e-12);
}

// Chords touch the curve at whole distances spread evenly in its logarithm: 128, 256, ... 4096.
TEST(LogTail, PiecesAreChordsOfTheCurve) {
  const std::string curve = "log_tail,window=128,bound=256,at=4096";
  const std::string pieces = curve + ",pieces=5";
  EXPECT_FALSE(under(pieces).distance.is_curve());
  for (int64_t d : {1, 100, 128, 256, 512, 1024, 2048, 4096}) {
    EXPECT_NEAR(distance_under(pieces, d), distance_under(curve, d), 1e-12) << d;
  }
  EXPECT_NEAR(distance_under(pieces, 192),
              (distance_under(curve, 128) + distance_under(curve, 256)) / 2, 1e-12);
  // Past the last piece its line goes on.
  EXPECT_NEAR(
      distance_under(pieces, 6144),
      distance_under(curve, 4096) + (distance_under(curve, 4096) - distance_under(curve, 2048)),
      1e-12);
}

TEST(LogTail, RefusesHalfABound) {
  EXPECT_THROW(under("log_tail,window=128,bound=256"), Error);
  EXPECT_THROW(under("log_tail,window=128,at=4096"), Error);
  EXPECT_THROW(under("log_tail,window=128,pieces=4"), Error);
  EXPECT_THROW(under("log_tail,window=128,bound=64,at=4096"), Error);
  EXPECT_THROW(under("log_tail,window=128,bound=8192,at=4096"), Error);
  EXPECT_THROW(under("log_tail,window=128,bound=128,at=128"), Error);
  EXPECT_THROW(under("log_tail,window=128,bound=130,at=130,pieces=5"), Error);
}

}  // namespace
}  // namespace ropewalk
