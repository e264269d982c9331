#include "ropewalk/study/bands.h"

#include <gmock/gmock.h>

#include <numeric>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

std::vector<Window> windows_of(int64_t length, size_t count) {
  std::vector<Window> windows;
  for (size_t w = 0; w < count; ++w)
    windows.push_back({.ids = some_tokens(static_cast<size_t>(length))});
  return windows;
}

TEST(Bands, SharesOfTheModelSumToOne) {
  const BandsReport report =
      measure_bands(tiny_model(), windows_of(128, 2), {.target_length = 600});
  EXPECT_EQ(report.calibration_tokens, 2 * 127);
  EXPECT_EQ(report.n_queries, 2 * 64);
  EXPECT_TRUE(report.has_places);
  for (size_t band = 0; band < 3; ++band) {
    const ModelGroup& group = report.bands[band];
    EXPECT_GT(group.attention, 0);
    EXPECT_NEAR(std::accumulate(group.shares.begin(), group.shares.end(), 0.0), 1, 1e-6);
    EXPECT_NEAR(std::accumulate(group.pair_shares.begin(), group.pair_shares.end(), 0.0), 1, 1e-6);
    // Pairs turn by 1, 0.1, 0.01 and 0.001 radians a token: each is a band of its own.
    for (size_t pair = 0; pair < 4; ++pair)
      EXPECT_EQ(group.shares[pair], group.pair_shares[pair]) << band;
    EXPECT_TRUE(group.mean_miss && group.worst_miss);
    EXPECT_LE(group.mean_miss, group.worst_miss);
  }
  EXPECT_EQ(report.bands[0].finished_share, 0);  // nothing turns within 1 token
  EXPECT_EQ(report.bands[1].finished_share, report.bands[1].shares[0]);  // 6.3 tokens a turn
  EXPECT_NEAR(report.bands[2].finished_share, report.bands[2].shares[0] + report.bands[2].shares[1],
              1e-12);
  EXPECT_EQ(report.bands[3].n_scores, 0);
}

TEST(Bands, TheBiasIsThatOfTheWindowsFirstTokens) {
  const std::vector<Window> windows = windows_of(128, 1);
  const BandsReport whole = measure_bands(tiny_model(), windows, {.target_length = 600});
  std::vector<Window> longer = windows_of(400, 1);  // begins as the other does
  const BiasReport alone = measure_bias(tiny_model(), longer, 600);
  EXPECT_EQ(alone.median, whole.bias.median);
  EXPECT_EQ(alone.cap, whole.bias.cap);
  EXPECT_EQ(whole.proposed, proposed_schemes(alone));
}

TEST(Bands, TheVerdictSaysWhatTheNumbersSay) {
  BandsReport report;
  report.bias = {.trained_length = 100, .target_length = 800};
  EXPECT_THAT(bands_verdict(report), testing::ElementsAre(HasSubstr("No layer that rotates")));
  report.bias.heads.resize(4);
  EXPECT_THAT(bands_verdict(report)[0], HasSubstr("up to 800 tokens"));
  report.bias.collapsing = 2;
  report.bias.earliest_collapse = 120;
  report.bias.median_collapse = 300;
  EXPECT_THAT(bands_verdict(report)[0], HasSubstr("the first at 120 tokens"));
  report.declared_loss = Estimate{.mean = 2, .count = 10, .interval = {}};
  report.full_turn_loss = Estimate{.mean = 2.5, .count = 10, .interval = {}};
  EXPECT_THAT(bands_verdict(report).back(), HasSubstr("Fast pairs are needed far away"));
  report.full_turn_loss->mean = 2.001;
  EXPECT_THAT(bands_verdict(report).back(), HasSubstr("not needed far away"));
}

}  // namespace
}  // namespace ropewalk
