#include "ropewalk/math/grid_resize.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// A point between two cells of one side.
struct Between {
  int64_t low = 0;
  int64_t high = 0;
  double share = 0;  // of `high`
};

Between between(int64_t index, int64_t from, int64_t to, Corners corners) {
  double point = 0;
  if (corners == Corners::kAligned) {
    if (to > 1) point = static_cast<double>(index * (from - 1)) / static_cast<double>(to - 1);
  } else {
    point =
        (static_cast<double>(index) + 0.5) * static_cast<double>(from) / static_cast<double>(to) -
        0.5;
  }
  point = std::clamp(point, 0.0, static_cast<double>(from - 1));
  const auto low = static_cast<int64_t>(std::floor(point));
  return {low, std::min(low + 1, from - 1), point - std::floor(point)};
}

void require_sides(const char* place, PatchGrid grid) {
  if (grid.rows >= 1 && grid.columns >= 1) return;
  throw Error(place, "must have at least one row and one column",
              std::to_string(grid.rows) + " x " + std::to_string(grid.columns))
      .of(FaultKind::kOutOfRange);
}

}  // namespace

std::string to_string(Corners corners) {
  return corners == Corners::kAligned ? "corner cells aligned (align_corners=True)"
                                      : "image edges aligned (align_corners=False)";
}

std::vector<double> resized_table(std::span<const double> table, PatchGrid from, PatchGrid to,
                                  int64_t dim, Corners corners) {
  require_sides("old grid", from);
  require_sides("new grid", to);
  if (std::ssize(table) != from.rows * from.columns * dim) {
    throw Error("position table",
                "must have " + std::to_string(from.rows) + " x " + std::to_string(from.columns) +
                    " x " + std::to_string(dim) + " values",
                std::to_string(table.size()))
        .of(FaultKind::kWrongLength);
  }
  std::vector<double> resized;
  resized.reserve(static_cast<size_t>(to.rows * to.columns * dim));
  for (int64_t row = 0; row < to.rows; ++row) {
    const Between y = between(row, from.rows, to.rows, corners);
    for (int64_t column = 0; column < to.columns; ++column) {
      const Between x = between(column, from.columns, to.columns, corners);
      for (int64_t c = 0; c < dim; ++c) {
        const auto at = [&](int64_t from_row, int64_t from_column) {
          return table[(from_row * from.columns + from_column) * dim + c];
        };
        const double upper = (1 - x.share) * at(y.low, x.low) + x.share * at(y.low, x.high);
        const double lower = (1 - x.share) * at(y.high, x.low) + x.share * at(y.high, x.high);
        resized.push_back((1 - y.share) * upper + y.share * lower);
      }
    }
  }
  return resized;
}

}  // namespace ropewalk
