#include "ropewalk/kernels/rotations.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {

// Makes each distinct table once.
class Rotations::Builder {
 public:
  Builder(Rotations& out, const Rotary& rotary, int64_t sequence_length, AngleMode mode)
      : out_(out), rotary_(rotary), sequence_length_(sequence_length), mode_(mode) {
    if (rotary_.spectrum.length() != SpectrumRule::Length::kToken) {
      const int64_t last_row = out_.first_row_ + out_.n_rows_ - 1;
      shared_ = rotary_.spectrum.at(rotary_.spectrum.length_for_row(last_row, sequence_length_));
      tokens_differ_ = false;
    } else {
      shared_ = rotary_.spectrum.at(out_.first_row_ + out_.n_rows_);
      tokens_differ_ = true;
    }
  }

  const Spectrum& spectrum() const { return shared_; }

  std::vector<HeardPair> heard(const PlanBranch& branch) {
    std::vector<HeardPair> heard;
    const RotationTable* listed = branch.key_positions.empty() ? nullptr : &listed_keys(branch);
    const auto position = [](const PositionMap& map) {
      return [&map](int64_t p) { return map(p); };
    };
    const auto own = [](int64_t p) { return DoubleDouble(p); };
    for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
      switch (branch.pairs[pair]) {
        case PairState::kSilent:
          break;
        case PairState::kMapped:
          heard.push_back(
              rows(pair, query_table(branch.query, branch.query_limit, position(branch.query)),
                   listed != nullptr ? *listed : key_table(branch.key, position(branch.key))));
          break;
        case PairState::kTrue:
          heard.push_back(rows(pair, query_table({}, branch.query_limit, own), key_table({}, own)));
          break;
        case PairState::kFrozen:
          heard.push_back(rows(pair, frozen_query(), key_table(fixed_position(0.0), [](int64_t) {
                                 return DoubleDouble();
                               })));
          break;
      }
    }
    return heard;
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
  using Position = std::function<DoubleDouble(int64_t)>;
  struct Made {
    bool query = false;
    PositionMap map;
    int64_t limit = kUnbounded;
    const RotationTable* table = nullptr;
  };

  static HeardPair rows(int64_t pair, const RotationTable& query, const RotationTable& key) {
    return {pair, query.cos_of(pair), query.sin_of(pair), key.cos_of(pair), key.sin_of(pair)};
  }

  // Row r holds the angle at position(token(r)) under the spectrum that token first + r sees.
  const RotationTable& make(int64_t first, int64_t count, const Position& position) {
    RotationTable& table = out_.tables_.emplace_back(shared_.n_pairs(), count);
    std::vector<DoubleDouble> positions;
    positions.reserve(static_cast<size_t>(count));
    for (int64_t r = 0; r < count; ++r) positions.push_back(position(first + r));
    if (!tokens_differ_) {
      fill_rotation_rows(shared_, mode_, positions, 0, table);
      return table;
    }
    for (int64_t r = 0; r < count; ++r) {
      const Spectrum own =
          rotary_.spectrum.at(rotary_.spectrum.length_for_row(first + r, sequence_length_));
      fill_rotation_rows(own, mode_, std::span(positions).subspan(static_cast<size_t>(r), 1), r,
                         table);
    }
    return table;
  }

  const RotationTable& query_table(const PositionMap& map, int64_t limit,
                                   const Position& position) {
    const int64_t bound =
        limit < out_.first_row_ + out_.n_rows_ ? limit : kUnbounded;  // an idle limit is no limit
    return find_or_make({.query = true, .map = map, .limit = bound}, out_.first_row_, out_.n_rows_,
                        [&](int64_t i) { return position(std::min(i, bound)); });
  }

  const RotationTable& key_table(const PositionMap& map, const Position& position) {
    return find_or_make({.query = false, .map = map}, 0, out_.first_row_ + out_.n_rows_, position);
  }

  // A few sinks with positions of their own; tiles read whole tiles of rows, so the table has one
  // at least.
  const RotationTable& listed_keys(const PlanBranch& branch) {
    const auto listed = static_cast<int64_t>(branch.key_positions.size());
    return make(0, std::max(listed, out_.first_row_ + out_.n_rows_),
                [&](int64_t j) { return j < listed ? branch.key_positions[j] : DoubleDouble(); });
  }

  const RotationTable& frozen_query() {
    if (frozen_ == nullptr) {
      RotationTable& table = out_.tables_.emplace_back(shared_.n_pairs(), out_.n_rows_);
      for (int64_t pair = 0; pair < shared_.n_pairs(); ++pair) {
        for (int64_t r = 0; r < out_.n_rows_; ++r) {
          fill_rotation_entry(rotary_.mask.turns, shared_.amplitude, pair, r, table);
        }
      }
      frozen_ = &table;
    }
    return *frozen_;
  }

  const RotationTable& find_or_make(Made wanted, int64_t first, int64_t count,
                                    const Position& position) {
    for (const Made& made : made_) {
      if (made.query == wanted.query && made.limit == wanted.limit && made.map == wanted.map)
        return *made.table;
    }
    wanted.table = &make(first, count, position);
    made_.push_back(wanted);
    return *wanted.table;
  }

  Rotations& out_;
  const Rotary& rotary_;
  int64_t sequence_length_;
  AngleMode mode_;
  Spectrum shared_;  // of every row, or of the last where tokens differ
  bool tokens_differ_ = false;
  std::vector<Made> made_;
  const RotationTable* frozen_ = nullptr;
};

Rotations::Rotations(const Rotary& rotary, int64_t sequence_length, int64_t first_row,
                     int64_t n_rows, AngleMode mode)
    : first_row_(first_row), n_rows_(n_rows), layout_(rotary.layout) {
  Builder builder(*this, rotary, sequence_length, mode);
  plan_ = plan_rotation(rotary, builder.spectrum(), first_row + n_rows);
  for (const PlanBranch& branch : plan_.branches) heard_.push_back(builder.heard(branch));
  if (plan_.by_distance) builder.fill_by_distance();
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
