#include "ropewalk/study/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

#include "ropewalk/study/pick.h"

namespace ropewalk {
namespace {

constexpr int kResamples = 2000;
constexpr uint64_t kSeed = 20240229;

double resampled_mean(std::span<const Tally> windows, std::mt19937_64& generator) {
  Tally sample;
  for (size_t k = 0; k < windows.size(); ++k) sample.add(windows[pick(generator, windows.size())]);
  return sample.sum / static_cast<double>(sample.count);
}

}  // namespace

double mean_of(std::span<const Tally> windows) {
  Tally all;
  for (const Tally& tally : windows) all.add(tally);
  return all.sum / static_cast<double>(all.count);
}

std::optional<Estimate> estimate(std::span<const Tally> windows) {
  return estimate_sum({{.windows = {windows.begin(), windows.end()}}});
}

std::optional<Estimate> estimate_sum(std::vector<WeightedMean> terms) {
  for (WeightedMean& term : terms)
    std::erase_if(term.windows, [](const Tally& tally) { return tally.count == 0; });
  if (terms.front().windows.empty()) return std::nullopt;
  std::erase_if(terms, [](const WeightedMean& term) { return term.windows.empty(); });

  Estimate result;
  for (const Tally& tally : terms.front().windows) result.count += tally.count;
  for (const WeightedMean& term : terms) result.mean += term.weight * mean_of(term.windows);
  if (terms.front().windows.size() < 2 || std::isnan(result.mean)) return result;

  std::mt19937_64 generator(kSeed);
  std::vector<double> means;
  means.reserve(kResamples);
  for (int n = 0; n < kResamples; ++n) {
    double sum = 0;
    for (const WeightedMean& term : terms)
      sum += term.weight * resampled_mean(term.windows, generator);
    means.push_back(sum);
  }
  std::sort(means.begin(), means.end());
  result.interval = Interval{means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
  return result;
}

std::vector<Tally> tally_difference(std::span<const Tally> a, std::span<const Tally> b) {
  assert(a.size() == b.size());
  std::vector<Tally> difference;
  for (size_t k = 0; k < a.size(); ++k) {
    assert(a[k].count == b[k].count);
    difference.push_back({a[k].sum - b[k].sum, a[k].count});
  }
  return difference;
}

std::optional<Estimate> estimate_difference(std::span<const Tally> a, std::span<const Tally> b) {
  return estimate(tally_difference(a, b));
}

}  // namespace ropewalk
