#include "ropewalk/kernels/rotations.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

constexpr int64_t kLongestDecayBlock = int64_t{1} << 53;

double steepest(const std::vector<double>& decay) {
  double most = 0;
  for (const double pair : decay) most = std::max(most, std::abs(pair));
  return most;
}

KeyInterval hull(const KeyInterval& a, const KeyInterval& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

// Multiplies the entries of row r by exp(rate * (positions[r] - centre)), at most e^kMostLogGain.
void fade(double rate, DoubleDouble centre, std::span<const DoubleDouble> positions, int64_t pair,
          RotationTable& table) {
  float* const cos = table.cos.data() + pair * table.stride;
  float* const sin = table.sin.data() + pair * table.stride;
  for (size_t r = 0; r < positions.size(); ++r) {
    const double log_gain = rate * static_cast<double>(positions[r] - centre);
    const double gain = std::exp(std::min(log_gain, kMostLogGain));
    cos[r] = static_cast<float>(cos[r] * gain);
    sin[r] = static_cast<float>(sin[r] * gain);
  }
}

}  // namespace

// Makes each distinct table once, with the pairs that some branch hears in it.
class Rotations::Builder {
 public:
  //   rotary  with a map free of the length; kept by reference
  Builder(Rotations& out, const Rotary& rotary, const Spectrum& shared, int64_t sequence_length,
          AngleMode mode)
      : out_(out),
        rotary_(rotary),
        shared_(shared),
        sequence_length_(sequence_length),
        mode_(mode) {}

  void fill_branches() {
    std::vector<std::vector<TurnedPair>> turned;
    for (const PlanBranch& branch : out_.plan_.branches) turned.push_back(turned_pairs(branch));
    for (Made& made : made_) fill(made);
    for (const std::vector<TurnedPair>& branch : turned) {
      std::vector<HeardPair>& heard = out_.heard_.emplace_back();
      for (const auto& [pair, query, key] : branch) {
        heard.push_back({pair, query->cos_of(pair), query->sin_of(pair), key->cos_of(pair),
                         key->sin_of(pair), query->steady_of(pair), key->steady_of(pair)});
      }
    }
  }

 private:
  enum class Side { kQuery, kKey, kFrozenQuery };

  // A table to be made: row r holds token first + r.
  struct Made {
    Side side = Side::kQuery;
    PositionMap map;
    int64_t limit = kUnbounded;                         // of a query's position
    const std::vector<DoubleDouble>* listed = nullptr;  // positions of the first keys, for `map`
    DoubleDouble centre;                                // of a decay
    KeyInterval seen;                                   // the tokens that some branch takes from it
    std::vector<bool> wanted;                           // (n_pairs)
    std::vector<int64_t> slot;                          // (n_pairs), of each wanted pair
    const RotationTable* table = nullptr;
    const RotationTable* anchors = nullptr;  // null where the rows are not steady
    const RotationTable* steps = nullptr;

    const float* cos_of(int64_t pair) const { return table->cos_of(slot[pair]); }
    const float* sin_of(int64_t pair) const { return table->sin_of(slot[pair]); }
    SteadyRows steady_of(int64_t pair) const {
      if (anchors == nullptr) return {};
      const int64_t own = slot[pair];
      return {anchors->cos_of(own), anchors->sin_of(own), steps->cos_of(own), steps->sin_of(own)};
    }
  };

  struct TurnedPair {
    int64_t pair = 0;
    const Made* query = nullptr;
    const Made* key = nullptr;
  };

  int64_t end_row() const { return out_.first_row_ + out_.n_rows_; }

  bool decays() const { return !shared_.decay.empty(); }

  // The rows for which a branch holds, and the keys that they see in it.
  struct Seen {
    KeyInterval rows;
    KeyInterval keys;
  };
  Seen seen_in(const PlanBranch& branch) const {
    Seen seen;
    if (!decays()) return seen;
    for (int64_t i = out_.first_row_; i < end_row(); ++i) {
      const KeyInterval keys = branch.keys(i);
      if (keys.empty()) continue;
      seen.rows = hull(seen.rows, {i, i + 1});
      seen.keys = hull(seen.keys, keys);
    }
    return seen;
  }

