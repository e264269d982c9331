#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(Leaky, GrowsSlowerPastTheWindow) {
  EXPECT_EQ(distance_under("leaky,window=4,divisor=4", 3), 3);
  EXPECT_EQ(distance_under("leaky,window=4,divisor=4", 4), 4);
  EXPECT_EQ(distance_under("leaky,window=4,divisor=4", 5), 4.25);
  EXPECT_EQ(distance_under("leaky,window=4,divisor=4", 104), 29);
}

TEST(Leaky, CandidatesEndInsideTheTrainedRange) {
  for (const std::string& part : find_scheme("leaky")->candidates(512, 4096)) {
    EXPECT_LE(distance_under(part, 4096), 0.7 * 512) << part;
  }
}

TEST(Leaky, RefusesToGrowFaster) { EXPECT_THROW(under("leaky,window=4,divisor=0.5"), Error); }

}  // namespace
}  // namespace ropewalk
