// Public reports about choosing a setting (EXT, PPL), by the codes of the collection that this project
// was given: what must hold of a recommendation.
#include <gmock/gmock.h>

#include "ropewalk/study/recommend.h"

namespace ropewalk {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kTrained = 4096;

Estimate of(double mean) {
  return {.mean = mean, .count = 1000, .interval = Interval{mean - 0.01, mean + 0.01}};
}

Candidate finalist(const std::string& scheme, double inside, double beyond, double copy_beyond) {
  return {.scheme = scheme,
          .portability = {.portable = true},
          .windows = 8,
          .finalist = true,
          .inside = of(inside),
          .beyond = of(beyond),
          .inside_cost = of(inside - 2),
          .copy_inside = of(1),
          .copy_beyond = of(copy_beyond)};
}

Candidate forgetful(const std::string& scheme, double beyond) {
  Candidate candidate = finalist(scheme, 2, beyond, 0);
  candidate.truncates = true;
  return candidate;
}

TEST(Reports, EXT_01_CandidatesAreToldWithTheirMeasures) {
  const std::vector<Candidate> candidates = {finalist("yarn,factor=4", 2.01, 2.1, 0.8),
                                             finalist("declared", 2, 6, 0.1)};
  const Recommendation advice = recommend(candidates, kTrained, 16384);
  ASSERT_EQ(advice.best_overall, 0u);
  EXPECT_THAT(advice.why,
              Contains(testing::AllOf(HasSubstr("yarn,factor=4, 2.100 (2.090 to 2.110)"),
                                      HasSubstr("0.800"))));
  EXPECT_THAT(advice.why, Contains(HasSubstr("fails there")));
}

TEST(Reports, EXT_02_WithinTheTrainedLengthNothingIsChanged) {
  const Recommendation advice = recommend({finalist("declared", 2, 2, 1)}, 131072, 120000);
  EXPECT_THAT(advice.why, Contains(HasSubstr("120000 tokens lie within the trained length of "
                                             "131072: nothing needs to be changed")));
}

TEST(Reports, EXT_06_WhatShortTextPaysIsSaid) {
  const std::vector<Candidate> candidates = {finalist("yarn,factor=4", 2.15, 2.1, 0.8),
                                             finalist("declared", 2, 6, 0.1)};
  EXPECT_THAT(recommend(candidates, kTrained, 16384).why,
              Contains(HasSubstr("at +0.150 nats per token on the first 4096")));
}

// A window reads well and finds nothing.
TEST(Reports, PPL_10_ALowLossAloneIsNotRecommended) {
  const std::vector<Candidate> candidates = {forgetful("window,size=2048", 2.0),
                                             finalist("cap,window=2048", 2, 2.1, 0.9),
                                             finalist("declared", 2, 6, 0)};
  const Recommendation advice = recommend(candidates, kTrained, 16384);
  ASSERT_EQ(advice.best_overall, 1u);
  EXPECT_THAT(advice.why, Contains(HasSubstr("window,size=2048 has 0.100 nats per token less loss "
                                             "than cap,window=2048, but it forgets")));
}

}  // namespace
}  // namespace ropewalk
