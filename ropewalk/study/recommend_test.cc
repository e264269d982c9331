#include "ropewalk/study/recommend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 100;  // inside and beyond L, of each window
const StudyScope kScope = {
    .trained_length = 100, .target_length = 400, .long_documents = 4, .windows = 4, .held_out = 1};

std::vector<Tally> tallies_of(const std::vector<double>& means) {
  std::vector<Tally> tallies;
  for (const double mean : means) tallies.push_back({.sum = mean * kTokens, .count = kTokens});
  return tallies;
}

// A finalist with these mean losses and gains by window.
struct Made {
  std::string scheme;
  std::vector<double> beyond;
  std::vector<double> inside = {3, 3, 3, 3};
  std::vector<double> copy = {0.5, 0.5, 0.5, 0.5};  // beyond L; twice that inside
  bool portable = false;
  SchemeChange change = {.parts = 1, .angle = 1};
  std::vector<double> held_out = {};  // losses beyond L; empty: one window, of its mean
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Candidate candidate(const Made& made) {
  Candidate result{.scheme = made.scheme, .change = made.change, .finalist = true};
  result.portability.portable = made.portable;
  std::vector<double> copy_inside = made.copy;
  for (double& gain : copy_inside) gain *= 2;
  result.tallies = {.inside = tallies_of(made.inside),
                    .beyond = tallies_of(made.beyond),
                    .copy_inside = tallies_of(copy_inside),
                    .copy_beyond = tallies_of(made.copy)};
  fill_estimates(tallies_of(std::vector<double>(made.inside.size(), 3)), result);
  const std::vector<double> beyond =
      made.held_out.empty() ? std::vector<double>{mean(made.beyond)} : made.held_out;
  const auto everywhere = [&](double value) {
    return tallies_of(std::vector<double>(beyond.size(), value));
  };
  result.held_out.tallies = {.inside = everywhere(mean(made.inside)),
                             .beyond = tallies_of(beyond),
                             .copy_inside = everywhere(mean(copy_inside)),
                             .copy_beyond = everywhere(mean(made.copy))};
  fill_held_out(everywhere(3), result.held_out);
  return result;
}

Candidate declared(const std::vector<double>& beyond) {
  return candidate({.scheme = "declared", .beyond = beyond, .portable = true, .change = {}});
}

std::string chosen(const std::vector<Candidate>& candidates, Role role) {
  const auto index = recommend(candidates, kScope).index_of(role);
  return index ? candidates[*index].scheme : "none";
}

bool says(const std::vector<std::string>& sentences, const std::string& part) {
  return std::ranges::any_of(
      sentences, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(Recommend, EachRoleHasItsBest) {
  const std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}),
      candidate(
          {.scheme = "cap,window=50", .beyond = {3, 3, 3, 3}, .inside = {3.2, 3.2, 3.2, 3.2}}),
      candidate({.scheme = "yarn,factor=4",
                 .beyond = {4, 4, 4, 4},
                 .inside = {3.1, 3.1, 3.1, 3.1},
                 .portable = true}),
      candidate({.scheme = "dynamic_ntk", .beyond = {5, 5, 5, 5}})};
  EXPECT_EQ(chosen(candidates, Role::kBestOverall), "cap,window=50");
  EXPECT_EQ(chosen(candidates, Role::kBestPortable), "yarn,factor=4");
  EXPECT_EQ(chosen(candidates, Role::kBestUntouched), "dynamic_ntk");
  const Recommendation told = recommend(candidates, kScope);
  const Winner& overall = *told.find(Role::kBestOverall);
  EXPECT_EQ(candidates[*overall.next].scheme, "yarn,factor=4");
  EXPECT_DOUBLE_EQ(overall.lead->mean, 1);
  ASSERT_TRUE(overall.lead->interval);
  EXPECT_GT(overall.lead->interval->low, 0);
  EXPECT_TRUE(overall.doubts.empty()) << overall.doubts.front();
  EXPECT_FALSE(says(told.why, "Doubt: "));
}

TEST(Recommend, ACostWhoseIntervalLeavesZeroOrReachesFarTouchesShortText) {
  const auto untouched = [](const std::vector<double>& inside) {
    return chosen({declared({6, 6, 6, 6}),
                   candidate({.scheme = "rope", .beyond = {4, 4, 4, 4}, .inside = inside})},
                  Role::kBestUntouched) == "rope";
  };
  EXPECT_TRUE(untouched({3, 3, 3, 3}));
  EXPECT_TRUE(untouched({3.001, 2.999, 3.001, 2.999}));
  EXPECT_TRUE(untouched({3.001, 3.001, 3.001, 3.002})) << "surely above 0, and next to nothing";
  EXPECT_FALSE(untouched({3.006, 3.006, 3.006, 3.007})) << "surely above the bound";
  EXPECT_FALSE(untouched({2.9, 2.9, 2.9, 2.9})) << "surely below 0";
  EXPECT_FALSE(untouched({3.1, 2.9, 3.1, 2.9})) << "may reach far above the bound";
}

