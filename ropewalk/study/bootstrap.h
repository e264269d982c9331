// Means with intervals, by resampling whole windows. Source: Efron 1979, the percentile method.
#ifndef ROPEWALK_STUDY_BOOTSTRAP_H_
#define ROPEWALK_STUDY_BOOTSTRAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ropewalk {

// A sum and how many terms it has, of one window.
struct Tally {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  void add(const Tally& other) {
    sum += other.sum;
    count += other.count;
  }
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct Estimate {
  double mean = 0;
  int64_t count = 0;                 // terms, over all windows
  std::optional<Interval> interval;  // 95 %; none from fewer than two windows
};

// Not a number where there are no terms.
double mean_of(std::span<const Tally> windows);

// The mean over all terms, windows weighing by their counts; nothing where there are no terms.
// The same tallies give the same interval on every machine: the generator and its use are fixed.
std::optional<Estimate> estimate(std::span<const Tally> windows);

// The same for the difference of two means over the same windows, resampled together.
//   a, b  equal sizes, and equal counts in each window
std::optional<Estimate> estimate_difference(std::span<const Tally> a, std::span<const Tally> b);

// A mean over all terms of its windows, times a weight.
struct WeightedMean {
  std::vector<Tally> windows;
  double weight = 1;
};

// The same for a sum of such means, each over windows of its own that are resampled apart from the
// others'; one over a single window counts as it is. Nothing where the first has no terms, no
// interval where it has fewer than two windows.
//   terms  at least one; the count is the first's
std::optional<Estimate> estimate_sum(std::vector<WeightedMean> terms);

// a - b, by window.
//   a, b  equal sizes, and equal counts in each window
std::vector<Tally> tally_difference(std::span<const Tally> a, std::span<const Tally> b);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_BOOTSTRAP_H_
