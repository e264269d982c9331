#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::distance_under;
using small_model::under;

// What llama.cpp does to the cells of its cache, before it evaluates each next token: while the
// cache holds a full block of w beyond what was divided already, move, divide, and move up.
class Cache {
 public:
  Cache(int64_t group, int64_t window) : n_(group), w_(window) {}

  // Positions of all tokens once the next one is in.
  const std::vector<int64_t>& append() {
    while (past_ >= done_ + w_) {
      const int64_t block = n_ * done_ / w_;
      const int64_t less = w_ / n_ * (n_ - 1);
      add(done_, past_, block * less);
      for (int64_t& cell : cells_) {
        if (cell >= done_ + block * less && cell < done_ + block * less + w_) cell /= n_;
      }
      add(done_ + block * less + w_, past_ + block * less, w_ / n_ - block * less - w_);
      past_ -= less;
      done_ += w_ / n_;
    }
    cells_.push_back(past_++);
    return cells_;
  }

 private:
  void add(int64_t first, int64_t last, int64_t shift) {
    for (int64_t& cell : cells_) {
      if (cell >= first && cell < last) cell += shift;
    }
  }

  int64_t n_;
  int64_t w_;
  int64_t past_ = 0;
  int64_t done_ = 0;
  std::vector<int64_t> cells_;
};

TEST(GroupAttention, IsWhatTheCacheBecomes) {
  for (const auto& [group, window] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 4}, {2, 8}, {3, 12}, {4, 4}, {4, 64}, {1, 8}}) {
    const DistanceMap map = under("group_attention,group=" + std::to_string(group) +
                                  ",window=" + std::to_string(window))
                                .distance;
    Cache cache(group, window);
    for (int64_t i = 0; i < 200; ++i) {
      const std::vector<int64_t>& cells = cache.append();
      for (int64_t j = 0; j <= i; ++j) {
        ASSERT_EQ(map.at(i, j), DoubleDouble(cells.back() - cells[static_cast<size_t>(j)]))
            << "group " << group << ", window " << window << ", " << i << " " << j;
      }
    }
  }
}

TEST(GroupAttention, CandidatesEndInsideTheTrainedRange) {
  for (const std::string& part : find_scheme("group_attention")->candidates(512, 4096)) {
    EXPECT_LT(farthest_distance(under(part).distance, 4096), 512.0) << part;
  }
}

TEST(GroupAttention, RefusesBlocksOfBrokenGroups) {
  EXPECT_THROW(under("group_attention,group=3,window=10"), Error);
  EXPECT_EQ(distance_under("group_attention,group=3,window=12", 11), 11);
}

}  // namespace
}  // namespace ropewalk
