// What a spectrum is, told by its numbers: what both file formats look for first.
#ifndef ROPEWALK_CONFIG_SPECTRUM_FORM_H_
#define ROPEWALK_CONFIG_SPECTRUM_FORM_H_

#include <optional>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// Whether layers have no window of their own.
bool sees_everything(const LayerGroup& group);

// The layers that a scheme is written for: the first rotary ones that see everything, or the first
// rotary ones where all have a window. Throws Error where no layers are rotated.
const LayerGroup& leading_group(const ModelConfig& config);

// What stands for the divisor of a pair that does not turn; as in converted Gemma 4 files.
inline constexpr double kNeverTurns = 1e30;

// Frequencies equal but for what formulas written differently differ by, far below float32; decays
// exactly.
bool same_frequencies(const Spectrum& a, const Spectrum& b);

// The base under which the model's pairs have these frequencies unscaled; nothing where none does.
std::optional<double> plain_base(const Rotary& declared, const Spectrum& wanted);

// The number, at least 1, by which all pairs turn slower than the model's plain ones; nothing where
// there is none.
std::optional<double> common_factor(const Rotary& declared, const Spectrum& wanted);

// By how much each pair turns slower than the model's plain one: infinite where it does not turn.
// (n_pairs)
std::vector<double> frequency_divisors(const Rotary& declared, const Spectrum& wanted);

// The same as files hold them: kNeverTurns in place of infinity.
std::vector<double> stored_divisors(const Rotary& declared, const Spectrum& wanted);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_SPECTRUM_FORM_H_
