// Random cases: drawn from a seed each, so that one that fails can be run alone.
#ifndef ROPEWALK_TESTING_RANDOM_CASES_H_
#define ROPEWALK_TESTING_RANDOM_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <random>
#include <string>

namespace ropewalk {

class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}

  // Both ends included.
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(generator_);
  }
  double real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(generator_);
  }
  float normal() { return normal_(generator_); }
  bool coin() { return between(0, 1) == 1; }
  bool one_in(int64_t n) { return between(1, n) == 1; }

  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + between(0, static_cast<int64_t>(choices.size()) - 1));
  }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<float> normal_;
};

// Checks the cases of `count` seeds from `first_seed` on, up to the first that fails, which is described
// with its seed, and prints how many there were.
//   draw   makes a case of the Dice of its seed; its text() tells all that it is
//   check  of the case, the same Dice and the seed
// Of the environment:
//   ROPEWALK_RANDOM_SEED   this seed alone
//   ROPEWALK_RANDOM_CASES  at most so many cases
template <typename Draw, typename Check>
void check_random_cases(uint64_t first_seed, int64_t count, const Draw& draw, const Check& check) {
  const char* const alone = std::getenv("ROPEWALK_RANDOM_SEED");
  const char* const most = std::getenv("ROPEWALK_RANDOM_CASES");
  if (most != nullptr) count = std::min<int64_t>(count, std::atoll(most));
  if (alone != nullptr) {
    first_seed = std::strtoull(alone, nullptr, 10);
    count = 1;
  }
  for (int64_t k = 0; k < count; ++k) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(k);
    Dice dice(seed);
    const auto drawn = draw(dice);
    SCOPED_TRACE("alone by ROPEWALK_RANDOM_SEED=" + std::to_string(seed) + ": " + drawn.text());
    try {
      check(drawn, dice, seed);
    } catch (const std::exception& fault) {
      FAIL() << "thrown: " << fault.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%lld random cases hold\n", static_cast<long long>(count));
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTING_RANDOM_CASES_H_
