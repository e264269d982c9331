#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(Cap, DistanceSaturatesAtTheWindow) {
  EXPECT_EQ(distance_under("cap,window=128", 127), 127);
  EXPECT_EQ(distance_under("cap,window=128", 128), 128);
  EXPECT_EQ(distance_under("cap,window=128", 4000), 128);
  EXPECT_EQ(distance_under("cap,window=128", 4000, 3990), 10);
}

TEST(Cap, MovesOnlyThePairsItNames) {
  const PairRange pairs = under("cap,window=128,pairs=2:3").distance.pairs();
  EXPECT_FALSE(pairs.holds(1));
  EXPECT_TRUE(pairs.holds(2));
  EXPECT_TRUE(pairs.holds(3));
  EXPECT_THROW(under("cap,window=128,pairs=2:4"), Error);
}

TEST(Cap, RefusesAWindowThatIsNoLength) {
  for (const char* window :
       {"0", "-1", "1.5", "9007199254740993", "99999999999999999999", "1e-3"}) {
    EXPECT_THROW(under(std::string("cap,window=") + window), Error) << window;
  }
}

}  // namespace
}  // namespace ropewalk