  // In the middle of the queries of the rows that share it.
  DoubleDouble centre_of(const PositionMap& query, int64_t limit) const {
    if (!decays()) return {};
    const int64_t block = decay_block(shared_);
    if (block == kUnbounded) return {};
    const int64_t first = out_.first_row_ / block * block;
    const int64_t last = first + block - 1;
    return (query(std::min(first, limit)) + query(std::min(last, limit))) / 2.0;
  }

  std::vector<TurnedPair> turned_pairs(const PlanBranch& branch) {
    const Seen seen = seen_in(branch);
    const auto turn = [&](int64_t pair, const PositionMap& query, const PositionMap& key,
                          const std::vector<DoubleDouble>& listed) {
      const DoubleDouble centre = centre_of(query, branch.query_limit);
      const Made* const of_query = want(pair, {.side = Side::kQuery,
                                               .map = query,
                                               .limit = idle_or(branch.query_limit),
                                               .centre = centre,
                                               .seen = seen.rows});
      return TurnedPair{pair, of_query, want_key(pair, key, listed, centre, seen.keys)};
    };
    std::vector<TurnedPair> turned;
    for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
      switch (branch.pairs[pair]) {
        case PairState::kSilent:
          break;
        case PairState::kMapped:
          turned.push_back(turn(pair, branch.positions.query_of(pair),
                                branch.positions.key_of(pair), branch.key_positions));
          break;
        case PairState::kTrue:
          turned.push_back(turn(pair, {}, {}, {}));
          break;
        case PairState::kFrozen:
          turned.push_back({pair, want(pair, {.side = Side::kFrozenQuery}),
                            want_key(pair, fixed_position(0.0), {}, {}, seen.keys)});
          break;
      }
    }
    return turned;
  }

  // A limit that no row reaches is no limit.
  int64_t idle_or(int64_t limit) const { return limit < end_row() ? limit : kUnbounded; }

  const Made* want_key(int64_t pair, const PositionMap& map,
                       const std::vector<DoubleDouble>& listed, DoubleDouble centre,
                       const KeyInterval& seen) {
    return want(pair, {.side = Side::kKey,
                       .map = map,
                       .listed = listed.empty() ? nullptr : &listed,
                       .centre = centre,
                       .seen = seen});
  }

  const Made* want(int64_t pair, const Made& wanted) {
    auto made = std::ranges::find_if(made_, [&](const Made& known) {
      return known.side == wanted.side && known.limit == wanted.limit &&
             known.listed == wanted.listed && known.centre == wanted.centre &&
             known.map == wanted.map;
    });
    if (made == made_.end()) {
      made_.push_back(wanted);
      made = std::prev(made_.end());
      made->wanted.resize(static_cast<size_t>(shared_.n_pairs()));
    }
    made->seen = hull(made->seen, wanted.seen);
    made->wanted[pair] = true;
    return &*made;
  }

  void fill(Made& made) {
    std::vector<int64_t> pairs;
    made.slot.resize(made.wanted.size());
    for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
      if (!made.wanted[pair]) continue;
      made.slot[pair] = std::ssize(pairs);
      pairs.push_back(pair);
    }
    if (made.side == Side::kFrozenQuery) {
      made.table = &frozen(pairs);
      return;
    }
    const int64_t first = made.side == Side::kQuery ? out_.first_row_ : 0;
    std::vector<DoubleDouble> positions;
    positions.reserve(static_cast<size_t>(end_row() - first));
    for (int64_t token = first; token < end_row(); ++token) {
      positions.push_back(position(made, token));
    }
    RotationTable& table = table_of(pairs, first, positions);
    made.table = &table;
    if (is_steady(made)) fill_steady(made, pairs, first);
    if (!decays()) return;
    check_range(made, pairs);
    const double sign = made.side == Side::kQuery ? 1 : -1;
#pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < std::ssize(pairs); ++slot) {
      fade(sign * shared_.decay[pairs[slot]], made.centre, positions, slot, table);
    }
  }

  // Whether tokens rise alike, or in groups that do, from each anchor on. kFloat32 rounds each on its
  // own.
  bool is_steady(const Made& made) const {
    const PositionMap& map = made.map;
    return mode_ == AngleMode::kExact && !decays() && out_.keys_share_spectrum_ &&
           made.listed == nullptr && made.limit == kUnbounded && kSteadyRows % map.group == 0 &&
           map.period == kUnbounded && map.steps.empty() && std::isinf(map.limit);
  }

  void fill_steady(Made& made, const std::vector<int64_t>& pairs, int64_t first) {
    std::vector<DoubleDouble> positions;
    const int64_t first_anchor = first / kSteadyRows;
    // Two more than are needed: two are read at once, also of rows that fill up a block.
    for (int64_t anchor = first_anchor; anchor <= end_row() / kSteadyRows + 2; ++anchor)
      positions.push_back(made.map(anchor * kSteadyRows));
    made.anchors = &table_of(pairs, first, positions);
    positions.clear();
    for (int64_t step = 0; step < kSteadyRows + kStepsAgain; ++step)
      positions.push_back(made.map.slope * DoubleDouble(step % kSteadyRows / made.map.group));
    Spectrum unscaled = shared_;
    unscaled.amplitude = 1;
    RotationTable& steps = out_.tables_.emplace_back(std::ssize(pairs), std::ssize(positions));
    fill_rotation_table(unscaled, pairs, mode_, positions, 0, steps);
    made.steps = &steps;
  }

  // What is too far behind a key's centre fades away; all else that is seen must be in range.
  void check_range(const Made& made, const std::vector<int64_t>& pairs) const {
    double decay = 0;
    for (const int64_t pair : pairs) decay = std::max(decay, std::abs(shared_.decay[pair]));
    for (int64_t token = made.seen.first; token < made.seen.last; ++token) {
      const double ahead = decay * static_cast<double>(position(made, token) - made.centre);
      if (ahead <= kMostLogGain && (made.side == Side::kKey || ahead >= -kMostLogGain)) continue;
      throw Error("decay", "must stay within e^-40 to e^40 over the rows of a pass",
                  "e^" + std::to_string(ahead) + " at token " + std::to_string(token),
                  "give fewer rows at once, a gentler decay, or a map that keeps positions closer");
    }
  }

  // A few sinks may have positions of their own; the others of their tiles are masked.
  static DoubleDouble position(const Made& made, int64_t token) {
    if (made.listed == nullptr) return made.map(std::min(token, made.limit));
    return token < std::ssize(*made.listed) ? (*made.listed)[token] : DoubleDouble();
  }

  // Row r holds the angle at positions[r] under the spectrum that token first + r sees.
  RotationTable& table_of(const std::vector<int64_t>& pairs, int64_t first,
                          const std::vector<DoubleDouble>& positions) {
    RotationTable& table = out_.tables_.emplace_back(std::ssize(pairs), std::ssize(positions));
    if (rotary_.spectrum.length() != SpectrumRule::Length::kToken) {
      fill_rotation_table(shared_, pairs, mode_, positions, 0, table);
      return table;
    }
    for (int64_t r = 0; r < std::ssize(positions); ++r) {
      const Spectrum own =
          rotary_.spectrum.at(rotary_.spectrum.length_for_row(first + r, sequence_length_));
      fill_rotation_table(own, pairs, mode_,
                          std::span(positions).subspan(static_cast<size_t>(r), 1), r, table);
    }
    return table;
  }

  const RotationTable& frozen(const std::vector<int64_t>& pairs) {
    RotationTable& table = out_.tables_.emplace_back(std::ssize(pairs), out_.n_rows_);
    for (int64_t slot = 0; slot < std::ssize(pairs); ++slot) {
      const DoubleDouble speed = abs(shared_.turns_per_token[pairs[slot]]);
      const DoubleDouble turns = frozen_turns(rotary_.mask, shared_.turns_per_token[pairs[slot]]);
      const double log_gain =
          shared_.decay_of(pairs[slot]) * static_cast<double>(rotary_.mask.turns / speed);
      for (int64_t r = 0; r < out_.n_rows_; ++r) {
        fill_rotation_entry(turns, shared_.amplitude * std::exp(log_gain), slot, r, table);
      }
    }
    return table;
  }

  Rotations& out_;
  const Rotary& rotary_;
  const Spectrum& shared_;  // of every row, or of the last where tokens differ
  int64_t sequence_length_;
  AngleMode mode_;
  std::deque<Made> made_;  // addresses stay
};

