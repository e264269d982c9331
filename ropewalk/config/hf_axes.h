// Which coordinate of a token turns each pair, from a config.json.
#ifndef ROPEWALK_CONFIG_HF_AXES_H_
#define ROPEWALK_CONFIG_HF_AXES_H_

#include <cstdint>
#include <vector>

#include "ropewalk/config/hf_notes.h"
#include "ropewalk/config/hf_scaling_block.h"

namespace ropewalk {

// Values of Spectrum::axis, (n_pairs); empty for one axis. Throws Error naming the key where the
// sections do not fit.
//   notes  takes the field
std::vector<uint8_t> read_hf_axes(HfReading& reading, const HfKeys& keys, int64_t n_pairs,
                                  HfNotes& notes);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_AXES_H_
