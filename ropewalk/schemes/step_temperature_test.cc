#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

TEST(StepTemperature, GrowsAtEveryWholeLength) {
  const QueryTemperature temperature = under("step_temperature,scale=0.1,length=8").temperature;
  for (int64_t i : {0, 1, 7}) EXPECT_EQ(temperature.at(i), 1) << i;
  for (int64_t i : {8, 15}) EXPECT_NEAR(temperature.at(i), 1 + 0.1 * std::log(2), 1e-15) << i;
  EXPECT_NEAR(temperature.at(80), 1 + 0.1 * std::log(11), 1e-15);
}

TEST(StepTemperature, OffsetOneStepsOneTokenEarlier) {
  const QueryTemperature temperature =
      under("step_temperature,scale=0.1,length=8,offset=1").temperature;
  EXPECT_EQ(temperature.at(6), 1);
  EXPECT_NEAR(temperature.at(7), 1 + 0.1 * std::log(2), 1e-15);
}

TEST(StepTemperature, ReplacesADeclaredTemperature) {
  const Rotary declared = under("logn");
  EXPECT_EQ(apply_scheme("step_temperature,scale=0,length=8", declared).temperature.at(5000), 1);
}

TEST(StepTemperature, RefusesAStepOfNoLength) {
  EXPECT_THROW(under("step_temperature,scale=0.1,length=0"), Error);
}

}  // namespace
}  // namespace ropewalk
