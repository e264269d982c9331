// The positions that a model is run with, layer by layer.
#ifndef ROPEWALK_ENGINE_POSITIONS_H_
#define ROPEWALK_ENGINE_POSITIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/kernels/rotation_table.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// Layers of one scheme share its tables, so schemes are held once and layers name them. A layer
// without positions (NoPE) has a scheme whose pairs do not turn.
struct Positions {
  std::vector<Rotary> schemes;
  std::vector<size_t> layers;  // (n_layers), index into schemes
  AngleMode angles = AngleMode::kExact;
};

// What the file declares, changed by a scheme string on every rotary layer, or on [first, last] of
// them alone. Throws Error where the string is at fault, or where the range has no layer.
struct LayerScheme {
  std::string scheme;
  size_t first = 0;
  size_t last = SIZE_MAX;
};
Positions make_positions(const ModelConfig& config, const std::vector<LayerScheme>& changes,
                         AngleMode angles = AngleMode::kExact);

// The first row whose positions change when a sequence of `before` tokens grows to `after`:
// everything computed from that row on is stale. `before` where nothing is.
int64_t first_stale_row(const Positions& positions, int64_t before, int64_t after);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_POSITIONS_H_
