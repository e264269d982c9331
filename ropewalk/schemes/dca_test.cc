#include <gtest/gtest.h>

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

// Chunks of 6: tokens 0 to 5, 6 to 11, 12 to 17.
TEST(Dca, CountsInChunks) {
  const std::string text = "dca,chunk=8,local=2";
  EXPECT_EQ(distance_under(text, 11, 6), 5);
  EXPECT_EQ(distance_under(text, 6, 5), 1);   // 6 + 0 - 5: true across the edge
  EXPECT_EQ(distance_under(text, 8, 5), 3);   // 6 + 2 - 5: the last that is
  EXPECT_EQ(distance_under(text, 9, 5), 3);   // 8 - 5
  EXPECT_EQ(distance_under(text, 12, 5), 3);  // 8 - 5, two chunks back
  EXPECT_EQ(distance_under(text, 100, 0), 8);
  EXPECT_EQ(distance_under("dca,chunk=8,local=5", 100, 0), 5);  // 2 * 3 - 1
}

// The paper: chunks of s = 3L/4, queries min(i mod s + s, L - 1) and L - 1, keys j mod s.
TEST(Dca, ByDefaultIsThePapers) {
  const int64_t s = 384, trained = 512;
  for (const int64_t i : {0, 200, 383, 384, 500, 511, 512, 600, 767, 768, 1500, 5000}) {
    for (int64_t j = 0; j <= i; j += 7) {
      const int64_t gap = i / s - j / s;
      const int64_t query = gap == 0   ? i % s
                            : gap == 1 ? std::min(i % s + s, trained - 1)
                                       : trained - 1;
      EXPECT_EQ(distance_under("dca", i, j), query - j % s) << i << " " << j;
    }
  }
}

TEST(Dca, DefaultStaysInsideTheTrainedLength) {
  for (const std::string& part : find_scheme("dca")->candidates(512, 4096)) {
    EXPECT_LT(farthest_distance(under(part).distance, 5120), 512.0) << part;
  }
}

TEST(Dca, RefusesWhatIsNoChunk) {
  EXPECT_THROW(under("dca,chunk=8"), Error);
  EXPECT_THROW(under("dca,local=2"), Error);
  EXPECT_THROW(under("dca,chunk=8,local=8"), Error);
  Rotary unknown = small_model::declared();
  unknown.source.trained_length = 0;
  EXPECT_THROW(apply_scheme("dca", unknown), Error);
  EXPECT_NO_THROW(apply_scheme("dca,chunk=8,local=2", unknown));
}

}  // namespace
}  // namespace ropewalk
