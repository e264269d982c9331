// How often a corpus shows each distance: what a model was really trained on.
#ifndef ROPEWALK_MATH_DISTANCE_MASS_H_
#define ROPEWALK_MATH_DISTANCE_MASS_H_

#include <cstdint>
#include <vector>

namespace ropewalk {

// Documents of given lengths hold f(d) = sum of max(length - d, 0) pairs of tokens at distance d.
// Source: An et al. 2024 (STRING), arXiv 2410.18745. Counts are doubles: exact below 2^53, then to
// some 2^-50.
class DistanceMass {
 public:
  //   lengths  of the documents, or of the windows cut from them, in tokens; each >= 1, at least
  //            one. Throws Error.
  explicit DistanceMass(std::vector<int64_t> lengths);

  // f(distance); distance >= 0.
  double at(int64_t distance) const;

  // The share, 0 to 1, of all pairs that stand at most `distance` apart.
  double share_within(int64_t distance) const;

  // The smallest distance within which `share` (0 to 1) of all pairs stand: a cap at quantile(0.9)
  // keeps every pair at distances that training saw often.
  int64_t quantile(double share) const;

 private:
  double within(int64_t distance) const;  // f(0) + ... + f(distance)

  std::vector<int64_t> lengths_;      // rising
  std::vector<double> tokens_after_;  // [k]: tokens of documents k, k + 1, ...
  std::vector<double> pairs_before_;  // [k]: pairs of documents 0 ... k - 1
};

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_DISTANCE_MASS_H_
