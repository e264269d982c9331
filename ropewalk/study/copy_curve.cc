#include "ropewalk/study/copy_curve.h"

#include <algorithm>
#include <map>

#include "ropewalk/engine/part_of_progress.h"

namespace ropewalk {
namespace {

constexpr int64_t kPositions = 12;

// In eighths of L, below `most`.
std::vector<int64_t> steps_below(int64_t most) {
  std::vector<int64_t> eighths;
  for (const int64_t step : {1, 2, 4, 6, 10, 12}) {
    if (step < most) eighths.push_back(step);
  }
  for (int64_t step = 16; step < most; step *= 2) {
    eighths.push_back(step);
    if (step * 3 / 2 < most) eighths.push_back(step * 3 / 2);
  }
  return eighths;
}

CopyTest distance_test(const Window& window, int64_t unit, int64_t passage) {
  const auto size = static_cast<int64_t>(window.ids.size());
  const std::vector<int64_t> eighths = steps_below(8 * size / unit);
  const int64_t reserved = (std::ssize(eighths) + 1) * passage;
  const int64_t farthest = size - reserved - 2 * passage;
  std::vector<int64_t> distances;
  for (const int64_t step : eighths) {
    const int64_t distance = step * unit / 8;
    // The farthest takes the place of one that is nearly as far.
    if (distance < farthest - farthest / 8) distances.push_back(distance);
  }
  if (farthest > 0) distances.push_back(farthest);
  return make_copy_test(window, distances, passage, reserved);
}

}  // namespace

std::vector<CopyTest> make_copy_tests(std::span<const Window> windows, int64_t trained_length,
                                      CopyAxis axis) {
  std::vector<CopyTest> tests;
  for (const Window& window : windows) {
    const auto size = static_cast<int64_t>(window.ids.size());
    const int64_t unit = trained_length > 0 ? trained_length : size / 8;
    const int64_t passage = std::min({kLongestPassage, unit / 16, size / 64});
    if (passage < kShortestPassage) continue;
    CopyTest test = axis == CopyAxis::kDistance
                        ? distance_test(window, unit, passage)
                        : make_position_test(window, unit / 4, passage, kPositions);
    if (!test.repeats.empty()) tests.push_back(std::move(test));
  }
  return tests;
}

std::vector<CopyPoint> measure_copy_curve(const Scorer& scorer, std::span<const CopyTest> tests,
                                          CopyAxis axis, const Progress& progress) {
  std::map<int64_t, std::vector<Tally>> tallies;
  const auto passes = 2 * static_cast<double>(tests.size());
  double done = 0;
  const auto losses = [&](const std::vector<int32_t>& ids) {
    std::vector<double> all = scorer.losses(ids, part_of_progress(progress, done, 1, passes));
    ++done;
    return all;
  };
  for (const CopyTest& test : tests) {
    const std::vector<double> repeated = losses(test.repeated);
    const std::vector<Tally> gains = copy_gains(test, repeated, losses(test.control));
    for (size_t k = 0; k < gains.size(); ++k) {
      const Repeat& repeat = test.repeats[k];
      tallies[axis == CopyAxis::kDistance ? repeat.distance : repeat.first].push_back(gains[k]);
    }
  }
  std::vector<CopyPoint> points;
  for (const auto& [at, gains] : tallies) points.push_back({.at = at, .gain = *estimate(gains)});
  return points;
}

}  // namespace ropewalk
