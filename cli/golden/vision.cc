// Cases of kind "frequencies" about image patches.
#include "ropewalk/math/vision.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/golden/bounds.h"
#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"

namespace ropewalk::golden {
namespace {

double base_of(const Json& config, double fallback) {
  if (config.contains("rope_theta")) return static_cast<double>(number(config["rope_theta"]));
  if (config.contains("rope_parameters") && config["rope_parameters"].contains("rope_theta")) {
    return static_cast<double>(number(config["rope_parameters"]["rope_theta"]));
  }
  return fallback;
}

int64_t head_dim_of(const Json& config) {
  for (const char* const key : {"head_dim", "vision_head_dim"}) {
    if (config.contains(key)) return bounded_width(config, key);
  }
  const char* const heads = config.contains("num_heads") ? "num_heads" : "num_attention_heads";
  return bounded(config, "hidden_size", 1, kMostNumbers) / bounded_width(config, heads);
}

VisionRotary rotary_of(const Json& golden) {
  const Json& outer = golden.at("config");
  const Json& config = outer.contains("vision_config") ? outer["vision_config"] : outer;
  const std::string rule = rule_of(golden);
  if (rule == "axial_pixel") {
    // `dim` is the width of one axis.
    return pixel_vision(2 * bounded_width(config, "dim"),
                        static_cast<double>(number(config.at("max_freq"))));
  }
  const int64_t head_dim = head_dim_of(config);
  if (rule == "axial_dinov3") return dinov3_vision(head_dim, base_of(config, 100));
  const double base = base_of(config, 10000);
  if (rule == "vision_2d_concat") return qwen_vision(head_dim, base);
  if (rule == "vision_2d_alternating") return pixtral_vision(head_dim, base);
  if (rule == "vision_2d_llama4") return llama4_vision(head_dim, base);
  refuse_rule(golden);
}

PatchCell cell_of(const Json& given) {
  return {given.at("cell").at(0).get<int64_t>(), given.at("cell").at(1).get<int64_t>()};
}

// The grid, where it is given; else one that holds all cells, which then do not depend on it.
PatchGrid grid_of(const Json& golden) {
  const Json& config = golden.at("config");
  if (config.contains("grid")) {
    return {config["grid"].at(0).get<int64_t>(), config["grid"].at(1).get<int64_t>()};
  }
  if (config.contains("num_patches_h")) {
    return {config["num_patches_h"].get<int64_t>(), config.at("num_patches_w").get<int64_t>()};
  }
  if (rule_of(golden) == "axial_dinov3") {
    const int64_t side = bounded(config, "image_size", 1, kMostNumbers) /
                         bounded(config, "patch_size", 1, kMostNumbers);
    return {side, side};
  }
  PatchGrid grid{1, 1};
  for (const Json& given : golden.at("cells")) {
    grid.rows = std::max(grid.rows, cell_of(given).row + 1);
    grid.columns = std::max(grid.columns, cell_of(given).column + 1);
  }
  return grid;
}

void require_inside(PatchGrid grid, PatchCell cell) {
  const bool inside =
      0 <= cell.row && cell.row < grid.rows && 0 <= cell.column && cell.column < grid.columns;
  if (inside || cell == kNoPatch) return;
  throw Error("cell", "must lie in the grid",
              std::to_string(cell.row) + ", " + std::to_string(cell.column));
}

Value cell_value(const VisionRotary& rotary, PatchGrid grid, const Json& given) {
  const PatchCell cell = cell_of(given);
  require_inside(grid, cell);
  Value angles = Value::list(), cosines = Value::list(), sines = Value::list();
  for (const DoubleDouble turns : rotary.turns(grid, cell)) {
    const auto radians = static_cast<double>(turns * kTwoPi);
    const CosSin at = cos_sin_of_turns(turns);
    angles.push(Value::real(radians));
    cosines.push(Value::real(at.cos, table_bound(radians)));
    sines.push(Value::real(at.sin, table_bound(radians)));
  }
  Value out = Value::object();
  out.set("cell", Value::given(given.at("cell"))).set("angles", std::move(angles));
  out.set("cos", std::move(cosines)).set("sin", std::move(sines));
  return out;
}

}  // namespace

Value compute_vision(const Json& golden) {
  const VisionRotary rotary = rotary_of(golden);
  const PatchGrid grid = grid_of(golden);
  Value out = Value::object();
  out.set("head_dim", Value::exact(rotary.layout.head_dim));
  out.set("n_pairs", Value::exact(rotary.layout.n_pairs()));
  Value cells = Value::list();
  for (const Json& given : golden.at("cells")) cells.push(cell_value(rotary, grid, given));
  out.set("cells", std::move(cells));
  return out;
}

}  // namespace ropewalk::golden
