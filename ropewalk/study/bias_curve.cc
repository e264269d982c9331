#include "ropewalk/study/bias_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ropewalk/base/parallel.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/distance_table.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlock = 512;     // distances whose angles are held at a time
constexpr double kGridStep = 1.04;  // between distances that are reported

constexpr double kNowhere = -std::numeric_limits<double>::infinity();

// B of one head: constant + sum of real cos - imaginary sin.
struct HeadTerms {
  std::vector<double> real, imaginary;  // (n_pairs), of s mean_q conj(mean_k)
  double constant = 0;
};

HeadTerms terms_of(const LayerMeans& means, const Rotary& rotary, int64_t head, int64_t n_tokens) {
  const std::vector<double>& q = means.q[head].mean;
  const std::vector<double>& k = means.keys_of(head).mean;
  const int64_t row = n_tokens - 1;
  const Spectrum spectrum = rotary.spectrum.at(rotary.spectrum.length_for_row(row, n_tokens));
  const double scale = means.score_factor * spectrum.logit_multiplier * rotary.temperature.at(row);
  HeadTerms terms;
  for (int64_t pair = 0; pair < rotary.layout.n_pairs(); ++pair) {
    const int64_t x = rotary.layout.first(pair), y = rotary.layout.second(pair);
    terms.real.push_back(scale * (q[x] * k[x] + q[y] * k[y]));
    terms.imaginary.push_back(scale * (q[y] * k[x] - q[x] * k[y]));
  }
  for (int64_t x = rotary.layout.rotary_dim; x < rotary.layout.head_dim; ++x)
    terms.constant += scale * q[x] * k[x];
  return terms;
}

void evaluate(const HeadTerms& terms, const DistanceTable& table, std::vector<double>& values) {
  const size_t n = table.n_distances;
  values.assign(n, terms.constant);
  for (size_t pair = 0; pair < terms.real.size(); ++pair) {
    const double* const cos = table.cos.data() + pair * n;
    const double* const sin = table.sin.data() + pair * n;
    for (size_t d = 0; d < n; ++d)
      values[d] += terms.real[pair] * cos[d] - terms.imaginary[pair] * sin[d];
  }
}

// 0, then at least every distance, later some 4 % apart.
std::vector<int64_t> grid(int64_t trained, int64_t target) {
  std::vector<int64_t> distances = {0};
  while (distances.back() < target) {
    const auto next =
        std::max(distances.back() + 1,
                 static_cast<int64_t>(static_cast<double>(distances.back()) * kGridStep));
    distances.push_back(distances.back() < trained ? std::min(next, trained)
                                                   : std::min(next, target));
  }
  return distances;
}

double squared(double x) { return x * x; }

// |mean|^2 / E|x|^2 of coordinates x and y.
double share(const VectorMeans& means, int64_t x, int64_t y) {
  const double power = means.square[x] + means.square[y];
  return power > 0 ? (squared(means.mean[x]) + squared(means.mean[y])) / power : 0;
}

