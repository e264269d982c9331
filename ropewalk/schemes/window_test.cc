#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

TEST(Window, SeesTheLastTokens) {
  const Visibility visibility = under("window,size=4").visibility;
  EXPECT_TRUE(visibility.sees(10, 7));
  EXPECT_FALSE(visibility.sees(10, 6));
  EXPECT_FALSE(visibility.sees(10, 0));
}

TEST(Window, RefusesToSeeNothing) { EXPECT_THROW(under("window,size=0"), Error); }

}  // namespace
}  // namespace ropewalk
