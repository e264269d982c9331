// Numbers that tests take for inputs of unit size.
#ifndef ROPEWALK_TESTING_RANDOM_VALUES_H_
#define ROPEWALK_TESTING_RANDOM_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace ropewalk {

// Of the normal distribution, the same for the same seed.
template <typename T>
std::vector<T> random_values(int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<T> normal;
  std::vector<T> values(static_cast<size_t>(size));
  for (T& value : values) value = normal(generator);
  return values;
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTING_RANDOM_VALUES_H_
