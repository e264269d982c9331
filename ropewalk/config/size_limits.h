// Sizes of models far above every known one. More is refused where a file is read, so that no file
// decides how much memory is asked for, and products of two sizes fit 64 bits.
#ifndef ROPEWALK_CONFIG_SIZE_LIMITS_H_
#define ROPEWALK_CONFIG_SIZE_LIMITS_H_

#include <cstdint>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

inline constexpr int64_t kMaxHeads = int64_t{1} << 14;
inline constexpr int64_t kMaxWidth = int64_t{1}
                                     << 22;  // of the residual, and of a feed-forward part
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 26;

// Throws Error where `found` is more than `most`.
//   place  the key, with its file
inline void refuse_above(const std::string& place, int64_t found, int64_t most) {
  if (found <= most) return;
  throw Error(place,
              "must not exceed " + std::to_string(most) + ", which no known model comes near",
              std::to_string(found), "the file is damaged: fetch or convert it anew")
      .of(FaultKind::kOutOfRange);
}

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_SIZE_LIMITS_H_