Rotations::Rotations(const Rotary& rotary, int64_t sequence_length, int64_t first_row,
                     int64_t n_rows, AngleMode mode)
    : first_row_(first_row),
      n_rows_(n_rows),
      keys_share_spectrum_(rotary.spectrum.length() != SpectrumRule::Length::kToken),
      layout_(rotary.layout) {
  const SpectrumRule& rule = rotary.spectrum;
  const int64_t end = first_row + n_rows;
  const int64_t length = rule.length() == SpectrumRule::Length::kToken
                             ? end
                             : rule.length_for_row(end - 1, sequence_length);
  const Rotary fixed = at_length(rotary, length);
  const Spectrum spectrum = rule.at(length);
  if (rule.length() == SpectrumRule::Length::kToken && !spectrum.decay.empty()) {
    throw Error("decay", "goes with no spectrum of its own for every token", "both",
                "take another spectrum");
  }
  plan_ = plan_rotation(fixed, spectrum, end);
  Builder builder(*this, fixed, spectrum, sequence_length, mode);
  builder.fill_branches();
  if (plan_.by_distance) by_distance_ = table_by_distance(fixed, spectrum, plan_.n_by_distance);
}

RotationTable table_by_distance(const Rotary& rotary, const Spectrum& spectrum,
                                int64_t n_by_distance) {
  const int64_t nearest = Rotations::kDistanceMargin + n_by_distance - 1;
  RotationTable table(spectrum.n_pairs(), n_by_distance + 2 * Rotations::kDistanceMargin);
  const double amplitude = spectrum.amplitude * spectrum.amplitude;
  const auto fill_pair = [&](int64_t pair, int /*state*/) {
    for (int64_t d = 0; d < n_by_distance; ++d) {
      const PairAngle angle = distance_turns(rotary, spectrum, pair, d);
      if (angle.silent) continue;  // the table is zero there
      fill_rotation_entry(angle.turns, amplitude * std::exp(angle.log_gain), pair, nearest - d,
                          table);
    }
  };
  parallel_for(
      spectrum.n_pairs(), [] { return 0; }, fill_pair);
  return table;
}

int64_t Rotations::table_bytes() const {
  const auto bytes = [](const RotationTable& table) {
    return 2 * table.n_pairs * table.stride * static_cast<int64_t>(sizeof(float));
  };
  int64_t sum = bytes(by_distance_);
  for (const RotationTable& table : tables_) sum += bytes(table);
  return sum;
}

int64_t decay_block(const Spectrum& spectrum) {
  const double decay = steepest(spectrum.decay);
  if (decay == 0) return kUnbounded;
  const double rows = std::max(1.0, 2 * kMostLogGain / decay);
  return rows >= kLongestDecayBlock ? kUnbounded : int64_t{1} << std::ilogb(rows);
}

std::vector<int64_t> rotation_spans(const SpectrumRule& rule, int64_t first_row, int64_t last_row) {
  std::vector<int64_t> starts = {first_row};
  const auto split_at_multiples = [&](int64_t block) {
    for (int64_t next = first_row / block + 1; next <= (last_row - 1) / block; ++next) {
      starts.push_back(next * block);
    }
  };
  if (rule.length() == SpectrumRule::Length::kBlock) split_at_multiples(rule.block());
  split_at_multiples(decay_block(rule.at(std::max<int64_t>(last_row, 1))));
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

}  // namespace ropewalk
