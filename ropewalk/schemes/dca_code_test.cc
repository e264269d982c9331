#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

// c = 384, l = 64, so chunks of 320.
TEST(DcaCode, IsAsShipped) {
  EXPECT_EQ(distance_under("dca_code", 319, 0), 319);
  EXPECT_EQ(distance_under("dca_code", 320, 319), 1);
  EXPECT_EQ(distance_under("dca_code", 383, 0), 383);
  EXPECT_EQ(distance_under("dca_code", 400, 0), 384);
  EXPECT_EQ(distance_under("dca_code", 10000, 0), 384);
  EXPECT_EQ(distance_under("dca_code,original=4096", 100000, 0), 3072);
}

TEST(DcaCode, AmplitudeGrowsPastTheTrainedLength) {
  const auto amplitude = [](const std::string& text, int64_t n) {
    return under(text).spectrum.at(n).amplitude;
  };
  EXPECT_EQ(amplitude("dca_code", 1), 1);
  EXPECT_EQ(amplitude("dca_code", 512), 1);
  EXPECT_DOUBLE_EQ(amplitude("dca_code", 4096), 1 + 0.05 * std::log(8.0));
  EXPECT_DOUBLE_EQ(amplitude("dca_code,coefficient=0.1", 1024), 1 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(amplitude("yarn,factor=8+dca_code", 1024),
                   (1 + 0.1 * std::log(8.0)) * (1 + 0.05 * std::log(2.0)));
}

TEST(DcaCode, SeesTheLengthOfItsSpectrum) {
  using Length = SpectrumRule::Length;
  EXPECT_EQ(under("dca_code").spectrum.length(), Length::kSequence);
  EXPECT_EQ(under("dynamic_ntk+dca_code").spectrum.length(), Length::kBlock);
}

}  // namespace
}  // namespace ropewalk
