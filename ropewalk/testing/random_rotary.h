// A Rotary drawn at random: spectrum, distance map, mask and visibility, every kind of each.
#ifndef ROPEWALK_TESTING_RANDOM_ROTARY_H_
#define ROPEWALK_TESTING_RANDOM_ROTARY_H_

#include <cstdint>
#include <string>

#include "ropewalk/math/rotary.h"
#include "ropewalk/testing/random_cases.h"

namespace ropewalk {

struct RandomRotary {
  Rotary rotary;
  std::string description;
};

//   n_tokens  of the longest sequence: bounds of maps and windows lie about there
RandomRotary random_rotary(Dice& dice, const PairLayout& layout, int64_t n_tokens);

}  // namespace ropewalk

#endif  // ROPEWALK_TESTING_RANDOM_ROTARY_H_
