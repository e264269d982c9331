#include "ropewalk/study/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <random>

namespace ropewalk {
namespace {

constexpr int kResamples = 2000;
constexpr uint64_t kSeed = 20240229;

// Uniform on [0, size) by the high half of a product: std's distributions differ between libraries.
size_t pick(std::mt19937_64& generator, size_t size) {
  return static_cast<size_t>(((generator() >> 32) * static_cast<uint64_t>(size)) >> 32);
}

}  // namespace

std::optional<Estimate> estimate(std::span<const Tally> windows) {
  std::vector<Tally> used;
  std::copy_if(windows.begin(), windows.end(), std::back_inserter(used),
               [](const Tally& t) { return t.count > 0; });
  if (used.empty()) return std::nullopt;
  Tally all;
  for (const Tally& tally : used) {
    all.sum += tally.sum;
    all.count += tally.count;
  }
  Estimate result{
      .mean = all.sum / static_cast<double>(all.count), .count = all.count, .interval = {}};
  if (used.size() < 2) return result;

  std::mt19937_64 generator(kSeed);
  std::vector<double> means;
  means.reserve(kResamples);
  for (int n = 0; n < kResamples; ++n) {
    Tally sample;
    for (size_t k = 0; k < used.size(); ++k) {
      const Tally& drawn = used[pick(generator, used.size())];
      sample.sum += drawn.sum;
      sample.count += drawn.count;
    }
    means.push_back(sample.sum / static_cast<double>(sample.count));
  }
  std::sort(means.begin(), means.end());
  result.interval = Interval{means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
  return result;
}

std::optional<Estimate> estimate_difference(std::span<const Tally> a, std::span<const Tally> b) {
  assert(a.size() == b.size());
  std::vector<Tally> difference;
  for (size_t k = 0; k < a.size(); ++k) {
    assert(a[k].count == b[k].count);
    difference.push_back({a[k].sum - b[k].sum, a[k].count});
  }
  return estimate(difference);
}

}  // namespace ropewalk
