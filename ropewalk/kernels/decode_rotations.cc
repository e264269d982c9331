#include "ropewalk/kernels/decode_rotations.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/rotation_fill.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

int64_t whole_tiles(int64_t tokens) { return (tokens + kTile - 1) / kTile; }

// Whether map(kTile * n + t) - map(kTile * n) is the same for every tile n up to `capacity` tokens. It
// is then the sum of map(t) - map(0) over what t is made of: a part's start, a place in the part.
bool repeats_by_tile(const PositionMap& map, int64_t capacity) {
  if (!map.steps.empty() || kTile % map.group != 0) return false;
  if (map.period < capacity) return map.period % kTile == 0 && std::isinf(map.limit);
  return static_cast<double>(map(capacity)) < map.limit && static_cast<double>(map(0)) < map.limit;
}

bool is_still(const PositionMap& map) {
  return map.steps.empty() && static_cast<double>(map.slope) == 0 &&
         static_cast<double>(map.carry) == 0;
}

void negate_sines(RotationTable& table) {
  for (float& sine : std::span<float>(table.sin)) sine = -sine;
}

}  // namespace

DecodeRotations::DecodeRotations(Rotary rotary, int64_t capacity, AngleMode mode)
    : rotary_(std::move(rotary)), capacity_(capacity), mode_(mode) {
  planned_ = rotary_.spectrum.length() == SpectrumRule::Length::kFixed &&
             !rotary_.distance.depends_on_length() && rotary_.spectrum.at(1).decay.empty();
  if (planned_) plan_all_rows();
}

void DecodeRotations::stand_at(int64_t i, int64_t n_rows) {
  assert(0 <= i && 1 <= n_rows && i + n_rows <= capacity_);
  if (i == row_ && n_rows == n_rows_) return;
  row_ = -1;  // until all is ready
  branches_.clear();
  of_rows_.clear();
  for (int64_t r = 0; r < n_rows; ++r) {
    if (planned_) {
      branches_.push_back(branches_by_plan(i + r));
    } else {
      of_rows_.push_back(tables_of_row(i + r));
      branches_.push_back(branches_by_tables(of_rows_.back()));
    }
  }
  row_ = i;
  n_rows_ = n_rows;
}

// ---- one plan for all rows

void DecodeRotations::plan_all_rows() {
  spectrum_ = rotary_.spectrum.at(1);
  plan_ = plan_rotation(rotary_, spectrum_, capacity_);
  for (const PlanBranch& branch : plan_.branches) {
    std::vector<Heard>& heard = heard_.emplace_back();
    const auto* listed = branch.key_positions.empty() ? nullptr : &branch.key_positions;
    for (int64_t pair = 0; pair < spectrum_.n_pairs(); ++pair) {
      const PairState state = branch.pairs[pair];
      if (state == PairState::kMapped) {
        heard.push_back({pair, state, &key_side(branch.positions.key_of(pair), listed)});
      } else if (state == PairState::kTrue) {
        heard.push_back({pair, state, &key_side({}, nullptr)});
      } else if (state == PairState::kFrozen) {
        heard.push_back({pair, state, &key_side(fixed_position(0.0), nullptr)});
      }
    }
  }
  for (const std::vector<Heard>& heard : heard_) turns_.push_back(query_turns(heard));
  if (plan_.by_distance) {
    by_distance_ = table_by_distance(rotary_, spectrum_, plan_.n_by_distance);
    negate_sines(by_distance_);
  }
}

const DecodeRotations::KeySide& DecodeRotations::key_side(const PositionMap& map,
                                                          const std::vector<DoubleDouble>* listed) {
  for (const KeySide& known : sides_) {
    if (known.map == map && known.listed == listed) return known;
  }
  return sides_.emplace_back(make_key_side(map, listed));
}

DecodeRotations::KeySide DecodeRotations::make_key_side(
    const PositionMap& map, const std::vector<DoubleDouble>* listed) const {
  KeySide side{.map = map, .listed = listed};
  // An engine that rounds its angles rounds them token by token.
  const bool exact = mode_ == AngleMode::kExact;
  if (exact && listed == nullptr && is_still(map)) {
    side.still = true;
    return side;
  }
  std::vector<DoubleDouble> positions;
  if (exact && listed == nullptr && repeats_by_tile(map, capacity_)) {
    for (int64_t place = 0; place < kPartKeys; ++place)
      positions.push_back(map(place * kPartStep) - map(0));
    if (std::ranges::all_of(positions, [](DoubleDouble at) { return at == DoubleDouble(0.0); }))
      return side;
  } else {
    side.by_token = true;
    const int64_t n = listed == nullptr ? capacity_ : std::ssize(*listed);
    for (int64_t token = 0; token < n; ++token)
      positions.push_back(listed == nullptr ? map(token) : (*listed)[token]);
  }
  const int64_t rows = std::ssize(positions);
  side.keys =
      RotationTable(spectrum_.n_pairs(), side.by_token ? whole_tiles(rows) * kTile : kPartKeys);
  fill_rotation_table(spectrum_, mode_, positions, 0, side.keys);
  return side;
}

