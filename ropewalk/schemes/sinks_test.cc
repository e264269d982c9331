#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

TEST(Sinks, StandRightBeforeTheWindow) {
  const Visibility visibility = under("sinks,count=2,size=5").visibility;
  EXPECT_TRUE(visibility.sees(100, 1));
  EXPECT_FALSE(visibility.sees(100, 2));
  EXPECT_FALSE(visibility.sees(100, 95));
  EXPECT_TRUE(visibility.sees(100, 96));
  EXPECT_EQ(visibility.standing(100, 1), 6);
  EXPECT_EQ(visibility.standing(100, 96), 100);
  EXPECT_EQ(visibility.standing(5, 0), 5);
}

TEST(Sinks, NeedBothNumbers) {
  EXPECT_THROW(under("sinks,count=2"), Error);
  EXPECT_THROW(under("sinks,count=-1,size=5"), Error);
}

}  // namespace
}  // namespace ropewalk
