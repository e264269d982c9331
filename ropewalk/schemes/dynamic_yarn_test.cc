#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

TEST(DynamicYarn, IsPlainWithinTheTrainedLength) {
  for (int64_t n : {1, 511, 512}) {
    EXPECT_EQ(inv_freq_under("dynamic_yarn", n), inv_freq_under("rope")) << n;
    EXPECT_EQ(under("dynamic_yarn").spectrum.at(n).amplitude, 1) << n;
  }
}

TEST(DynamicYarn, IsYarnOfTheStretchBeyond) {
  for (int64_t n : {513, 1024, 4096}) {
    const std::string yarn = "yarn,factor=" + to_text(static_cast<double>(n) / 512);
    EXPECT_EQ(inv_freq_under("dynamic_yarn", n), inv_freq_under(yarn)) << n;
    EXPECT_EQ(under("dynamic_yarn").spectrum.at(n).amplitude, under(yarn).spectrum.at(n).amplitude);
  }
  EXPECT_EQ(inv_freq_under("dynamic_yarn,original=128,beta_fast=16,beta_slow=2", 512),
            inv_freq_under("yarn,factor=4,original=128,beta_fast=16,beta_slow=2"));
}

TEST(DynamicYarn, GoesByTheWholeSequenceUnlessByBlocks) {
  EXPECT_EQ(under("dynamic_yarn").spectrum.length_for_row(0, 2048), 2048);
  EXPECT_EQ(under("dynamic_yarn,block=64").spectrum.length_for_row(0, 2048), 64);
}

TEST(DynamicYarn, RefusesEndsThatCross) {
  EXPECT_THROW(under("dynamic_yarn,beta_fast=1,beta_slow=2"), Error);
  EXPECT_THROW(under("dynamic_yarn,beta_fast=1e308"), Error);
}

}  // namespace
}  // namespace ropewalk
