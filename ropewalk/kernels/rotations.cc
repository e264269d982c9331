#include "ropewalk/kernels/rotations.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {

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
        heard.push_back(
            {pair, query->cos_of(pair), query->sin_of(pair), key->cos_of(pair), key->sin_of(pair)});
      }
    }
  }

  void fill_by_distance() {
    const int64_t n = out_.plan_.n_by_distance;
    out_.by_distance_ = RotationTable(shared_.n_pairs(), n + 2 * kDistanceMargin);
    const double amplitude = shared_.amplitude * shared_.amplitude;
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
      for (int64_t d = 0; d < n; ++d) {
        const PairAngle angle = distance_turns(rotary_, shared_, pair, d);
        if (angle.silent) continue;  // the table is zero there
        fill_rotation_entry(angle.turns, amplitude, pair, kDistanceMargin + n - 1 - d,
                            out_.by_distance_);
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
    std::vector<bool> wanted;                           // (n_pairs)
    std::vector<int64_t> slot;                          // (n_pairs), of each wanted pair
    const RotationTable* table = nullptr;

    const float* cos_of(int64_t pair) const { return table->cos_of(slot[pair]); }
    const float* sin_of(int64_t pair) const { return table->sin_of(slot[pair]); }
  };

  struct TurnedPair {
    int64_t pair = 0;
    const Made* query = nullptr;
    const Made* key = nullptr;
  };

  int64_t end_row() const { return out_.first_row_ + out_.n_rows_; }

  std::vector<TurnedPair> turned_pairs(const PlanBranch& branch) {
    std::vector<TurnedPair> turned;
    for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
      switch (branch.pairs[pair]) {
        case PairState::kSilent:
          break;
        case PairState::kMapped:
          turned.push_back({pair,
                            want_query(pair, branch.positions.query_of(pair), branch.query_limit),
                            want_key(pair, branch.positions.key_of(pair), branch.key_positions)});
          break;
        case PairState::kTrue:
          turned.push_back(
              {pair, want_query(pair, {}, branch.query_limit), want_key(pair, {}, {})});
          break;
        case PairState::kFrozen:
          turned.push_back({pair, want(pair, Side::kFrozenQuery, {}, kUnbounded, nullptr),
                            want_key(pair, fixed_position(0.0), {})});
          break;
      }
    }
    return turned;
  }

  const Made* want_query(int64_t pair, const PositionMap& map, int64_t limit) {
    const int64_t bound = limit < end_row() ? limit : kUnbounded;  // an idle limit is no limit
    return want(pair, Side::kQuery, map, bound, nullptr);
  }

  const Made* want_key(int64_t pair, const PositionMap& map,
                       const std::vector<DoubleDouble>& listed) {
    return want(pair, Side::kKey, map, kUnbounded, listed.empty() ? nullptr : &listed);
  }

  const Made* want(int64_t pair, Side side, const PositionMap& map, int64_t limit,
                   const std::vector<DoubleDouble>* listed) {
    auto made = std::ranges::find_if(made_, [&](const Made& known) {
      return known.side == side && known.limit == limit && known.listed == listed &&
             known.map == map;
    });
    if (made == made_.end()) {
      made_.push_back({.side = side, .map = map, .limit = limit, .listed = listed});
      made = std::prev(made_.end());
      made->wanted.resize(static_cast<size_t>(shared_.n_pairs()));
    }
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
    made.table = &table_of(pairs, first, positions);
  }

  // A few sinks may have positions of their own; the others of their tiles are masked.
  static DoubleDouble position(const Made& made, int64_t token) {
    if (made.listed == nullptr) return made.map(std::min(token, made.limit));
    return token < std::ssize(*made.listed) ? (*made.listed)[token] : DoubleDouble();
  }

  // Row r holds the angle at positions[r] under the spectrum that token first + r sees.
  const RotationTable& table_of(const std::vector<int64_t>& pairs, int64_t first,
                                const std::vector<DoubleDouble>& positions) {
    RotationTable& table = out_.tables_.emplace_back(std::ssize(pairs), std::ssize(positions));
    if (rotary_.spectrum.length() != SpectrumRule::Length::kToken) {
      fill_rotation_rows(shared_, pairs, mode_, positions, 0, table);
      return table;
    }
    for (int64_t r = 0; r < std::ssize(positions); ++r) {
      const Spectrum own =
          rotary_.spectrum.at(rotary_.spectrum.length_for_row(first + r, sequence_length_));
      fill_rotation_rows(own, pairs, mode_, std::span(positions).subspan(static_cast<size_t>(r), 1),
                         r, table);
    }
    return table;
  }

  const RotationTable& frozen(const std::vector<int64_t>& pairs) {
    RotationTable& table = out_.tables_.emplace_back(std::ssize(pairs), out_.n_rows_);
    for (int64_t slot = 0; slot < std::ssize(pairs); ++slot) {
      for (int64_t r = 0; r < out_.n_rows_; ++r) {
        fill_rotation_entry(rotary_.mask.turns, shared_.amplitude, slot, r, table);
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
    : first_row_(first_row), n_rows_(n_rows), layout_(rotary.layout) {
  const SpectrumRule& rule = rotary.spectrum;
  const int64_t end = first_row + n_rows;
  const int64_t length = rule.length() == SpectrumRule::Length::kToken
                             ? end
                             : rule.length_for_row(end - 1, sequence_length);
  const Rotary fixed = at_length(rotary, length);
  const Spectrum spectrum = rule.at(length);
  plan_ = plan_rotation(fixed, spectrum, end);
  Builder builder(*this, fixed, spectrum, sequence_length, mode);
  builder.fill_branches();
  if (plan_.by_distance) builder.fill_by_distance();
}

int64_t Rotations::table_bytes() const {
  const auto bytes = [](const RotationTable& table) {
    return static_cast<int64_t>((table.cos.size() + table.sin.size()) * sizeof(float));
  };
  int64_t sum = bytes(by_distance_);
  for (const RotationTable& table : tables_) sum += bytes(table);
  return sum;
}

std::vector<int64_t> rotation_spans(const SpectrumRule& rule, int64_t first_row, int64_t last_row) {
  std::vector<int64_t> starts = {first_row};
  if (rule.length() != SpectrumRule::Length::kBlock) return starts;
  for (int64_t next = (first_row / rule.block() + 1) * rule.block(); next < last_row;
       next += rule.block()) {
    starts.push_back(next);
  }
  return starts;
}

}  // namespace ropewalk
