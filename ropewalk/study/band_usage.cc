#include "ropewalk/study/band_usage.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/study/distance_table.h"

namespace ropewalk {
namespace {

constexpr size_t kCells = kDistanceBands * kRelations;

// `count` of the rows [first, n), rising; the same on every machine.
std::vector<int64_t> sample_rows(int64_t first, int64_t n, int64_t count,
                                 std::mt19937_64& generator) {
  std::vector<int64_t> rows(static_cast<size_t>(std::max<int64_t>(0, n - first)));
  std::iota(rows.begin(), rows.end(), first);
  const size_t taken = std::min(rows.size(), static_cast<size_t>(count));
  for (size_t at = 0; at < taken; ++at)
    std::swap(rows[at], rows[at + generator() % (rows.size() - at)]);
  rows.resize(taken);
  std::ranges::sort(rows);
  return rows;
}

// Sums over keys that stand in one band and one relation to a query.
struct Cell {
  int64_t n = 0;
  double attention = 0;
  double score = 0, score_square = 0;
  // (n_pairs + 1) each
  std::vector<double> sum, square, cross, attended;

  void clear(size_t width) {
    n = 0;
    attention = score = score_square = 0;
    for (std::vector<double>* values : {&sum, &square, &cross, &attended})
      values->assign(width, 0.0);
  }

  void add(const float* parts, size_t width, double whole, double weight) {
    ++n;
    attention += weight;
    score += whole;
    score_square += whole * whole;
    for (size_t c = 0; c < width; ++c) {
      const double part = static_cast<double>(parts[c]);
      sum[c] += part;
      square[c] += part * part;
      cross[c] += part * whole;
      attended[c] += part * weight;
    }
  }

  void add(const Cell& other) {
    n += other.n;
    attention += other.attention;
    score += other.score;
    score_square += other.score_square;
    for (size_t c = 0; c < sum.size(); ++c) {
      sum[c] += other.sum[c];
      square[c] += other.square[c];
      cross[c] += other.cross[c];
      attended[c] += other.attended[c];
    }
  }
};

}  // namespace

size_t distance_band(int64_t d) {
  size_t band = 0;
  for (int64_t limit = 10; band + 1 < kDistanceBands && d >= limit; limit *= 10) ++band;
  return band;
}

size_t own_band(double inv_freq) {
  if (inv_freq == 0) return kDistanceBands;
  constexpr double kRounding = 1 + 1e-12;  // so that 0.001 lies at 1000, not a hair below
  return distance_band(static_cast<int64_t>(std::min(kRounding / std::abs(inv_freq), 1e15)));
}

// The sampled queries of one head in one sequence.
class BandUsage::HeadPass {
 public:
  HeadPass(const BandUsage& usage, const LayerView& view)
      : usage_(usage),
        view_(view),
        rotary_(usage.positions_.schemes[usage.positions_.layers[view.layer]]),
        angles_(usage.angles_[usage.positions_.layers[view.layer]]),
        n_pairs_(static_cast<size_t>(rotary_.layout.n_pairs())),
        width_(n_pairs_ + 1) {}

  void run(int64_t head, HeadSums& sums) {
    head_ = head;
    split_keys();
    for (const int64_t row : usage_.rows_) {
      score_keys(row);
      weigh_keys(row);
      gather(row, sums);
    }
  }

 private:
  const float* query(int64_t row) const {
    return view_.q + (row * usage_.shape_.n_heads + head_) * usage_.shape_.head_dim;
  }
  const float* key(int64_t row) const {
    const int64_t group = usage_.shape_.n_heads / usage_.shape_.n_kv_heads;
    return view_.k + (row * usage_.shape_.n_kv_heads + head_ / group) * usage_.shape_.head_dim;
  }

  // First and second coordinates of the keys' pairs, each (n_rows, n_pairs).
  void split_keys() {
    k0_.clear();
    k1_.clear();
    for (int64_t row = 0; row < view_.n_rows; ++row) {
      const float* const from = key(row);
      for (int64_t pair = 0; pair < rotary_.layout.n_pairs(); ++pair) {
        k0_.push_back(from[rotary_.layout.first(pair)]);
        k1_.push_back(from[rotary_.layout.second(pair)]);
      }
    }
  }

  int64_t first_key(int64_t row) const {
    const int64_t window = rotary_.visibility.window;
    const int64_t chunk = view_.chunk == 0 ? 0 : row / view_.chunk * view_.chunk;
    return std::max(chunk, window > row ? 0 : row - window + 1);
  }

