#include "ropewalk/study/curve.h"

#include <algorithm>
#include <numeric>

namespace ropewalk {
namespace {

std::optional<Estimate> between(std::span<const std::vector<double>> losses, int64_t first,
                                int64_t end) {
  std::vector<Tally> tallies;
  for (const std::vector<double>& window : losses) {
    const auto size = static_cast<int64_t>(window.size());
    const int64_t from = std::min(first, size);
    const int64_t to = std::min(end, size);
    tallies.push_back(
        {std::accumulate(window.begin() + from, window.begin() + to, 0.0), to - from});
  }
  return estimate(tallies);
}

int64_t longest(std::span<const std::vector<double>> losses) {
  size_t size = 0;
  for (const std::vector<double>& window : losses) size = std::max(size, window.size());
  return static_cast<int64_t>(size);
}

}  // namespace

std::vector<Bucket> loss_curve(std::span<const std::vector<double>> losses, int64_t trained_length,
                               int64_t n_buckets) {
  const int64_t size = longest(losses);
  const int64_t width = std::max<int64_t>(1, (size + n_buckets - 1) / n_buckets);
  std::vector<int64_t> edges;
  for (int64_t edge = 0; edge < size; edge += width) edges.push_back(edge);
  if (trained_length > 0 && trained_length < size) edges.push_back(trained_length);
  edges.push_back(size);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  std::vector<Bucket> buckets;
  for (size_t e = 0; e + 1 < edges.size(); ++e) {
    if (const auto loss = between(losses, edges[e], edges[e + 1])) {
      buckets.push_back({.first = edges[e], .last = edges[e + 1] - 1, .loss = *loss});
    }
  }
  return buckets;
}

Estimate mean_loss(std::span<const std::vector<double>> losses) {
  return *between(losses, 0, longest(losses));
}

}  // namespace ropewalk
