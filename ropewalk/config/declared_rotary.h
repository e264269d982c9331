// What both readers end with: a Rotary from what a file says of its frequencies.
#ifndef ROPEWALK_CONFIG_DECLARED_ROTARY_H_
#define ROPEWALK_CONFIG_DECLARED_ROTARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// Frequencies as declared: a scheme string over the file's own source, then what none can say.
struct FrequencyDeclaration {
  std::string scheme = "rope";
  std::vector<double> divisors;  // of the scheme's frequencies, each > 0; (n_pairs), or empty
  double amplitude = 1;          // multiplies the scheme's amplitude, > 0
  double long_amplitude = 0;     // the same above the trained length alone; 0: nothing does

  // Shorter sequences are seen as this long; above it the amplitude is multiplied by
  // 0.1 ln(n / least_length) + 1. 0: no such length. Source: TeleChat-1, modeling_telechat.py.
  int64_t least_length = 0;

  std::vector<uint8_t> axis;  // Spectrum::axis; (n_pairs), or empty. No part of a scheme
};

// Throws Error where source, layout and scheme do not fit.
//   divisors  (layout.n_pairs()), or empty
Rotary build_rotary(const FrequencySource& source, const PairLayout& layout,
                    const FrequencyDeclaration& declaration);

// The declaration as a canonical scheme string; empty where divisors or amplitude are left over.
std::string scheme_text(const FrequencyDeclaration& declaration);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_DECLARED_ROTARY_H_
