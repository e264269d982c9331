#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

// The wavelengths are 6.3, 63, 628.3 and 6283 tokens.
TEST(FopeClip, ZeroesFrequenciesOfAWavelengthBeyondTheTrainedLength) {
  EXPECT_THAT(inv_freq_under("fope_clip"), ElementsAre(1, DoubleNear(0.1, 1e-16), 0, 0));
  EXPECT_THAT(inv_freq_under("fope_clip,original=629"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.01, 1e-17), 0));
  EXPECT_THAT(inv_freq_under("fope_clip,original=6"), ElementsAre(0, 0, 0, 0));
}

TEST(FopeClip, NeedsALength) {
  const Rotary untold =
      plain_rotary({.base = 10000.0, .frequency_dim = 8}, {PairOrder::kHalf, 8, 8});
  EXPECT_THROW(apply_scheme("fope_clip", untold), Error);
}

}  // namespace
}  // namespace ropewalk
