#include "ropewalk/study/copy_gain.h"

#include <algorithm>
#include <utility>

namespace ropewalk {
namespace {

// Distances in tokens, the nearest first: quarters of L inside it, then from just beyond L to
// nearly the window's start.
std::vector<int64_t> distances(int64_t size, int64_t trained, int64_t passage, int64_t reserved) {
  std::vector<int64_t> all = {trained / 4, trained / 2, 3 * trained / 4};
  const int64_t nearest = trained + reserved;
  const int64_t farthest = size - reserved - 2 * passage;
  constexpr int64_t kBeyond = 5;
  for (int64_t k = 0; k < kBeyond && nearest < farthest; ++k) {
    all.push_back(nearest + (farthest - nearest) * k / (kBeyond - 1));
  }
  return all;
}

using Runs = std::vector<std::pair<int64_t, int64_t>>;  // of tokens: first, last

bool meets(const Runs& runs, int64_t first, int64_t last) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const auto& run) { return first < run.second && run.first < last; });
}

// Where other text of the window starts: half a window away, and no passage of the test.
int64_t elsewhere(int64_t source, int64_t last_start, int64_t passage, const Runs& sources) {
  const int64_t choices = std::max<int64_t>(1, last_start);
  int64_t other = 1 + (source + choices / 2) % choices;
  for (int64_t tries = 0; tries < choices && meets(sources, other, other + passage);
       tries += passage) {
    other = 1 + (other + passage - 1) % choices;
  }
  return other;
}

// Writes the passages to their second places. They are the window's own text at their sources. The
// control reads, at each source, what lies half a window away from it, so the text stays of a kind.
//   last_start  of that other text
CopyTest with_repeats(const Window& window, std::vector<Repeat> repeats, const Runs& sources,
                      int64_t last_start) {
  CopyTest test{.repeated = window.ids, .control = window.ids, .repeats = std::move(repeats)};
  for (const Repeat& repeat : test.repeats) {
    const int64_t source = repeat.first - repeat.distance;
    const int64_t other = elsewhere(source, last_start, repeat.length, sources);
    for (int64_t t = 0; t < repeat.length; ++t) {
      const int32_t id = window.ids[static_cast<size_t>(source + t)];
      test.repeated[static_cast<size_t>(repeat.first + t)] = id;
      test.control[static_cast<size_t>(repeat.first + t)] = id;
      test.control[static_cast<size_t>(source + t)] = window.ids[static_cast<size_t>(other + t)];
    }
  }
  return test;
}

}  // namespace

CopyTest make_copy_test(const Window& window, int64_t trained_length) {
  const auto size = static_cast<int64_t>(window.ids.size());
  const int64_t passage = std::min({kLongestPassage, trained_length / 8, size / 32});
  if (passage < kShortestPassage)
    return {.repeated = window.ids, .control = window.ids, .repeats = {}};
  constexpr int64_t kMostRepeats = 8;
  const int64_t reserved = kMostRepeats * passage;
  return make_copy_test(window, distances(size, trained_length, passage, reserved), passage,
                        reserved);
}

CopyTest make_copy_test(const Window& window, std::span<const int64_t> distances, int64_t passage,
                        int64_t reserved) {
  const auto size = static_cast<int64_t>(window.ids.size());
  int64_t place = size - reserved;
  Runs sources;
  std::vector<Repeat> repeats;
  for (const int64_t distance : distances) {
    const int64_t source = place - distance;
    if (source < 1 || source + passage > size - reserved ||
        meets(sources, source, source + passage))
      continue;
    sources.emplace_back(source, source + passage);
    repeats.push_back({.first = place, .length = passage, .distance = distance});
    place += passage;
  }
  return with_repeats(window, std::move(repeats), sources, size - reserved - passage);
}

CopyTest make_position_test(const Window& window, int64_t distance, int64_t passage, int64_t most) {
  const auto size = static_cast<int64_t>(window.ids.size());
  const int64_t nearest = distance + 1;  // behind BOS
  const int64_t room = size - passage - nearest;
  Runs sources;
  std::vector<Repeat> repeats;
  if (room >= 0) {
    const int64_t count = std::min(most, 1 + room / (distance + passage));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t first = nearest + (count > 1 ? room * k / (count - 1) : 0);
      sources.emplace_back(first - distance, first - distance + passage);
      repeats.push_back({.first = first, .length = passage, .distance = distance});
    }
  }
  return with_repeats(window, std::move(repeats), sources, size - passage);
}

std::vector<Tally> copy_gains(const CopyTest& test, std::span<const double> repeated,
                              std::span<const double> control) {
  std::vector<Tally> gains;
  for (const Repeat& repeat : test.repeats) {
    Tally& gain = gains.emplace_back();
    for (int64_t t = repeat.first + 1; t < repeat.first + repeat.length; ++t)
      gain.add(control[static_cast<size_t>(t - 1)] - repeated[static_cast<size_t>(t - 1)]);
  }
  return gains;
}

CopyGain copy_gain(const CopyTest& test, int64_t trained_length, std::span<const double> repeated,
                   std::span<const double> control) {
  CopyGain gain;
  const std::vector<Tally> gains = copy_gains(test, repeated, control);
  for (size_t k = 0; k < gains.size(); ++k) {
    Tally& band = test.repeats[k].distance < trained_length ? gain.inside : gain.beyond;
    band.add(gains[k]);
  }
  return gain;
}

}  // namespace ropewalk
