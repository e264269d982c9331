#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(Curve, RunsStraightBetweenItsPoints) {
  const std::string text = "curve,points=0:0:10:10:30:15";
  EXPECT_EQ(distance_under(text, 7), 7);
  EXPECT_EQ(distance_under(text, 20), 12.5);
  EXPECT_EQ(distance_under(text, 50), 20);
}

TEST(Curve, RefusesPointsThatAreNoCurve) {
  for (const char* points : {"0:0", "1:0:2:1", "0:0:5", "0:0:5:1:5:2", "0:0:5:1:4:2", "0:0:1.5:1",
                             "0:0:1:5000", "0:0:-1:1", "0:1e300:1:1e300"}) {
    EXPECT_THROW(under(std::string("curve,points=") + points), Error) << points;
  }
}

}  // namespace
}  // namespace ropewalk
