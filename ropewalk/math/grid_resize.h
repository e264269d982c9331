// Resizing a learned two-dimensional position table, for images of another size than trained on.
#ifndef ROPEWALK_MATH_GRID_RESIZE_H_
#define ROPEWALK_MATH_GRID_RESIZE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/math/vision.h"

namespace ropewalk {

// Which points of two grids lie on each other. The two are different models: nothing says which one
// a table wants but the code it was trained with.
enum class Corners {
  kAligned,  // the corner cells' centres: y of the old grid is y' (n - 1) / (n' - 1)
  kEdges,    // the image's edges: y = (y' + 1/2) n / n' - 1/2, held inside the grid
};

// "corner cells aligned (align_corners=True)", "image edges aligned (align_corners=False)".
std::string to_string(Corners corners);

// Bilinear, as torch.nn.functional.interpolate without antialiasing.
//   table    (from.rows, from.columns, dim)
//   returns  (to.rows, to.columns, dim)
//   Throws Error where the table has another size, or a side is below 1.
std::vector<double> resized_table(std::span<const double> table, PatchGrid from, PatchGrid to,
                                  int64_t dim, Corners corners);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_GRID_RESIZE_H_