TEST(Recommend, OfThoseThatAreNotToldApartTheSmallestChangeIsTaken) {
  const Made lowest = {
      .scheme = "yarn,factor=8", .beyond = {4, 4.01, 3.99, 4}, .change = {.parts = 1, .angle = 2}};
  Made smaller = {
      .scheme = "yarn,factor=4", .beyond = {4.01, 4, 4, 4}, .change = {.parts = 1, .angle = 1.5}};
  const auto overall = [&] {
    return recommend({declared({6, 6, 6, 6}), candidate(lowest), candidate(smaller)}, kScope);
  };
  const Recommendation told = overall();
  EXPECT_EQ(told.index_of(Role::kBestOverall), 2u);
  EXPECT_EQ(told.find(Role::kBestOverall)->lowest, 1u);
  EXPECT_TRUE(says(told.find(Role::kBestOverall)->doubts, "intervals overlap"));

  smaller.change.parts = 2;
  EXPECT_EQ(overall().index_of(Role::kBestOverall), 1u) << "more parts are the larger change";
  smaller.change.parts = 1;
  smaller.beyond = {4.01, 4.02, 4.005, 4.01};
  EXPECT_EQ(overall().index_of(Role::kBestOverall), 1u) << "worse on every window";
  smaller.beyond = {4.5, 3.95, 4, 4};
  EXPECT_EQ(overall().index_of(Role::kBestOverall), 1u) << "worse than is worth saying, by mean";
}

TEST(Recommend, CopyGainCountsByItsShare) {
  const std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}),
      candidate({.scheme = "rope", .beyond = {4, 4, 4, 4}, .copy = {2, 2, 2, 2}}),
      candidate(
          {.scheme = "linear,factor=2", .beyond = {3.95, 3.95, 3.95, 3.95}, .copy = {0, 0, 0, 0}})};
  EXPECT_EQ(chosen(candidates, Role::kBestOverall), "rope");
  EXPECT_NEAR(rank_difference(candidates[2].tallies, candidates[1].tallies)->mean, 0.1 - 0.05,
              1e-12);
}

TEST(Recommend, DoubtsAreNamed) {
  StudyScope scope = kScope;
  scope.long_documents = 2;
  scope.left_out = "1 of 8 windows";
  std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}), candidate({.scheme = "cap,window=50", .beyond = {3, 3, 3, 3}}),
      candidate({.scheme = "cap,window=20", .beyond = {4, 4, 4, 4}})};
  Recommendation told = recommend(candidates, scope);
  EXPECT_TRUE(says(told.why, "only 2 documents"));
  EXPECT_TRUE(says(told.why, "1 of 8 windows"));
  EXPECT_TRUE(says(told.find(Role::kBestOverall)->doubts, "largest window of 2 tried"));
  EXPECT_TRUE(says(told.why, "largest window of 2 tried"));
  EXPECT_FALSE(says(told.why, "does not use context"));

  candidates.push_back(candidate({.scheme = "cap,window=80", .beyond = {5, 5, 5, 5}}));
  EXPECT_FALSE(says(recommend(candidates, scope).why, "tried"));
  for (Candidate& one : candidates)
    one.copy_inside = Estimate{.mean = 0.01, .count = 9, .interval = Interval{-0.1, 0.1}};
  EXPECT_TRUE(says(recommend(candidates, scope).why, "does not use context"));
  for (Candidate& one : candidates) one.copy_inside.reset();
  EXPECT_TRUE(says(recommend(candidates, scope).why, "no copy test"));
}

TEST(Recommend, AWinnerThatTheSearchFoundIsDoubtedUnlessItIsConfirmed) {
  std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}), candidate({.scheme = "cap,window=50", .beyond = {3, 3, 3, 3}}),
      candidate({.scheme = "cap,window=20", .beyond = {4, 4, 4, 4}})};
  for (const size_t found : {1, 2}) candidates[found].found_by = "around cap,window=40";
  const auto doubted = [&] {
    return says(recommend(candidates, kScope).find(Role::kBestOverall)->doubts,
                "a search over 2 settings");
  };
  EXPECT_FALSE(doubted());
  const Recommendation told = recommend(candidates, kScope);
  EXPECT_EQ(told.find(Role::kBestOverall)->grid, 0u);
  EXPECT_DOUBLE_EQ(told.find(Role::kBestOverall)->held_out_grid_lead->mean, 3);
  EXPECT_TRUE(says(told.why, "the grid's best, declared, is 3.000 nats per token behind"));
  for (Candidate& one : candidates) one.held_out = {};
  EXPECT_TRUE(doubted());
  candidates[1].found_by.clear();
  EXPECT_FALSE(doubted()) << "the winner is of the grid";
}

