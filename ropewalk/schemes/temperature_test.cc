#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

TEST(Temperature, MultipliesEveryRow) {
  const QueryTemperature temperature = under("temperature,factor=1.25").temperature;
  EXPECT_EQ(temperature.at(0), 1.25);
  EXPECT_EQ(temperature.at(100000), 1.25);
}

TEST(Temperature, TakesTheDeclaredOnesPlace) {
  EXPECT_EQ(apply_scheme("temperature,factor=1.25", under("logn")).temperature.at(100000), 1.25);
}

TEST(Temperature, RefusesZero) { EXPECT_THROW(under("temperature,factor=0"), Error); }

}  // namespace
}  // namespace ropewalk