QueryTurns DecodeRotations::query_turns(const std::vector<Heard>& heard) const {
  QueryTurns turns;
  std::vector<const KeySide*> sides;
  for (const Heard& of : heard) {
    const bool by_place = !of.side->still && !of.side->by_token;
    if (by_place && std::ranges::find(sides, of.side) == sides.end()) sides.push_back(of.side);
  }
  if (sides.empty()) return turns;
  const int64_t n_tiles = whole_tiles(capacity_);
  turns.width = (std::ssize(heard) + kPairMultiple - 1) / kPairMultiple * kPairMultiple;
  turns.starts = AlignedBuffer<float>(static_cast<size_t>(n_tiles * 2 * turns.width));
  turns.parts = AlignedBuffer<float>(static_cast<size_t>(kParts * 2 * turns.width));
  for (AlignedBuffer<float>* entries : {&turns.starts, &turns.parts}) {
    for (size_t at = 0; at < entries->size(); ++at)
      (*entries)[at] = at / turns.width % 2 == 0 ? 1.0F : 0.0F;
  }
  for (const KeySide* side : sides) {
    std::vector<DoubleDouble> starts;
    for (int64_t tile = 0; tile < n_tiles; ++tile) starts.push_back(side->map(tile * kTile));
    place_turns(heard, *side, starts, turns.width, turns.starts);
    std::vector<DoubleDouble> parts;
    for (const int64_t start : kPartStarts) parts.push_back(side->map(start) - side->map(0));
    place_turns(heard, *side, parts, turns.width, turns.parts);
  }
  return turns;
}

// Columns of the pairs that turn as `side` has it.
//   entries  (positions, 2, width)
void DecodeRotations::place_turns(const std::vector<Heard>& heard, const KeySide& side,
                                  const std::vector<DoubleDouble>& positions, int64_t width,
                                  std::span<float> entries) const {
  std::vector<int64_t> columns, pairs;
  for (int64_t c = 0; c < std::ssize(heard); ++c) {
    if (heard[c].side != &side) continue;
    columns.push_back(c);
    pairs.push_back(heard[c].pair);
  }
  Spectrum unscaled = spectrum_;
  unscaled.amplitude = 1;
  RotationTable table(std::ssize(pairs), std::ssize(positions));
  fill_rotation_table(unscaled, pairs, mode_, positions, 0, table);
  for (int64_t row = 0; row < std::ssize(positions); ++row) {
    float* const to = entries.data() + row * 2 * width;
    for (size_t k = 0; k < columns.size(); ++k) {
      to[columns[k]] = table.cos_of(static_cast<int64_t>(k))[row];
      to[width + columns[k]] = table.sin_of(static_cast<int64_t>(k))[row];
    }
  }
}

std::vector<DecodeBranch> DecodeRotations::branches_by_plan(int64_t i) const {
  std::vector<DecodeBranch> branches;
  const int64_t row_of_token_0 = Rotations::kDistanceMargin + plan_.n_by_distance - 1 - i;
  for (const KeyInterval keys : {plan_.keys_by_distance(i), plan_.sinks_by_distance_of(i)}) {
    if (!keys.empty()) branches.push_back(branch_by_distance(keys, by_distance_, row_of_token_0));
  }
  for (size_t b = 0; b < plan_.branches.size(); ++b) {
    DecodeBranch& branch = branches.emplace_back();
    branch.keys = plan_.branches[b].keys(i);
    if (branch.keys.empty()) continue;
    if (turns_[b].width > 0) branch.turns = &turns_[b];
    for (const Heard& heard : heard_[b]) {
      DecodePair pair{.pair = heard.pair};
      place_query(plan_.branches[b], heard, i, pair);
      branch.heard.push_back(pair);
    }
    branch.runs = runs_of(heard_[b]);
  }
  return branches;
}

