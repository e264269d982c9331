#include "ropewalk/math/map_reach.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

// Every pair of tokens that is seen looked at.
DoubleDouble by_hand(const DistanceMap& map, int64_t n, const Visibility& seen = {}) {
  const DistanceMap fixed = map.for_length(n);
  DoubleDouble farthest = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      if (!seen.sees(i, j)) continue;
      const int64_t at = seen.standing(i, j);
      for (int64_t pair = 0; pair < 4; ++pair) farthest = max(farthest, abs(fixed.at(at, j, pair)));
    }
  }
  return farthest;
}

DistanceMap chunks() {
  const PositionMap inside{.period = 6};
  const Branch same{.last = 1, .query = inside, .key = inside};
  const Branch next{
      .first = 1, .last = 2, .query = {.offset = 6.0, .period = 6, .limit = 8}, .key = inside};
  return DistanceMap::by_chunks(
      6, {same, next, Branch{.first = 2, .query = fixed_position(8.0), .key = inside}});
}

DistanceMap bands() {
  Branch far{.first = 4, .query = {.offset = 2.0, .group = 2}, .key = {.group = 2}};
  far.bands = {{.pairs = {.first = 2, .last = 3}, .query = {.offset = 3.0}, .key = {}}};
  return DistanceMap({Branch{.last = 4}, far});
}

DistanceMap moving_blocks() {
  const PositionMap query{.period = 4, .carry = 2.0};
  return DistanceMap::by_chunks(4, {Branch{.last = 1, .query = query, .key = query},
                                    Branch{.first = 1, .query = query, .key = {.group = 2}}});
}

TEST(MapReach, IsWhatEveryPairOfTokensSays) {
  for (const DistanceMap& map :
       {DistanceMap(), piecewise_linear(5, 5.0, 0.0), piecewise_linear(5, 5.0, 0.25),
        through_points({{0, 0.0}, {10, 10.0}, {30, -20.0}, {40, 5.0}}), chunks(), bands(),
        moving_blocks(), DistanceMap([](int64_t d) { return sqrt(DoubleDouble(d)); }),
        DistanceMap::by_length(
            [](int64_t n) { return n <= 20 ? DistanceMap() : piecewise_linear(3, 3.0, 0.5); })}) {
    for (int64_t n = 1; n <= 60; ++n) EXPECT_EQ(farthest_distance(map, n), by_hand(map, n)) << n;
  }
}

TEST(MapReach, LooksAtWhatAWindowAndSinksShow) {
  for (const Visibility& seen :
       {Visibility{.window = 7}, Visibility{.window = 7, .sinks = 3},
        Visibility{.window = 7, .sinks = 3, .sinks_stay = true}, Visibility{.window = 1}}) {
    for (const DistanceMap& map :
         {DistanceMap(), piecewise_linear(5, 5.0, 0.25), chunks(), bands(), moving_blocks(),
          DistanceMap([](int64_t d) { return sqrt(DoubleDouble(d)); })}) {
      for (int64_t n = 1; n <= 40; ++n) {
        EXPECT_EQ(farthest_distance(map, n, seen), by_hand(map, n, seen)) << n;
      }
    }
  }
  EXPECT_EQ(longest_within(DistanceMap(), 7.0, 100, {.window = 7}), 100);
  EXPECT_EQ(longest_within(DistanceMap(), 6.0, 100, {.window = 7}), 6);
}

TEST(MapReach, LongestWithin) {
  EXPECT_EQ(longest_within(DistanceMap(), 10.0, 100), 10);
  EXPECT_EQ(longest_within(DistanceMap(), 10.0, 7), 7);
  EXPECT_EQ(longest_within(piecewise_linear(5, 5.0, 0.0), 6.0, 1000), 1000);
  EXPECT_EQ(longest_within(piecewise_linear(5, 5.0, 0.0), 5.0, 1000), 5);
  EXPECT_EQ(longest_within(chunks(), 9.0, 500), 500);
  EXPECT_EQ(longest_within(DistanceMap(), 0.0, 5), 0);
}

}  // namespace
}  // namespace ropewalk