// The one in the middle; of two the lower.
template <typename T>
T median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Curves {
 public:
  Curves(const std::vector<LayerMeans>& means, const Positions& positions, BiasReport& report)
      : means_(means), positions_(positions), report_(report) {}

  // Heads of one scheme's layers, all of which see as far.
  void run(size_t scheme) {
    const Rotary& rotary = positions_.schemes[scheme];
    std::vector<size_t> heads;
    std::vector<HeadTerms> terms;
    for (size_t h = 0; h < report_.heads.size(); ++h) {
      const auto layer = static_cast<size_t>(report_.heads[h].layer);
      if (positions_.layers[layer] != scheme) continue;
      heads.push_back(h);
      terms.push_back(terms_of(means_[layer], rotary, report_.heads[h].head, n_tokens()));
    }
    if (heads.empty()) return;
    const auto first_layer = static_cast<size_t>(report_.heads[heads[0]].layer);
    const int64_t last = report_.layers[first_layer].farthest;
    const int64_t trained = report_.trained_length;
    inside_.assign(heads.size() * blocks(trained + 1), {});
    in_blocks(rotary, terms, 0, trained + 1,
              [&](int64_t block, size_t head, int64_t first, const std::vector<double>& values) {
                inside_[static_cast<size_t>(block) * heads.size() + head] = extremes(first, values);
              });
    for (size_t head = 0; head < heads.size(); ++head)
      merge_inside(head, heads.size(), report_.heads[heads[head]]);
    beyond_.assign(heads.size() * blocks(last - trained), std::nullopt);
    in_blocks(rotary, terms, trained + 1, last + 1,
              [&](int64_t block, size_t head, int64_t first, const std::vector<double>& values) {
                const double highest = report_.heads[heads[head]].highest;
                const auto above =
                    std::ranges::find_if(values, [&](double b) { return b > highest; });
                if (above == values.end()) return;
                beyond_[static_cast<size_t>(block) * heads.size() + head] =
                    first + (above - values.begin());
              });
    const auto seen = std::ranges::upper_bound(report_.distances, last);
    const DistanceTable reported =
        distance_table(rotary, n_tokens(), {report_.distances.begin(), seen});
    for (size_t head = 0; head < heads.size(); ++head) {
      HeadBias& own = report_.heads[heads[head]];
      for (size_t at = head; at < beyond_.size() && !own.collapse; at += heads.size())
        own.collapse = beyond_[at];
      own.constant = terms[head].constant;
      evaluate(terms[head], reported, own.curve);
    }
  }

 private:
  struct Extremes {
    double highest = kNowhere;
    double lowest = -kNowhere;
    int64_t lowest_at = 0;
  };

  int64_t n_tokens() const { return report_.target_length + 1; }
  static size_t blocks(int64_t count) {
    return static_cast<size_t>(std::max<int64_t>(0, (count + kBlock - 1) / kBlock));
  }

  static Extremes extremes(int64_t first, const std::vector<double>& values) {
    const auto lowest = std::ranges::min_element(values);
    return {.highest = std::ranges::max(values),
            .lowest = *lowest,
            .lowest_at = first + (lowest - values.begin())};
  }

  void merge_inside(size_t head, size_t n_heads, HeadBias& own) const {
    Extremes all;
    for (size_t at = head; at < inside_.size(); at += n_heads) {
      all.highest = std::max(all.highest, inside_[at].highest);
      if (inside_[at].lowest >= all.lowest) continue;
      all.lowest = inside_[at].lowest;
      all.lowest_at = inside_[at].lowest_at;
    }
    own.highest = all.highest;
    own.lowest = all.lowest;
    own.cap = all.lowest_at;
  }

  // Calls body(block, head, first distance, B at the block's distances) for distances [from, to).
  template <typename Body>
  void in_blocks(const Rotary& rotary, const std::vector<HeadTerms>& terms, int64_t from,
                 int64_t to, const Body& body) const {
    parallel_for(
        static_cast<int64_t>(blocks(to - from)), [] { return std::vector<double>(); },
        [&](int64_t block, std::vector<double>& values) {
          const int64_t first = from + block * kBlock;
          std::vector<int64_t> distances(static_cast<size_t>(std::min(kBlock, to - first)));
          std::iota(distances.begin(), distances.end(), first);
          const DistanceTable table = distance_table(rotary, n_tokens(), distances);
          for (size_t head = 0; head < terms.size(); ++head) {
            evaluate(terms[head], table, values);
            body(block, head, first, values);
          }
        });
  }

  const std::vector<LayerMeans>& means_;
  const Positions& positions_;
  BiasReport& report_;
  std::vector<Extremes> inside_;                // (blocks, heads)
  std::vector<std::optional<int64_t>> beyond_;  // the same
};

LayerBias layer_bias(const LayerMeans& means, const Rotary& rotary, int64_t trained,
                     int64_t target) {
  const int64_t n = target + 1;
  const Spectrum spectrum = rotary.spectrum.at(rotary.spectrum.length_for_row(target, n));
  LayerBias layer{.farthest = farthest_seen(rotary, n), .turns = turns_within(spectrum, trained)};
  if (means.chunk > 0) layer.farthest = std::min(layer.farthest, means.chunk - 1);
  bool turns = false;
  for (size_t pair = 0; pair < layer.turns.size(); ++pair) {
    const double own = std::abs(layer.turns[pair]);
    turns = turns || own > 0;
    if (own > 0 && own < 1) layer.unfinished.push_back(static_cast<int64_t>(pair));
  }
  if (!turns) {
    layer.kind = LayerBias::Kind::kUnturned;
  } else if (layer.farthest <= trained) {
    layer.kind = LayerBias::Kind::kWindow;
  }
  return layer;
}

