#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

// G(t) token by token, from the sizes of the groups.
std::vector<int64_t> groups_of_tokens(double capacity, double rate, int64_t n) {
  std::vector<int64_t> groups;
  for (int64_t x = 0; std::ssize(groups) < n; ++x) {
    const double curve = capacity / (1 + (capacity - 1) * std::exp(-rate * static_cast<double>(x)));
    const double size = std::min(std::floor(curve), capacity - 1);  // it rounds up to C far out
    for (int64_t t = 0; t < static_cast<int64_t>(size); ++t) groups.push_back(x);
  }
  return groups;
}

TEST(SelfLogistic, GroupsHoldWhatTheCurveSays) {
  for (const auto& [capacity, rate] :
       std::vector<std::pair<int64_t, double>>{{33, 0.02}, {8, 0.37}, {2, 0.5}, {60, 5}}) {
    const std::vector<int64_t> groups = groups_of_tokens(static_cast<double>(capacity), rate, 3000);
    const std::string text =
        "self_logistic,window=16,capacity=" + std::to_string(capacity) + ",rate=" + to_text(rate);
    const DistanceMap by_distance = under(text).distance;
    const DistanceMap by_position = under(text + ",by=position").distance;
    for (const int64_t j : {0, 5, 700}) {
      for (int64_t i = j; i < 2900; ++i) {
        const int64_t d = i - j;
        const int64_t curve = d < 16 ? d : 16 + groups[d - 16];
        const int64_t text_wise = d < 16 ? d : 16 + groups[i - 16] - groups[j];
        ASSERT_EQ(by_distance.at(i, j), DoubleDouble(curve)) << text << " " << d;
        ASSERT_EQ(by_position.at(i, j), DoubleDouble(text_wise)) << text << " " << i << " " << j;
      }
    }
  }
}

TEST(SelfLogistic, EndsInGroupsBelowTheCapacity) {
  const std::string text = "self_logistic,window=16,capacity=9,rate=0.5";
  EXPECT_EQ(distance_under(text, 80008) - distance_under(text, 8), distance_under(text, 80008) - 8);
  EXPECT_EQ(distance_under(text, 160000) - distance_under(text, 80000), 10000);
}

TEST(SelfLogistic, CandidatesEndInsideTheTrainedRange) {
  for (const std::string& part : find_scheme("self_logistic")->candidates(512, 4096)) {
    EXPECT_LT(distance_under(part, 4095), 512) << part;
  }
}

TEST(SelfLogistic, RefusesWhatDoesNotGrow) {
  EXPECT_THROW(under("self_logistic,window=16,capacity=1"), Error);
  EXPECT_THROW(under("self_logistic,window=16,capacity=8,rate=0"), Error);
}

}  // namespace
}  // namespace ropewalk
