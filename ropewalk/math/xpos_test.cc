#include "ropewalk/math/xpos.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(XposTest, Zeta) {
  const auto zeta = Xpos{.rotary_dim = 8}.zeta();
  ASSERT_EQ(zeta.size(), 4u);
  for (int pair = 0; pair < 4; ++pair) {
    EXPECT_NEAR(static_cast<double>(zeta[pair]), (2 * pair + 3.2) / 11.2, 3e-16);
    EXPECT_LT(zeta[pair], 1);
  }
}

TEST(XposTest, KeysShrinkAsQueriesGrow) {
  const Xpos xpos{.rotary_dim = 8, .scale_base = 512};
  const auto query = xpos.query_scale(512);
  const auto key = xpos.key_scale(512);
  for (int pair = 0; pair < 4; ++pair) {
    EXPECT_NEAR(query[pair], (2 * pair + 3.2) / 11.2, 1e-15);
    EXPECT_NEAR(query[pair] * key[pair], 1, 1e-15);
  }
}

TEST(XposTest, ScoreScaleIsThatOfTheDistanceWhateverTheCentre) {
  for (const int64_t centre : {0, 500}) {
    const Xpos xpos{.rotary_dim = 16, .scale_base = 512, .centre = centre};
    for (const int64_t i : {0, 100, 1023}) {
      for (const int64_t j : {0, 77, 1000}) {
        const auto query = xpos.query_scale(i), key = xpos.key_scale(j);
        const auto score = xpos.score_scale(i - j);
        for (size_t pair = 0; pair < score.size(); ++pair) {
          EXPECT_NEAR(query[pair] * key[pair] / score[pair], 1, 1e-15);
        }
      }
    }
  }
}

TEST(XposTest, CentreHasNoScale) {
  const auto scale = Xpos{.rotary_dim = 16, .centre = 512}.query_scale(512);
  for (const double value : scale) EXPECT_EQ(value, 1);
}

TEST(XposTest, Validation) {
  validate(Xpos{.rotary_dim = 64});
  EXPECT_THROW(validate(Xpos{.rotary_dim = 0}), Error);
  EXPECT_THROW(validate(Xpos{.rotary_dim = 63}), Error);
  EXPECT_THROW(validate(Xpos{.rotary_dim = 64, .scale_base = 0.0}), Error);
  EXPECT_THROW(validate(Xpos{.rotary_dim = 64, .gamma = -1.0}), Error);
}

}  // namespace
}  // namespace ropewalk
