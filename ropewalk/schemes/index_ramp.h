// The ramp over pair indices that code after jquesnelle/yarn shares: the schemes yarn, dynamic_yarn
// and part_ntk.
#ifndef ROPEWALK_SCHEMES_INDEX_RAMP_H_
#define ROPEWALK_SCHEMES_INDEX_RAMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {

// 0 up to pair `low`, 1 from pair `high` on, straight between.
struct IndexRamp {
  DoubleDouble low;
  DoubleDouble high;

  DoubleDouble at(int64_t pair) const {
    return clamp((DoubleDouble(pair) - low) / (high - low), 0, 1);
  }
};

// The (fractional) index of the pair that makes `turns` turns over `length` tokens; base > 1.
DoubleDouble index_of_turns(const FrequencySource& source, DoubleDouble turns, DoubleDouble length);

// The ramp from the pair that makes `fast` turns over `length` tokens to the one that makes `slow`;
// both are fractions, rounded outwards where `truncate`. As Hugging Face transformers has it: ends
// held to 0 and to d - 1, which is not the last pair, and kept 0.001 apart where they meet. Throws
// Error unless the base is above 1.
IndexRamp index_ramp(const SchemeParams& params, const FrequencySource& source, DoubleDouble fast,
                     DoubleDouble slow, DoubleDouble length, bool truncate);

// YaRN by index: pairs where the ramp is 1 are slowed by `factor`, pairs where it is 0 stay. Source:
// Peng et al. 2023, arXiv 2309.00071, as in github.com/jquesnelle/yarn.
Spectrum slowed_along(const IndexRamp& ramp, DoubleDouble factor, Spectrum spectrum);

// PartNTK's two ramps, from the pair of 1.25 turns to that of 0.75, and from 16 to 2. Source:
// github.com/jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding, tuned there for Llama.
struct PartNtkRamps {
  IndexRamp to_slowed;  // from the base of ntk to the slowed pair
  IndexRamp to_ntk;     // from the pair as it is to what the first made of it
};
PartNtkRamps part_ntk_ramps(const SchemeParams& params, const FrequencySource& source,
                            DoubleDouble length);

// ---- the parameters beta_fast and beta_slow, in turns

std::vector<ParamInfo> beta_params(const std::string& fast_help, const std::string& slow_help);

// The ramp between the two, rounded outwards where `truncate`.
IndexRamp beta_ramp(const SchemeParams& params, const FrequencySource& source, int64_t length,
                    bool truncate);

// Throws Error where beta_slow is above beta_fast.
void check_betas(const SchemeParams& params);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_INDEX_RAMP_H_
