// The last look at a file before it gets its name: does it say what was asked for?
#ifndef ROPEWALK_CONFIG_READ_BACK_H_
#define ROPEWALK_CONFIG_READ_BACK_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/model_config.h"

namespace ropewalk {

// The largest relative difference between the frequencies, and amplitudes, that `written` declares
// and those of the scheme on `declared`, at lengths about L and up to the target. Throws Error
// where it is more than float32 keys account for.
//   place          names the file in messages
//   target_length  0: none
double check_read_back(const std::string& place, const ModelConfig& declared,
                       const std::string& scheme, const ModelConfig& written,
                       int64_t target_length);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_READ_BACK_H_
