#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(SelfExtend, FarTokensShareGroups) {
  const std::string text = "self_extend,window=4,group=2";
  EXPECT_EQ(distance_under(text, 3), 3);
  EXPECT_EQ(distance_under(text, 4), 2 + 4 - 2);
  EXPECT_EQ(distance_under(text, 10, 5), 5 + 2 - 2);
  EXPECT_EQ(distance_under(text, 11, 5), 5 + 2 - 2);
  EXPECT_EQ(distance_under(text, 12, 5), 6 + 2 - 2);
}

TEST(SelfExtend, CandidatesEndInsideTheTrainedRange) {
  for (const std::string& part : find_scheme("self_extend")->candidates(512, 4096)) {
    EXPECT_LT(distance_under(part, 4095), 512) << part;
  }
}

TEST(SelfExtend, RefusesAnEmptyGroup) {
  EXPECT_THROW(under("self_extend,window=4,group=0"), Error);
}

}  // namespace
}  // namespace ropewalk
