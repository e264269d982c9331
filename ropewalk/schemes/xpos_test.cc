#include "ropewalk/math/xpos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<double> decay_under(const std::string& scheme) {
  return under(scheme).spectrum.at(1).decay;
}

// zeta = (2 pair + 0.4 * 8) / (1.4 * 8): 2/7, 13/28, 9/14, 23/28.
TEST(Xpos, DecaysByHand) {
  EXPECT_THAT(decay_under("xpos"), ElementsAre(DoubleNear(std::log(2.0 / 7) / 512, 1e-18),
                                               DoubleNear(std::log(13.0 / 28) / 512, 1e-18),
                                               DoubleNear(std::log(9.0 / 14) / 512, 1e-18),
                                               DoubleNear(std::log(23.0 / 28) / 512, 1e-18)));
  // gamma 1: zeta = (pair + 4) / 8.
  EXPECT_THAT(
      decay_under("xpos,scale_base=2,gamma=1"),
      ElementsAre(DoubleNear(std::log(0.5) / 2, 1e-16), DoubleNear(std::log(0.625) / 2, 1e-16),
                  DoubleNear(std::log(0.75) / 2, 1e-16), DoubleNear(std::log(0.875) / 2, 1e-16)));
}

TEST(Xpos, TurnsAsPlainRope) {
  EXPECT_EQ(inv_freq_under("xpos,scale_base=64"), inv_freq_under("rope"));
  EXPECT_TRUE(decay_under("rope").empty());
  EXPECT_TRUE(apply_scheme("linear,factor=2", under("xpos")).spectrum.at(1).decay.empty());
}

// The factors that implementations put on queries and keys, whatever their centre.
TEST(Xpos, ScoresCarryTheFactorsOfImplementations) {
  const Rotary rotary = under("xpos,scale_base=16");
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (const int64_t centre : {0, 25}) {
    const Xpos xpos{.rotary_dim = 8, .scale_base = 16.0, .centre = centre};
    for (const auto& [i, j] : {std::pair{0, 0}, {7, 3}, {50, 0}}) {
      const std::vector<double> query = xpos.query_scale(i), key = xpos.key_scale(j);
      for (int64_t pair = 0; pair < 4; ++pair) {
        const PairAngle angle = pair_angle(rotary, spectrum, spectrum, pair, i, j);
        const double wanted = query[static_cast<size_t>(pair)] * key[static_cast<size_t>(pair)];
        EXPECT_NEAR(std::exp(angle.log_gain) / wanted, 1, 1e-14) << i << " " << j;
      }
    }
  }
}

// The distance is the one that the pair turns by.
TEST(Xpos, DecaysByTheDistanceOfTheMap) {
  const Rotary capped = under("xpos+cap,window=10");
  const Spectrum spectrum = capped.spectrum.at(1);
  const double decay = spectrum.decay[1];
  EXPECT_EQ(pair_angle(capped, spectrum, spectrum, 1, 9, 0).log_gain, 9 * decay);
  EXPECT_EQ(pair_angle(capped, spectrum, spectrum, 1, 500, 0).log_gain, 10 * decay);
}

TEST(Xpos, RefusesWhatDoesNotDecay) {
  EXPECT_THROW(under("xpos,scale_base=0"), Error);
  EXPECT_THROW(under("xpos,scale_base=-512"), Error);
  EXPECT_THROW(under("xpos,gamma=0"), Error);
  EXPECT_THROW(under("xpos,gamma=nan"), Error);
}

}  // namespace
}  // namespace ropewalk
