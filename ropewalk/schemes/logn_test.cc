#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::declared;
using small_model::under;

TEST(LogN, GrowsPastTheTrainedLength) {
  const QueryTemperature temperature = under("logn").temperature;
  EXPECT_EQ(temperature.at(0), 1);
  EXPECT_EQ(temperature.at(511), 1);
  EXPECT_NEAR(temperature.at(512 * 512 - 1), 2, 1e-15);
}

TEST(LogN, NeedsATrainedLength) {
  Rotary unknown = declared();
  unknown.source.trained_length = 0;
  EXPECT_THROW(apply_scheme("logn", unknown), Error);
  unknown.source.trained_length = 1;
  EXPECT_THROW(apply_scheme("logn", unknown), Error);
}

}  // namespace
}  // namespace ropewalk
