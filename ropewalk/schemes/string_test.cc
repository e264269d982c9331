#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

TEST(String, ShiftsWhatIsFar) {
  const std::string text = "string,shift=100,window=20";
  EXPECT_EQ(distance_under(text, 99), 99);
  EXPECT_EQ(distance_under(text, 100), 20);
  EXPECT_EQ(distance_under(text, 511), 431);
  EXPECT_EQ(distance_under(text, 511, 412), 99);
}

TEST(String, ByDefaultShiftsByAThird) {
  EXPECT_EQ(distance_under("string", 169), 169);
  EXPECT_EQ(distance_under("string", 170), 128);
  EXPECT_THROW(under("string,shift=100"), Error);  // the window of 128 lies beyond
  EXPECT_THROW(under("string,shift=100,window=101"), Error);
}

TEST(String, CandidateFitsUpToTwiceTheLength) {
  for (const int64_t target : {512, 600, 700, 1000}) {
    const std::string part = find_scheme("string")->candidates(512, target).front();
    EXPECT_LT(farthest_distance(under(part).distance, target), 512.0) << part;
  }
}

}  // namespace
}  // namespace ropewalk