HeadBias head_bias(const LayerMeans& means, const Rotary& rotary, int64_t layer, int64_t head,
                   int64_t target) {
  HeadBias own{.layer = layer, .head = head};
  const HeadTerms terms = terms_of(means, rotary, head, target + 1);
  const Spectrum spectrum = rotary.spectrum.at(rotary.spectrum.length_for_row(target, target + 1));
  const double gain = spectrum.amplitude * spectrum.amplitude;
  for (int64_t pair = 0; pair < rotary.layout.n_pairs(); ++pair) {
    const int64_t x = rotary.layout.first(pair), y = rotary.layout.second(pair);
    own.pairs.push_back({.weight = gain * std::hypot(terms.real[pair], terms.imaginary[pair]),
                         .phase = std::atan2(terms.imaginary[pair], terms.real[pair]),
                         .q_share = share(means.q[head], x, y),
                         .k_share = share(means.keys_of(head), x, y)});
  }
  return own;
}

void summarise(BiasReport& report) {
  if (report.heads.empty()) return;
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> collapses, caps;
  for (const HeadBias& head : report.heads) {
    collapses.push_back(head.collapse.value_or(kNever));
    caps.push_back(head.cap);
    report.collapsing += head.collapse ? 1 : 0;
  }
  const auto told = [](int64_t d) { return d == kNever ? std::nullopt : std::optional(d); };
  report.earliest_collapse = told(std::ranges::min(collapses));
  report.median_collapse = told(median(collapses));
  report.cap = median(caps);
  for (size_t at = 0; at < report.distances.size(); ++at) {
    std::vector<double> values;
    for (const HeadBias& head : report.heads) {
      if (at < head.curve.size()) values.push_back(head.curve[at]);
    }
    if (values.empty()) break;
    report.median.push_back(median(values));
  }
}

}  // namespace

std::vector<std::vector<double>> bias_of_layer(const LayerMeans& means, const Rotary& rotary,
                                               int64_t target_length,
                                               std::span<const int64_t> distances) {
  const DistanceTable table = distance_table(rotary, target_length + 1, distances);
  std::vector<std::vector<double>> values(means.q.size());
  for (size_t head = 0; head < values.size(); ++head) {
    evaluate(terms_of(means, rotary, static_cast<int64_t>(head), target_length + 1), table,
             values[head]);
  }
  return values;
}

BiasReport bias_report(const std::vector<LayerMeans>& means, const Positions& positions,
                       int64_t trained_length, int64_t target_length) {
  BiasReport report{.trained_length = trained_length,
                    .target_length = target_length,
                    .distances = grid(trained_length, target_length)};
  for (size_t layer = 0; layer < means.size(); ++layer) {
    const Rotary& rotary = positions.schemes[positions.layers[layer]];
    report.layers.push_back(layer_bias(means[layer], rotary, trained_length, target_length));
    if (report.layers.back().kind != LayerBias::Kind::kOpen) continue;
    for (size_t head = 0; head < means[layer].q.size(); ++head) {
      report.heads.push_back(head_bias(means[layer], rotary, static_cast<int64_t>(layer),
                                       static_cast<int64_t>(head), target_length));
    }
  }
  Curves curves(means, positions, report);
  for (size_t scheme = 0; scheme < positions.schemes.size(); ++scheme) curves.run(scheme);
  summarise(report);
  return report;
}

std::vector<std::string> proposed_schemes(const BiasReport& report) {
  PairRange range{.first = kUnbounded, .last = -1};
  for (const LayerBias& layer : report.layers) {
    if (layer.kind != LayerBias::Kind::kOpen || layer.unfinished.empty()) continue;
    range.first = std::min(range.first, layer.unfinished.front());
    range.last = std::max(range.last, layer.unfinished.back());
  }
  if (range.last < 0 || !report.cap) return {};
  const int64_t step = std::max<int64_t>(1, report.trained_length / 128);
  const int64_t window = std::max((*report.cap + step / 2) / step, int64_t{1}) * step;
  const std::string cap = fmt::format("cap,window={}", window);
  return {parse_scheme(fmt::format("{},pairs={}:{}", cap, range.first, range.last)).text(),
          parse_scheme(cap).text()};
}

}  // namespace ropewalk
