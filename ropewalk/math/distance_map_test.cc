#include "ropewalk/math/distance_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;

Branch from_to(int64_t first, int64_t last) {
  Branch branch;
  branch.first = first;
  branch.last = last;
  return branch;
}

TEST(PositionMapTest, Formula) {
  EXPECT_EQ(PositionMap{}(5), 5.0);
  EXPECT_EQ((PositionMap{.offset = 10.0, .slope = 0.5}(5)), 12.5);
  EXPECT_EQ((PositionMap{.group = 4}(7)), 1.0);
  EXPECT_EQ((PositionMap{.group = 2, .period = 6}(11)), 2.0);
  EXPECT_EQ((PositionMap{.offset = 1.0, .slope = 2.0, .group = 3, .limit = 6}(100)), 6.0);
  EXPECT_EQ(fixed_position(7.0)(123), 7.0);
  EXPECT_EQ((PositionMap{.period = 4, .carry = 2.0}(11)), 7.0);  // 3, and two periods of 2
  EXPECT_EQ((PositionMap{.slope = 0.5, .period = 4, .limit = 5, .carry = 2.0}(11)), 5.0);
  EXPECT_EQ((PositionMap{.carry = 2.0}(kFar)), DoubleDouble(kFar));
}

TEST(PositionMapTest, Steps) {
  const PositionMap map{.offset = 10.0, .slope = 0.5, .steps = {{2, 0, 1}, {5, 3, 2}, {9, 5, 4}}};
  // Before the first step, in steps of one, of two, of four.
  for (const auto& [position, step] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 0},
                                                {1, 0},
                                                {2, 0},
                                                {4, 2},
                                                {5, 3},
                                                {6, 3},
                                                {7, 4},
                                                {8, 4},
                                                {9, 5},
                                                {12, 5},
                                                {13, 6},
                                                {kFar + 1, 5 + (kFar - 8) / 4}}) {
    EXPECT_EQ(map(position), 10.0 + 0.5 * DoubleDouble(step)) << position;
  }
}

TEST(DistanceMapTest, PlainByDefault) {
  const DistanceMap map;
  EXPECT_TRUE(map.is_identity());
  EXPECT_FALSE(map.is_curve());
  EXPECT_EQ(map.at(kFar, 3), DoubleDouble(kFar - 3));
  EXPECT_TRUE(map.pairs().holds(0));
  EXPECT_TRUE(map.pairs().holds(1000));
}

TEST(DistanceMapTest, IdentityInPieces) {
  EXPECT_TRUE(DistanceMap({from_to(0, 10), from_to(10, kUnbounded)}).is_identity());
  EXPECT_FALSE(piecewise_linear(10, 10.0, 0.0).is_identity());
  EXPECT_FALSE(DistanceMap([](int64_t d) { return DoubleDouble(d); }).is_identity());
}

TEST(DistanceMapTest, BranchesMustCoverEveryDistanceOnce) {
  EXPECT_THROW(DistanceMap(std::vector<Branch>{}), Error);
  EXPECT_THROW(DistanceMap({from_to(1, kUnbounded)}), Error);
  EXPECT_THROW(DistanceMap({from_to(0, 10)}), Error);
  EXPECT_THROW(DistanceMap({from_to(0, 10), from_to(11, kUnbounded)}), Error);
  EXPECT_THROW(DistanceMap({from_to(0, 10), from_to(9, kUnbounded)}), Error);
  EXPECT_THROW(DistanceMap({from_to(0, 0), from_to(0, kUnbounded)}), Error);
}

TEST(DistanceMapTest, SelfExtend) {
  // Neighbours below 4 plain, then groups of 2: i/2 - j/2 + 4 - 4/2. Source: arXiv 2401.01325.
  Branch far = from_to(4, kUnbounded);
  far.query = {.offset = 2.0, .group = 2};
  far.key = {.group = 2};
  const DistanceMap map({from_to(0, 4), far});
  EXPECT_EQ(map.at(10, 7), 3.0);
  EXPECT_EQ(map.at(10, 6), 4.0);
  EXPECT_EQ(map.at(10, 5), 5.0);
  EXPECT_EQ(map.at(11, 0), 7.0);
}