  // What each pair adds, and the whole, for every key in sight.
  void score_keys(int64_t row) {
    const PairLayout& layout = rotary_.layout;
    const float* const q = query(row);
    const float scale = view_.row_scale[row];
    q0_.clear();
    q1_.clear();
    for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
      q0_.push_back(scale * q[layout.first(pair)]);
      q1_.push_back(scale * q[layout.second(pair)]);
    }
    first_ = first_key(row);
    const auto count = static_cast<size_t>(row + 1 - first_);
    parts_.resize(count * width_);
    scores_.resize(count);
    for (int64_t j = first_; j <= row; ++j) {
      float* const parts = parts_.data() + static_cast<size_t>(j - first_) * width_;
      turn(j, row - j, parts);
      float passed = 0;
      for (int64_t x = layout.rotary_dim; x < layout.head_dim; ++x)
        passed += scale * q[x] * key(j)[x];
      parts[n_pairs_] = passed;
      double whole = 0;
      for (size_t c = 0; c < width_; ++c) whole += static_cast<double>(parts[c]);
      scores_[static_cast<size_t>(j - first_)] = whole;
    }
  }

  void turn(int64_t j, int64_t d, float* parts) const {
    const float* const k0 = k0_.data() + static_cast<size_t>(j) * n_pairs_;
    const float* const k1 = k1_.data() + static_cast<size_t>(j) * n_pairs_;
    const float* const cos = angles_.cos.data() + static_cast<size_t>(d) * n_pairs_;
    const float* const sin = angles_.sin.data() + static_cast<size_t>(d) * n_pairs_;
    for (size_t c = 0; c < n_pairs_; ++c) {
      parts[c] =
          (q0_[c] * k0[c] + q1_[c] * k1[c]) * cos[c] - (q1_[c] * k0[c] - q0_[c] * k1[c]) * sin[c];
    }
  }

  // Softmax, with what the model does to scores before it.
  void weigh_keys(int64_t row) {
    const auto softcap = static_cast<double>(view_.softcap);
    weights_ = scores_;
    if (softcap > 0) {
      for (double& x : weights_) x = softcap * std::tanh(x / softcap);
    }
    double highest = std::ranges::max(weights_);
    const bool sink = !view_.sinks.empty();
    if (sink) highest = std::max(highest, static_cast<double>(view_.sinks[head_]));
    double total = sink ? std::exp(static_cast<double>(view_.sinks[head_]) - highest) : 0.0;
    for (double& x : weights_) {
      x = std::exp(x - highest);
      total += x;
    }
    for (double& x : weights_) x /= total;
    if (std::isfinite(total)) return;
    throw Error("layer " + std::to_string(view_.layer) + ", row " + std::to_string(row),
                "attention must be finite", std::to_string(total));
  }

  void gather(int64_t row, HeadSums& sums) {
    for (Cell& cell : cells_) cell.clear(width_);
    for (int64_t j = first_; j < row; ++j) {
      const auto at = static_cast<size_t>(j - first_);
      if (j < usage_.options_.skipped_keys) {
        sums.first += weights_[at];
        continue;
      }
      const Relation related = usage_.places_.empty()
                                   ? Relation::kSentence
                                   : relation(usage_.places_[row], usage_.places_[j]);
      const size_t cell = distance_band(row - j) * kRelations + static_cast<size_t>(related);
      cells_[cell].add(parts_.data() + at * width_, width_, scores_[at], weights_[at]);
    }
    sums.own += weights_.back();
    for (size_t band = 0; band < kDistanceBands; ++band)
      fold(band * kRelations, 1, kRelations, sums.bands[band]);
    if (usage_.places_.empty()) return;
    for (size_t related = 0; related < kRelations; ++related)
      fold(related, kRelations, kDistanceBands, sums.relations[related]);
  }

  // Adds the cells first, first + step, ... to a group.
  void fold(size_t first, size_t step, size_t count, GroupSums& group) {
    whole_.clear(width_);
    for (size_t k = 0; k < count; ++k) whole_.add(cells_[first + k * step]);
    if (whole_.n == 0) return;
    const auto n = static_cast<double>(whole_.n);
    const double weight = whole_.attention;
    const double score = whole_.score / n;
    group.attention += weight;
    group.n_scores += whole_.n;
    group.score += whole_.score;
    group.variance += weight * (whole_.score_square / n - score * score);
    for (size_t c = 0; c < width_; ++c) {
      const double mean = whole_.sum[c] / n;
      PairSums& pair = group.pairs[c];
      pair.mean += weight * mean;
      pair.variance += weight * (whole_.square[c] / n - mean * mean);
      pair.covariance += weight * (whole_.cross[c] / n - mean * score);
      pair.pull += whole_.attended[c] - weight * mean;
    }
  }

  const BandUsage& usage_;
  const LayerView& view_;
  const Rotary& rotary_;
  const Angles& angles_;
  size_t n_pairs_;
  size_t width_;
  int64_t head_ = 0;
  int64_t first_ = 0;  // key in sight
  std::vector<float> k0_, k1_, q0_, q1_;
  std::vector<float> parts_;     // (keys, n_pairs + 1)
  std::vector<double> scores_;   // (keys)
  std::vector<double> weights_;  // (keys)
  std::array<Cell, kCells> cells_;
  Cell whole_;
};

