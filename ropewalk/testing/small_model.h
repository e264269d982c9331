// A model whose positions can be checked by hand: head_dim 8, pairs that turn by 1, 0.1, 0.01 and
// 0.001 radians a token, trained at 512 tokens.
#ifndef ROPEWALK_TESTING_SMALL_MODEL_H_
#define ROPEWALK_TESTING_SMALL_MODEL_H_

#include <string>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::small_model {

inline Rotary declared() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 512},
                      {PairOrder::kHalf, 8, 8});
}

inline Rotary under(const std::string& scheme) { return apply_scheme(scheme, declared()); }

inline std::vector<double> inv_freq_under(const std::string& scheme, int64_t n = 1) {
  return under(scheme).spectrum.at(n).inv_freq();
}

// f(i, j) of the pairs that the scheme's map moves, in a sequence that ends with i.
inline double distance_under(const std::string& scheme, int64_t i, int64_t j = 0) {
  return static_cast<double>(at_length(under(scheme), i + 1).distance.at(i, j));
}

}  // namespace ropewalk::small_model

#endif  // ROPEWALK_TESTING_SMALL_MODEL_H_