TEST(DistanceMapTest, CurveSeesTheDistance) {
  const DistanceMap map([](int64_t d) { return sqrt(DoubleDouble(d)); }, {.first = 2, .last = 3});
  EXPECT_TRUE(map.is_curve());
  EXPECT_TRUE(map.branches().empty());
  EXPECT_EQ(map.at(109, 9), 10.0);
  EXPECT_FALSE(map.pairs().holds(1));
  EXPECT_TRUE(map.pairs().holds(2));
  EXPECT_TRUE(map.pairs().holds(3));
  EXPECT_FALSE(map.pairs().holds(4));
}

TEST(DistanceMapTest, ChunksCountTheirGap) {
  const PositionMap inside{.period = 10};
  const DistanceMap map = DistanceMap::by_chunks(
      10, {Branch{.last = 1, .query = inside, .key = inside},
           Branch{.first = 1, .last = 2, .query = {.offset = 10.0, .period = 10}, .key = inside},
           Branch{.first = 2, .query = fixed_position(19.0), .key = inside}});
  EXPECT_EQ(map.chunk(), 10);
  EXPECT_FALSE(map.is_identity());
  EXPECT_EQ(map.at(19, 10), 9.0);
  EXPECT_EQ(map.at(20, 19), 1.0);
  EXPECT_EQ(map.at(20, 10), 10.0);
  EXPECT_EQ(map.at(20, 9), 10.0);
  EXPECT_EQ(map.at(kFar, kFar % 10), DoubleDouble(19 - kFar % 10));
  EXPECT_EQ(&map.branch_between(29, 20), &map.branches()[0]);
  EXPECT_EQ(&map.branch_between(29, 9), &map.branches()[2]);
  EXPECT_THROW(DistanceMap::by_chunks(0, {Branch{}}), Error);
  EXPECT_THROW(DistanceMap::by_chunks(5, {Branch{.last = 3}}), Error);
}

TEST(DistanceMapTest, BandsOfPairsHaveTheirOwn) {
  Branch far = from_to(4, kUnbounded);
  far.query = {.offset = 2.0, .group = 2};
  far.key = {.group = 2};
  far.bands = {
      {.pairs = {.first = 0, .last = 1}, .query = {}, .key = {}},
      {.pairs = {.first = 5, .last = 9}, .query = fixed_position(7.0), .key = fixed_position(0.0)}};
  const DistanceMap map({from_to(0, 4), far}, {.first = 1, .last = 8});
  EXPECT_EQ(map.at(11, 0, 0), 11.0);
  EXPECT_EQ(map.at(11, 0, 1), 11.0);
  EXPECT_EQ(map.at(11, 0, 2), 7.0);
  EXPECT_EQ(map.at(11, 0, 4), 7.0);
  EXPECT_EQ(map.at(12, 0, 4), 8.0);
  EXPECT_EQ(map.at(12, 0, 5), 7.0);
  EXPECT_EQ(map.at(11, 0), 11.0);  // of pair 1, the first that is moved
  EXPECT_EQ(map.at(11, 8, 5), 3.0);
  EXPECT_FALSE(map.is_identity());
}

TEST(DistanceMapTest, MayDependOnTheLength) {
  const DistanceMap map = DistanceMap::by_length(
      [](int64_t n) { return n <= 10 ? DistanceMap() : piecewise_linear(10, 10.0, 0.0); });
  EXPECT_TRUE(map.depends_on_length());
  EXPECT_FALSE(map.is_identity());
  EXPECT_FALSE(map.for_length(11).depends_on_length());
  EXPECT_TRUE(map.for_length(10).is_identity());
  EXPECT_EQ(map.for_length(11).at(15, 0), 10.0);
  EXPECT_FALSE(DistanceMap().depends_on_length());
}