BandUsage::BandUsage(const ModelShape& shape, const Positions& positions,
                     const UsageOptions& options)
    : shape_(shape), positions_(positions), options_(options) {
  for (const size_t scheme : positions.layers) {
    const Rotary& rotary = positions.schemes[scheme];
    if (rotary.distance.depends_on_length() || !rotary.distance.is_identity() ||
        rotary.visibility.sinks > 0) {
      throw Error("positions",
                  "must be those of true distances, or no pair has a distance of its own",
                  "a distance map");
    }
    const auto width = static_cast<size_t>(rotary.layout.n_pairs()) + 1;
    HeadSums sums;
    for (GroupSums& group : sums.bands) group.pairs.resize(width);
    for (GroupSums& group : sums.relations) group.pairs.resize(width);
    sums_.insert(sums_.end(), static_cast<size_t>(shape.n_heads), sums);
  }
}

int64_t BandUsage::angle_bytes(const Positions& positions, int64_t n_tokens) {
  int64_t entries = 0;
  for (const Rotary& rotary : positions.schemes)
    entries += (farthest_seen(rotary, n_tokens) + 1) * rotary.layout.n_pairs();
  return entries * 2 * static_cast<int64_t>(sizeof(float));
}

void BandUsage::begin(int64_t n_tokens, std::span<const TextPlace> places) {
  n_tokens_ = n_tokens;
  places_ = places;
  std::mt19937_64 generator(options_.seed + static_cast<uint64_t>(n_queries_));
  rows_ = sample_rows(options_.skipped_keys, n_tokens, options_.queries, generator);
  n_queries_ += static_cast<int64_t>(rows_.size());
  distance_counts_.resize(std::max(distance_counts_.size(), static_cast<size_t>(n_tokens)));
  for (const int64_t row : rows_) {
    for (int64_t d = 1; d <= row - options_.skipped_keys; ++d) ++distance_counts_[d];
  }
  std::vector<int64_t> distances;
  angles_.clear();
  for (const Rotary& rotary : positions_.schemes) {
    distances.resize(static_cast<size_t>(farthest_seen(rotary, n_tokens)) + 1);
    std::iota(distances.begin(), distances.end(), 0);
    const DistanceTable table = distance_table(rotary, n_tokens, distances);
    const auto n_pairs = static_cast<size_t>(rotary.layout.n_pairs());
    Angles angles{.cos = std::vector<float>(table.cos.size()),
                  .sin = std::vector<float>(table.sin.size())};
    for (size_t pair = 0; pair < n_pairs; ++pair) {
      for (size_t d = 0; d < distances.size(); ++d) {
        angles.cos[d * n_pairs + pair] = static_cast<float>(table.cos[pair * distances.size() + d]);
        angles.sin[d * n_pairs + pair] = static_cast<float>(table.sin[pair * distances.size() + d]);
      }
    }
    angles_.push_back(std::move(angles));
  }
}

void BandUsage::add(const LayerView& view) {
  parallel_for(
      shape_.n_heads, [&] { return HeadPass(*this, view); },
      [&](int64_t head, HeadPass& pass) {
        pass.run(head, sums_[view.layer * shape_.n_heads + head]);
      });
}

GroupUsage BandUsage::finished(const GroupSums& sums, int64_t n_queries) {
  GroupUsage usage{.n_scores = sums.n_scores, .pairs = {}};
  usage.pairs.resize(sums.pairs.size());
  if (sums.n_scores == 0) return usage;
  usage.attention = sums.attention / static_cast<double>(n_queries);
  usage.score = sums.score / static_cast<double>(sums.n_scores);
  if (sums.attention <= 0) return usage;
  usage.variance = sums.variance / sums.attention;
  for (size_t c = 0; c < sums.pairs.size(); ++c) {
    const PairSums& pair = sums.pairs[c];
    usage.pairs[c] = {.mean = pair.mean / sums.attention,
                      .variance = std::max(0.0, pair.variance / sums.attention),
                      .share = sums.variance > 0 ? pair.covariance / sums.variance : 0,
                      .pull = pair.pull / sums.attention};
  }
  return usage;
}

std::vector<HeadUsage> BandUsage::usage() const {
  std::vector<HeadUsage> all;
  for (size_t k = 0; k < sums_.size(); ++k) {
    const auto n = static_cast<double>(n_queries_);
    HeadUsage head{.layer = static_cast<int64_t>(k) / shape_.n_heads,
                   .head = static_cast<int64_t>(k) % shape_.n_heads,
                   .own_attention = sums_[k].own / n,
                   .first_attention = sums_[k].first / n,
                   .bands = {},
                   .relations = {}};
    for (size_t band = 0; band < kDistanceBands; ++band)
      head.bands[band] = finished(sums_[k].bands[band], n_queries_);
    for (size_t related = 0; related < kRelations; ++related)
      head.relations[related] = finished(sums_[k].relations[related], n_queries_);
    all.push_back(std::move(head));
  }
  return all;
}

}  // namespace ropewalk
