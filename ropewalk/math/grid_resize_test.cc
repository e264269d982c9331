#include "ropewalk/math/grid_resize.h"

#include <gtest/gtest.h>

#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(GridResizeTest, SameSizeChangesNothing) {
  const std::vector<double> table = {1, 2, 3, 4, 5, 6};
  for (const Corners corners : {Corners::kAligned, Corners::kEdges}) {
    EXPECT_EQ(resized_table(table, {2, 3}, {2, 3}, 1, corners), table);
  }
}

TEST(GridResizeTest, TheTwoConventions) {
  const std::vector<double> table = {0, 3};
  EXPECT_EQ(resized_table(table, {1, 2}, {1, 4}, 1, Corners::kAligned),
            (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(resized_table(table, {1, 2}, {1, 4}, 1, Corners::kEdges),
            (std::vector<double>{0, 0.75, 2.25, 3}));
}

TEST(GridResizeTest, EachColumnOfARowApart) {
  const std::vector<double> table = {0, 10, 2, 30, 4, 50, 6, 70};
  EXPECT_EQ(resized_table(table, {2, 2}, {1, 1}, 2, Corners::kEdges), (std::vector<double>{3, 40}));
  EXPECT_EQ(resized_table(table, {2, 2}, {1, 1}, 2, Corners::kAligned),
            (std::vector<double>{0, 10}));
}

TEST(GridResizeTest, Validation) {
  const std::vector<double> table = {1, 2, 3};
  EXPECT_THROW(resized_table(table, {2, 2}, {1, 1}, 1, Corners::kEdges), Error);
  EXPECT_THROW(resized_table(table, {1, 3}, {0, 1}, 1, Corners::kEdges), Error);
}

}  // namespace
}  // namespace ropewalk