TEST(Recommend, FiguresOfWindowsThatChoseNothingAreStated) {
  const std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}),
      candidate({.scheme = "rope", .beyond = {4, 4, 4, 4}, .held_out = {4.3, 4.5}}),
      candidate({.scheme = "logn", .beyond = {5, 5, 5, 5}, .held_out = {4.9, 5.1}})};
  const Recommendation told = recommend(candidates, kScope);
  const Winner& overall = *told.find(Role::kBestOverall);
  EXPECT_DOUBLE_EQ(overall.lead->mean, 1);
  EXPECT_NEAR(overall.held_out_lead->mean, 0.6, 1e-12);
  EXPECT_TRUE(overall.held_out_lead->interval);
  EXPECT_TRUE(says(told.why, "On 2 windows that took no part in choosing: rope loses 4.400 ("));
  EXPECT_TRUE(says(told.why, "; the next best, logn, is 0.600 ("));
  EXPECT_FALSE(says(told.why, "Doubt: "));
}

TEST(Recommend, AnOrderThatIsTheOtherWayRoundWhereNothingChoseIsDoubted) {
  const Made lowest = {.scheme = "yarn,factor=8",
                       .beyond = {4, 4.01, 3.99, 4},
                       .change = {.parts = 1, .angle = 2},
                       .held_out = {4.1}};
  Made other = {.scheme = "yarn,factor=4", .beyond = {4.5, 4.5, 4.5, 4.5}, .held_out = {4.09}};
  const auto doubted = [&] {
    const Recommendation told =
        recommend({declared({6, 6, 6, 6}), candidate(lowest), candidate(other)}, kScope);
    return says(told.find(Role::kBestOverall)->doubts, "held out say otherwise: there yarn,factor");
  };
  EXPECT_TRUE(doubted());
  other.held_out = {4.11};
  EXPECT_FALSE(doubted());
  other.beyond = {4.01, 4, 4, 4};  // taken before the lowest, for it changes less
  EXPECT_FALSE(doubted()) << "it was behind, by next to nothing, from the beginning";
  other.held_out = {4.13};
  EXPECT_TRUE(doubted());
}

TEST(Recommend, ShortTextThatIsTouchedWhereNothingChoseIsDoubted) {
  std::vector<Candidate> candidates = {declared({6, 6, 6, 6}),
                                       candidate({.scheme = "rope", .beyond = {4, 4, 4, 4}})};
  const auto doubted = [&] {
    return says(recommend(candidates, kScope).why, "there rope costs 0.020");
  };
  EXPECT_FALSE(doubted());
  candidates[1].held_out.inside_cost = Estimate{.mean = 0.02};
  EXPECT_TRUE(doubted());
  candidates[1].held_out.inside_cost->interval = Interval{-0.01, 0.05};
  EXPECT_FALSE(doubted());
}

TEST(Recommend, WhereNothingIsHeldOutThatIsSaid) {
  std::vector<Candidate> candidates = {declared({6, 6, 6, 6}),
                                       candidate({.scheme = "rope", .beyond = {4, 4, 4, 4}})};
  StudyScope scope = kScope;
  for (Candidate& one : candidates) one.held_out = {};
  EXPECT_TRUE(says(recommend(candidates, scope).why, "rope has not run the windows that are held"));
  scope.held_out = 0;
  EXPECT_TRUE(says(recommend(candidates, scope).why, "Doubt: no window is held out"));
  scope.windows = 1;
  EXPECT_TRUE(says(recommend(candidates, scope).why, "Doubt: there is one window, so that none"));
}

TEST(Recommend, ASearchOverWindowsOfFewLossesIsDoubted) {
  std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}), candidate({.scheme = "cap,window=50", .beyond = {3, 3, 3, 3}})};
  const auto doubted = [&] { return says(recommend(candidates, kScope).why, "too few to drop"); };
  EXPECT_FALSE(doubted()) << "nothing was searched for";
  candidates[1].found_by = "around cap,window=40";
  ASSERT_EQ(candidates[1].tallies.beyond.front().count, kTokens);
  EXPECT_TRUE(doubted());
  candidates[1].tallies.beyond.front().count = 256;
  EXPECT_FALSE(doubted());
}

