// Public bug reports about distance maps, restated as what must hold here. Codes are those of the
// collection that this project was given.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

Rotary trained_at(int64_t length) {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = length},
                      {PairOrder::kHalf, 8, 8});
}

std::vector<int> row(const std::string& scheme, int64_t i) {
  const DistanceMap map = under(scheme).distance;
  std::vector<int> distances;
  for (int64_t j = 0; j <= i; ++j)
    distances.push_back(static_cast<int>(static_cast<double>(map.at(i, j))));
  return distances;
}

// Self-Extend and ReRoPE are two maps, which users took for one.
TEST(Reports, SCH_01_SelfExtendIsNotReRope) {
  const std::string self_extend = "self_extend,window=4,group=2";
  EXPECT_EQ(row(self_extend, 9), (std::vector{6, 6, 5, 5, 4, 4, 3, 2, 1, 0}));
  EXPECT_EQ(row(self_extend, 5), (std::vector{4, 4, 3, 2, 1, 0}));
  EXPECT_EQ(row("cap,window=6", 9), (std::vector{6, 6, 6, 6, 5, 4, 3, 2, 1, 0}));
}

// What a group and a window give: (L - w) g + w tokens.
TEST(Reports, SCH_02_LengthThatAGroupGives) {
  const DistanceMap map = under("self_extend,window=1024,group=4").distance;
  EXPECT_EQ(longest_within(map, 4096.0, 20000), 13312);
  EXPECT_EQ(farthest_distance(map, 13312), 4095.0);
  EXPECT_EQ(farthest_distance(map, 13313), 4096.0);
  EXPECT_EQ(farthest_distance(map, 8192), 2815.0);
  const DistanceMap phi2 = under("self_extend,window=1024,group=2").distance;
  EXPECT_EQ(longest_within(phi2, 2048.0, 20000), 3072);
}

// Qwen-7B: the query's scale by position, printed as such.
TEST(Reports, SCH_05_LogNByPosition) {
  const QueryTemperature scale = apply_scheme("logn", trained_at(2048)).temperature;
  for (const int64_t i : {0, 100, 2047}) EXPECT_EQ(scale.at(i), 1) << i;
  EXPECT_NEAR(scale.at(2999), 1.050068, 5e-7);
  EXPECT_NEAR(scale.at(8191), 1.181818, 5e-7);
}

// Every distance of dual chunk attention lies inside the trained length, which is the model's own.
TEST(Reports, SCH_07_DualChunksStayInside) {
  for (const int64_t trained : {64, 500, 512}) {
    for (const char* scheme : {"dca", "dca_code"}) {
      const DistanceMap map = apply_scheme(scheme, trained_at(trained)).distance;
      EXPECT_EQ(longest_within(map, DoubleDouble(trained), 10 * trained), 10 * trained) << scheme;
    }
  }
  // Nothing is silent: the parameters are in the text, and a model without a length is refused.
  EXPECT_EQ(parse_scheme("dca,local=2,chunk=8").text(), "dca,chunk=8,local=2");
  EXPECT_THROW(apply_scheme("dca", trained_at(0)), Error);
  EXPECT_THROW(apply_scheme("dca_code", trained_at(0)), Error);
  // 32768 tokens, not 32384: the last distance tells.
  EXPECT_EQ(apply_scheme("dca", trained_at(32768)).distance.at(300000, 0), 32767.0);
}

}  // namespace
}  // namespace ropewalk