TEST(DistanceMapTest, EqualWhereTheBranchesAre) {
  EXPECT_EQ(DistanceMap(), DistanceMap());
  EXPECT_EQ(piecewise_linear(10, 10.0, 0.5), piecewise_linear(10, 10.0, 0.5));
  EXPECT_FALSE(piecewise_linear(10, 10.0, 0.5) == piecewise_linear(10, 10.0, 0.25));
  EXPECT_FALSE(piecewise_linear(10, 10.0, 0.5) == piecewise_linear(10, 10.0, 0.5, {1, 2}));
  EXPECT_FALSE(DistanceMap::by_chunks(5, {Branch{}}) == DistanceMap::by_chunks(6, {Branch{}}));
  const DistanceMap curve([](int64_t d) { return DoubleDouble(d); });
  EXPECT_FALSE(curve == curve);
}

TEST(PiecewiseLinearTest, Cap) {
  const DistanceMap map = piecewise_linear(4, 4.0, 0.0);
  EXPECT_EQ(map.at(9, 6), 3.0);
  EXPECT_EQ(map.at(9, 5), 4.0);
  EXPECT_EQ(map.at(9, 0), 4.0);
  EXPECT_EQ(map.at(kFar, 0), 4.0);
}

TEST(PiecewiseLinearTest, Leaky) {
  const DoubleDouble slope = DoubleDouble(1) / 3;
  const DistanceMap map = piecewise_linear(1000, 1000.0, slope);
  EXPECT_EQ(map.at(5999, 5000), 999.0);
  for (const int64_t d : {int64_t{1000}, int64_t{1003}, kFar}) {
    const DoubleDouble exact = DoubleDouble(1000) + slope * DoubleDouble(d - 1000);
    EXPECT_LE(abs(map.at(d + 77, 77) - exact), 0x1p-103 * DoubleDouble(d + 77));
  }
}

TEST(PiecewiseLinearTest, EdgeWindows) {
  EXPECT_EQ(piecewise_linear(0, 0.0, 0.5).branches().size(), 1u);
  EXPECT_EQ(piecewise_linear(0, 0.0, 0.5).at(9, 1), 4.0);
  EXPECT_TRUE(piecewise_linear(kUnbounded, 0.0, 0.0).is_identity());
  EXPECT_THROW(piecewise_linear(-1, 0.0, 0.0), Error);
}

TEST(ThroughPointsTest, MeetsItsPoints) {
  const std::vector<CurvePoint> points = {{0, 0.0}, {10, 10.0}, {40, 20.0}, {100, 25.0}};
  const DistanceMap map = through_points(points);
  EXPECT_EQ(map.branches().size(), 3u);
  for (const CurvePoint& point : points) {
    EXPECT_LE(abs(map.at(point.distance + 5, 5) - point.value), 0x1p-100);
  }
  EXPECT_EQ(map.at(5, 0), 5.0);
  EXPECT_LE(abs(map.at(25, 0) - 15.0), 0x1p-100);
  EXPECT_LE(abs(map.at(160, 0) - 30.0), 0x1p-100);  // the last slope goes on
}

TEST(ThroughPointsTest, RefusesWhatIsNoCurve) {
  EXPECT_THROW(through_points({{0, 0.0}}), Error);
  EXPECT_THROW(through_points({{1, 0.0}, {2, 1.0}}), Error);
  EXPECT_THROW(through_points({{0, 0.0}, {0, 1.0}}), Error);
  EXPECT_THROW(through_points({{0, 0.0}, {5, 1.0}, {4, 1.0}}), Error);
  EXPECT_THROW(through_points({{0, 0.0}, {5, NAN}}), Error);
  EXPECT_THROW(through_points({{0, 0.0}, {5, INFINITY}}), Error);
}

}  // namespace
}  // namespace ropewalk