std::vector<DecodeRun> DecodeRotations::runs_of(const std::vector<Heard>& heard) {
  std::vector<DecodeRun> runs;
  const KeySide* side = nullptr;
  for (const Heard& of : heard) {
    const bool goes_on =
        !runs.empty() && of.side == side && runs.back().first_pair + runs.back().n_pairs == of.pair;
    if (goes_on) {
      ++runs.back().n_pairs;
      continue;
    }
    side = of.side;
    DecodeRun& run = runs.emplace_back(DecodeRun{.first_pair = of.pair, .n_pairs = 1});
    if (side->keys.n_rows == 0) continue;
    run.turn = side->by_token ? KeyTurn::kByToken : KeyTurn::kByPlace;
    run.cos = side->keys.cos_of(of.pair);
    run.sin = side->keys.sin_of(of.pair);
    run.stride = side->keys.stride;
  }
  return runs;
}

void DecodeRotations::place_query(const PlanBranch& branch, const Heard& heard, int64_t i,
                                  DecodePair& pair) const {
  const int64_t standing = std::min(i, branch.query_limit);
  const bool mapped = heard.state == PairState::kMapped;
  DoubleDouble position =
      mapped ? branch.positions.query_of(heard.pair)(standing) : DoubleDouble(standing);
  double amplitude = spectrum_.amplitude;
  if (heard.side->still && mapped) position = position - heard.side->map(0);
  if (heard.side->keys.n_rows == 0) amplitude *= spectrum_.amplitude;
  if (mode_ == AngleMode::kFloat32 && heard.state != PairState::kFrozen) {
    RotationTable entry(1, 1);
    fill_rotation_table(spectrum_, std::array{heard.pair}, mode_, std::array{position}, 0, entry);
    pair.query_cos = entry.cos[0];
    pair.query_sin = entry.sin[0];
    return;
  }
  const CosSin turn =
      heard.state == PairState::kFrozen
          ? cos_sin_of_turns(frozen_turns(rotary_.mask, spectrum_.turns_per_token[heard.pair]))
          : cos_sin_at(position, spectrum_.turns_per_token[heard.pair]);
  pair.query_cos = static_cast<float>(turn.cos * amplitude);
  pair.query_sin = static_cast<float>(turn.sin * amplitude);
}

DecodeBranch DecodeRotations::branch_by_distance(KeyInterval keys, const RotationTable& table,
                                                 int64_t first) const {
  DecodeBranch branch{.keys = keys};
  for (int64_t pair = 0; pair < table.n_pairs; ++pair) branch.heard.push_back({.pair = pair});
  branch.runs.push_back({.n_pairs = table.n_pairs,
                         .turn = KeyTurn::kByToken,
                         .cos = table.cos_of(0) + first,
                         .sin = table.sin_of(0) + first,
                         .stride = table.stride});
  return branch;
}

// ---- tables made for one row

DecodeRotations::RowTables DecodeRotations::tables_of_row(int64_t i) const {
  RowTables made{.rotations = std::make_unique<Rotations>(rotary_, i + 1, i, 1, mode_)};
  if (made.rotations->plan().by_distance) {
    const RotationTable& table = made.rotations->by_distance();
    made.by_distance = RotationTable(table.n_pairs, table.n_rows);
    std::ranges::copy(std::span<const float>(table.cos), made.by_distance.cos.data());
    std::ranges::copy(std::span<const float>(table.sin), made.by_distance.sin.data());
    negate_sines(made.by_distance);
  }
  return made;
}

std::vector<DecodeBranch> DecodeRotations::branches_by_tables(const RowTables& tables) const {
  std::vector<DecodeBranch> branches;
  const Rotations& rotations = *tables.rotations;
  const RotationPlan& plan = rotations.plan();
  const int64_t i = rotations.first_row();
  const int64_t row_of_token_0 = Rotations::kDistanceMargin + plan.n_by_distance - 1 - i;
  for (const KeyInterval keys : {plan.keys_by_distance(i), plan.sinks_by_distance_of(i)}) {
    if (!keys.empty())
      branches.push_back(branch_by_distance(keys, tables.by_distance, row_of_token_0));
  }
  for (size_t b = 0; b < plan.branches.size(); ++b) {
    DecodeBranch branch{.keys = plan.branches[b].keys(i)};
    if (branch.keys.empty()) continue;
    for (const HeardPair& heard : rotations.heard(b)) {
      branch.heard.push_back(
          {.pair = heard.pair, .query_cos = heard.query_cos[0], .query_sin = heard.query_sin[0]});
      branch.runs.push_back({.first_pair = heard.pair,
                             .n_pairs = 1,
                             .turn = KeyTurn::kByToken,
                             .cos = heard.key_cos,
                             .sin = heard.key_sin});
    }
    branches.push_back(std::move(branch));
  }
  return branches;
}

}  // namespace ropewalk
