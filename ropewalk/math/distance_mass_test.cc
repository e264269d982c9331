#include "ropewalk/math/distance_mass.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(DistanceMass, CountsPairsOfEveryDocument) {
  const DistanceMass mass({4, 2, 7});
  EXPECT_EQ(mass.at(0), 13);
  EXPECT_EQ(mass.at(1), 3 + 1 + 6);
  EXPECT_EQ(mass.at(3), 1 + 4);
  EXPECT_EQ(mass.at(6), 1);
  EXPECT_EQ(mass.at(7), 0);
  EXPECT_EQ(mass.at(1000), 0);
}

TEST(DistanceMass, SharesAddUp) {
  const DistanceMass mass({4, 2, 7, 7, 1});
  double total = 0;
  for (int64_t d = 0; d < 7; ++d) total += mass.at(d);
  double sum = 0;
  for (int64_t d = 0; d < 9; ++d) {
    sum += mass.at(d);
    EXPECT_DOUBLE_EQ(mass.share_within(d), sum / total) << d;
  }
  EXPECT_EQ(mass.share_within(6), 1);
}

TEST(DistanceMass, QuantileIsTheSmallestDistanceThatHoldsTheShare) {
  const DistanceMass mass({4, 2, 7, 7, 1});
  for (double share : {0.0, 0.1, 0.5, 0.8, 0.95, 1.0}) {
    const int64_t distance = mass.quantile(share);
    EXPECT_GE(mass.share_within(distance), share);
    if (distance > 0) {
      EXPECT_LT(mass.share_within(distance - 1), share);
    }
  }
}

// Full windows of the trained length: three quarters of all pairs stand within half of it, and one
// in sixteen beyond three quarters.
TEST(DistanceMass, FarDistancesAreRare) {
  const DistanceMass mass(std::vector<int64_t>(10, 4096));
  EXPECT_NEAR(mass.share_within(2048), 0.75, 1e-3);
  EXPECT_NEAR(1 - mass.share_within(3072), 1.0 / 16, 1e-3);
  EXPECT_NEAR(static_cast<double>(mass.quantile(0.75)), 2048, 2);
}

TEST(DistanceMass, HoldsLargeCorpora) {
  const DistanceMass mass(std::vector<int64_t>(100000, 1 << 20));
  EXPECT_EQ(mass.share_within((1 << 20) - 1), 1);
  EXPECT_NEAR(mass.share_within(1 << 19), 0.75, 1e-5);
}

TEST(DistanceMass, RefusesWhatIsNoCorpus) {
  EXPECT_THROW(DistanceMass({}), Error);
  EXPECT_THROW(DistanceMass({4, 0}), Error);
}

}  // namespace
}  // namespace ropewalk
