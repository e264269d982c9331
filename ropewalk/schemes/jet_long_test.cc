#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

double seen(const std::string& text, int64_t n, int64_t i, int64_t j) {
  return static_cast<double>(under(text).distance.for_length(n).at(i, j));
}

TEST(JetLong, ChangesNothingWithinTheTrainedLength) {
  EXPECT_TRUE(under("jet_long,window=8").distance.for_length(512).is_identity());
  EXPECT_FALSE(under("jet_long,window=8").distance.for_length(513).is_identity());
}

TEST(JetLong, GroupsGrowWithTheLength) {
  const std::string text = "jet_long,window=8";
  EXPECT_EQ(seen(text, 513, 108, 100), 8);        // d <= w
  EXPECT_EQ(seen(text, 513, 109, 100), 54 - 50);  // groups of 2
  EXPECT_EQ(seen(text, 1024, 1023, 0), 511);
  EXPECT_EQ(seen(text, 1025, 1023, 0), 341);  // of 3
  EXPECT_EQ(seen(text, 5120, 5119, 0), 511);  // of 10
  EXPECT_EQ(seen("jet_long,window=8,original=100", 5120, 5119, 0), 98);
}

TEST(JetLong, DistancesStayInsideTheTrainedLength) {
  for (const int64_t n : {400, 513, 1300, 5000}) {
    EXPECT_LT(farthest_distance(under("jet_long,window=32").distance, n), 512.0) << n;
  }
}

TEST(JetLong, SeesTheLengthOfItsSpectrum) {
  using Length = SpectrumRule::Length;
  EXPECT_EQ(under("jet_long,window=8").spectrum.length(), Length::kSequence);
  EXPECT_EQ(under("jet_long,window=8,block=32").spectrum.block(), 32);
  EXPECT_NO_THROW(under("dynamic_ntk,block=all+jet_long,window=8"));
  EXPECT_NO_THROW(under("dynamic_ntk,block=32+jet_long,window=8,block=32"));
  EXPECT_THROW(under("dynamic_ntk,block=32+jet_long,window=8"), Error);
  EXPECT_THROW(under("dynamic_ntk,block=all+jet_long,window=8,block=32"), Error);
  EXPECT_THROW(under("stale_dynamic_ntk+jet_long,window=8"), Error);
}

TEST(JetLong, NeedsALength) {
  Rotary unknown = small_model::declared();
  unknown.source.trained_length = 0;
  EXPECT_THROW(apply_scheme("jet_long,window=8", unknown), Error);
  EXPECT_NO_THROW(apply_scheme("jet_long,window=8,original=64", unknown));
  EXPECT_EQ(distance_under("jet_long,window=8", 100), 100);
}

}  // namespace
}  // namespace ropewalk