TEST(Recommend, ShapesOfLossByPositionAreTold) {
  std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}), candidate({.scheme = "cap,window=50", .beyond = {3, 3, 3, 3}}),
      candidate({.scheme = "base,factor=2", .beyond = {7, 7, 7, 7}}),
      candidate({.scheme = "rope", .beyond = {6, 6, 6, 6}})};
  candidates[0].shape = {.past = PastLength::kCliff, .from = 100, .rise = 3};
  candidates[1].shape = {.past = PastLength::kRises, .from = 300, .rise = 1, .over_declared = -3};
  candidates[2].shape = {.past = PastLength::kRises, .from = 200, .rise = 4, .over_declared = 1};
  candidates[3].shape = {.past = PastLength::kAsDeclared, .from = 100, .rise = 3};
  const std::vector<std::string> why = recommend(candidates, kScope).why;
  EXPECT_TRUE(says(why, "it fails there, with a cliff at that length."));
  EXPECT_TRUE(
      says(why, "past the trained length: base,factor=2 (applied, and the model fails: +4.00"));
  EXPECT_TRUE(says(why, "Doubt: nothing shows that these were applied: rope (not applied"));
  EXPECT_FALSE(says(why, "cap,window=50 (")) << "it beats declared";
  candidates[3].change.angle = 0;
  EXPECT_FALSE(says(recommend(candidates, kScope).why, "rope (")) << "it changes nothing";
}

TEST(Recommend, WhatFailsOrTruncatesOrFellOutIsNeverTaken) {
  std::vector<Candidate> candidates = {
      declared({6, 6, 6, 6}), candidate({.scheme = "rope", .beyond = {NAN, NAN, NAN, NAN}}),
      candidate({.scheme = "window,size=50", .beyond = {2, 2, 2, 2}}),
      candidate({.scheme = "yarn,factor=4", .beyond = {3, 3, 3, 3}})};
  candidates[2].truncates = true;
  candidates[3].finalist = false;
  EXPECT_EQ(chosen(candidates, Role::kBestOverall), "declared");
  EXPECT_EQ(recommend({}, kScope).winners.size(), 0u);
}

TEST(Recommend, OneWindowGivesNoIntervalAndSaysSo) {
  const std::vector<Candidate> candidates = {
      candidate({.scheme = "declared", .beyond = {6}, .inside = {3}, .copy = {1}}),
      candidate({.scheme = "rope", .beyond = {4}, .inside = {3}, .copy = {1}})};
  const Recommendation told = recommend(candidates, kScope);
  EXPECT_EQ(told.index_of(Role::kBestUntouched), 1u);
  EXPECT_TRUE(says(told.find(Role::kBestOverall)->doubts, "on one window"));
}

// ---- public reports, by the codes of the collection that this project was given

TEST(Reports, EXT_01_CandidatesAreToldWithTheirMeasures) {
  const Recommendation advice = recommend(
      {candidate({.scheme = "yarn,factor=4", .beyond = {3, 3.1, 3, 3.1}}), declared({8, 8, 8, 8})},
      kScope);
  EXPECT_TRUE(says(advice.why, "yarn,factor=4, 3.050 ("));
  EXPECT_TRUE(says(advice.why, "0.500 ("));
}

TEST(Reports, EXT_02_WithinTheTrainedLengthNothingIsChanged) {
  const StudyScope within = {.trained_length = 131072, .target_length = 120000};
  EXPECT_TRUE(says(recommend({declared({3, 3, 3, 3})}, within).why,
                   "120000 tokens lie within the trained length of 131072: nothing needs"));
}

TEST(Reports, EXT_06_WhatShortTextPaysIsSaid) {
  const Recommendation advice = recommend({candidate({.scheme = "yarn,factor=4",
                                                      .beyond = {3, 3.1, 3, 3.1},
                                                      .inside = {3.15, 3.15, 3.15, 3.15}}),
                                           declared({8, 8, 8, 8})},
                                          kScope);
  EXPECT_TRUE(says(advice.why, "at +0.150 nats per token on the first"));
}

// A window reads well and finds nothing.
TEST(Reports, PPL_10_ALowLossAloneIsNotRecommended) {
  Candidate window = candidate(
      {.scheme = "window,size=128", .beyond = {2.9, 2.9, 2.9, 2.9}, .copy = {0, 0, 0, 0}});
  window.truncates = true;
  const std::vector<Candidate> candidates = {
      window, candidate({.scheme = "cap,window=128", .beyond = {3, 3, 3, 3}}),
      declared({8, 8, 8, 8})};
  EXPECT_EQ(chosen(candidates, Role::kBestOverall), "cap,window=128");
  EXPECT_TRUE(says(recommend(candidates, kScope).why, "but it forgets"));
}

}  // namespace
}  // namespace ropewalk
