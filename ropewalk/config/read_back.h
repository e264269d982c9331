// The last look at a file before it gets its name: does it say what was asked for, and does the
// engine take it so?
#ifndef ROPEWALK_CONFIG_READ_BACK_H_
#define ROPEWALK_CONFIG_READ_BACK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/engine_views.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

// What was asked for.
struct WrittenScheme {
  std::string place;  // names the file in messages
  std::string scheme;
  int64_t target_length = 0;  // 0: none
};

struct ReadBack {
  // The largest relative difference between the frequencies, and amplitudes, that the file declares
  // and those of the scheme, at lengths about L and up to the target.
  double largest_difference = 0;
  // A line for each group of rotary layers where there are several: "sliding_attention (layers 0, 1,
  // 2, 3, 4, 6, ...): as before".
  std::vector<std::string> layers;
};

// Layers that see everything must have the scheme; those with a window of their own may have it or
// have stayed as they were, as the format has it. Throws Error naming the layers for which neither
// is so, by more than float32 keys account for.
ReadBack check_read_back(const WrittenScheme& asked, const ModelConfig& declared,
                         const ModelConfig& written);

// What the engine makes of the file where the declared model was taken otherwise: notes where it is
// worth knowing, or holds for some versions. Throws Error where the engine computes something else.
std::vector<std::string> check_engine(const WrittenScheme& asked, const ModelConfig& declared,
                                      const ModelConfig& written, ModelFormat format,
                                      TargetEngine engine);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_READ_BACK_H_
