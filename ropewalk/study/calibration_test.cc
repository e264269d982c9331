#include "ropewalk/study/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 100;
const StudyScope kScope = {.trained_length = 100, .target_length = 400, .long_documents = 4};

// Of these mean losses and gains beyond L by window.
Candidate candidate(const std::string& scheme, const std::vector<double>& losses,
                    const std::vector<double>& gains = {}) {
  Candidate result{.scheme = scheme};
  const auto add = [](const std::vector<double>& means, std::vector<Tally>& tallies) {
    for (const double mean : means) tallies.push_back({.sum = mean * kTokens, .count = kTokens});
  };
  add(losses, result.tallies.inside);
  add(losses, result.tallies.beyond);
  add(gains, result.tallies.copy_beyond);
  fill_estimates({}, result);
  return result;
}

PublishedOrdering ordering(std::vector<PublishedScheme> schemes) {
  return {.source = "a paper",
          .model = "a model",
          .stretch = 4,
          .measure = "perplexity",
          .schemes = std::move(schemes)};
}

std::vector<Calibration> calibrated(const std::vector<Candidate>& candidates,
                                    const PublishedOrdering& one) {
  return calibrate(candidates, kScope, "model.gguf", {&one, 1});
}

TEST(Calibration, PairsAgreeOverlapOrContradictByTheirIntervals) {
  const std::vector<Candidate> candidates = {
      candidate("yarn,factor=4", {3, 3.1, 3, 3.1}), candidate("ntk,factor=4", {4, 4.1, 4, 4.1}),
      candidate("dca,chunk=70,local=20", {4.2, 3.9, 4.1, 4})};
  const PublishedOrdering one = ordering({{.name = "yarn", .figure = 5},
                                          {.name = "ntk", .figure = 7},
                                          {.name = "dca", .figure = 4},
                                          {.name = "linear", .figure = 9}});
  const std::vector<Calibration> all = calibrated(candidates, one);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].pairs.size(), 3u) << "nothing was measured of linear";
  EXPECT_EQ(all[0].count(PairVerdict::kAgrees), 1u) << "yarn before ntk";
  EXPECT_EQ(all[0].count(PairVerdict::kContradicts), 1u) << "dca before yarn";
  EXPECT_EQ(all[0].count(PairVerdict::kOverlaps), 1u) << "dca before ntk";
  EXPECT_FALSE(all[0].same_model);
  const std::string told = calibration_sentence(all);
  EXPECT_NE(told.find("of other models, which are not expected to be equal"), std::string::npos);
  EXPECT_NE(told.find("of 3 pairs measured here too, 1 agree, 1 overlap, 1 contradict."),
            std::string::npos);
}

TEST(Calibration, OnlyTheWindowsThatBothRanCount) {
  const PublishedOrdering one =
      ordering({{.name = "yarn", .figure = 5}, {.name = "linear", .figure = 7}});
  const auto pair = [&](const std::vector<double>& fallen) {
    return calibrated(
               {candidate("yarn,factor=4", {3, 3.1, 9, 9}), candidate("linear,factor=4", fallen)},
               one)
        .at(0)
        .pairs.at(0);
  };
  EXPECT_EQ(pair({4, 4.1}).verdict, PairVerdict::kAgrees);
  EXPECT_NEAR(pair({4, 4.1}).lead.mean, 1, 1e-12);
  EXPECT_EQ(pair({4}).verdict, PairVerdict::kUntold);
}

TEST(Calibration, AnotherStretchIsNotCompared) {
  const std::vector<Candidate> candidates = {candidate("yarn,factor=4", {3, 3}),
                                             candidate("linear,factor=4", {4, 4})};
  PublishedOrdering one =
      ordering({{.name = "yarn", .figure = 5}, {.name = "linear", .figure = 7}});
  EXPECT_EQ(calibrated(candidates, one).size(), 1u);
  one.stretch = 8;
  EXPECT_TRUE(calibrated(candidates, one).empty());
  EXPECT_EQ(calibration_sentence({}), "");
}

TEST(Calibration, RecallIsHeldToTheCopyGain) {
  PublishedOrdering one = ordering({{.name = "yarn", .figure = 50}, {.name = "ntk", .figure = 70}});
  one.of_recall = one.more_is_better = true;
  const std::vector<Calibration> all = calibrated({candidate("yarn,factor=4", {3, 3}, {0.1, 0.1}),
                                                   candidate("ntk,factor=4", {4, 4}, {0.5, 0.5})},
                                                  one);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pairs[0].better, "ntk,factor=4");
  EXPECT_NEAR(all[0].pairs[0].lead.mean, 0.4, 1e-12);
}

TEST(Calibration, SettingsAreFoundByTheirShareAndRopeByDeclared) {
  Candidate rope = candidate("rope", {6});
  rope.shape = CurveShape{.past = PastLength::kAsDeclared};
  const std::vector<Candidate> candidates = {
      candidate("cap,window=70,pairs=2:3", {2, 2}), candidate("cap,window=50", {3, 3}),
      candidate("cap,window=70", {4, 4}), candidate("declared", {6, 6}), rope};
  const PublishedOrdering one =
      ordering({{.name = "cap", .figure = 2, .parameter = "window", .share = 0.75},
                {.name = "rope", .figure = 9}});
  const ComparedPair pair = calibrated(candidates, one).at(0).pairs.at(0);
  EXPECT_EQ(pair.better, "cap,window=70");
  EXPECT_EQ(pair.worse, "declared");
}

TEST(PublishedOrderings, NameSourcesAndSchemesOfTheRegistry) {
  for (const PublishedOrdering& one : published_orderings()) {
    EXPECT_FALSE(one.source.empty());
    EXPECT_FALSE(one.model.empty());
    EXPECT_GT(one.stretch, 1);
    EXPECT_GE(one.schemes.size(), 2u) << one.source;
    for (const PublishedScheme& scheme : one.schemes) {
      const SchemeInfo* const known = find_scheme(scheme.name);
      ASSERT_NE(known, nullptr) << scheme.name;
      const auto has = std::ranges::find(known->params, scheme.parameter, &ParamInfo::name);
      EXPECT_TRUE(scheme.parameter.empty() || has != known->params.end()) << scheme.parameter;
      EXPECT_GT(scheme.figure, 0);
    }
  }
}

}  // namespace
}  // namespace ropewalk
