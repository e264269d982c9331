#include "ropewalk/math/rotation_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

Rotary plain() {
  return plain_rotary({.base = 100.0, .frequency_dim = 8, .trained_length = 32},
                      {PairOrder::kHalf, 8, 8});
}

std::vector<DistanceMap> maps() {
  const PositionMap inside{.period = 7};
  const PositionMap moving{.period = 10, .carry = 5.0};
  Branch banded{.first = 9, .query = {.offset = 6.0, .group = 3}, .key = {.group = 3}};
  banded.bands = {{.pairs = {.first = 1, .last = 2}, .query = {.offset = 1.0}, .key = {}}};
  const PositionMap table{.steps = {{0, 0, 1}, {12, 12, 2}, {30, 21, 5}}};
  return {
      DistanceMap(),
      piecewise_linear(11, 11.0, 0.25),
      DistanceMap([](int64_t d) { return sqrt(DoubleDouble(d)); }),
      DistanceMap::by_chunks(7, {Branch{.last = 1, .query = inside, .key = inside},
                                 Branch{.first = 1,
                                        .last = 2,
                                        .query = {.offset = 7.0, .period = 7, .limit = 10},
                                        .key = inside},
                                 Branch{.first = 2, .query = fixed_position(10.0), .key = inside}}),
      DistanceMap::by_chunks(10, {Branch{.last = 1, .query = moving, .key = moving},
                                  Branch{.first = 1, .query = moving, .key = {.group = 2}}}),
      DistanceMap({Branch{.last = 9}, banded}),
      DistanceMap({Branch{.last = 8}, Branch{.first = 8, .query = table, .key = table}}),
  };
}

std::vector<Visibility> visibilities() {
  return {{},
          {.window = 20},
          {.window = 20, .sinks = 3},
          {.window = 20, .sinks = 3, .sinks_stay = true},
          {.window = 1, .sinks = 1},
          {.window = 200, .sinks = 2, .sinks_stay = true},
          {.window = 13, .sinks = 200, .sinks_stay = true}};
}

bool holds(const KeyInterval& keys, int64_t j) { return keys.first <= j && j < keys.last; }

// The angle that a branch gives a pair, as kernels form it.
PairAngle planned(const Rotary& rotary, const Spectrum& spectrum, const PlanBranch& branch,
                  int64_t pair, int64_t i, int64_t j) {
  const DoubleDouble speed = spectrum.turns_per_token[pair];
  const int64_t standing = std::min(i, branch.query_limit);
  switch (branch.pairs[pair]) {
    case PairState::kSilent:
      return {.silent = true, .turns = {}};
    case PairState::kFrozen:
      return {.silent = false, .turns = fraction_of_turn(rotary.mask.turns, 1.0)};
    case PairState::kTrue:
      return {.silent = false, .turns = fraction_of_turn(DoubleDouble(standing - j), speed)};
    case PairState::kMapped:
      break;
  }
  const DoubleDouble key = branch.key_positions.empty()
                               ? branch.positions.key_of(pair)(j)
                               : branch.key_positions[static_cast<size_t>(j)];
  return {.silent = false,
          .turns = fraction_of_turn(branch.positions.query_of(pair)(standing) - key, speed)};
}

// The branch that holds for a query and a key; null where none does.
const PlanBranch* branch_between(const RotationPlan& plan, int64_t i, int64_t j) {
  const PlanBranch* found = nullptr;
  for (const PlanBranch& branch : plan.branches) {
    if (!holds(branch.keys(i), j)) continue;
    EXPECT_EQ(found, nullptr) << "two branches hold for " << i << " and " << j;
    found = &branch;
  }
  return found;
}

// Returns the angles compared.
int64_t check_tokens(const Rotary& rotary, const Spectrum& spectrum, const RotationPlan& plan,
                     int64_t i, int64_t j) {
  const PlanBranch* const branch = branch_between(plan, i, j);
  const bool by_distance =
      holds(plan.keys_by_distance(i), j) || holds(plan.sinks_by_distance_of(i), j);
  EXPECT_EQ(branch != nullptr || by_distance, rotary.visibility.sees(i, j)) << i << " " << j;
  EXPECT_TRUE(!by_distance || i - j < plan.n_by_distance) << i << " " << j;
  if (!rotary.visibility.sees(i, j)) return 0;
  for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
    const PairAngle wanted = pair_angle(rotary, spectrum, spectrum, pair, i, j);
    const PairAngle got = branch != nullptr ? planned(rotary, spectrum, *branch, pair, i, j)
                                            : distance_turns(rotary, spectrum, pair, i - j);
    EXPECT_EQ(got.silent, wanted.silent) << i << " " << j << " " << pair;
    const DoubleDouble apart = got.turns - wanted.turns;
    EXPECT_LE(abs(apart - round(apart)), 0x1p-90) << i << " " << j << " " << pair;
  }
  return spectrum.n_pairs();
}

// Whatever the map, mask and visibility: each pair of tokens falls into one branch, with the angle
// of the definition.
TEST(RotationPlanTest, SpellsOutTheDefinition) {
  using Past = PairMask::Past;
  constexpr int64_t kTokens = 70;
  int64_t checks = 0;
  Rotary rotary = plain();
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (const DistanceMap& map : maps()) {
    for (const Visibility& visibility : visibilities()) {
      for (const Past past : {Past::kHeard, Past::kSilent, Past::kFrozen}) {
        rotary.distance = map;
        rotary.visibility = visibility;
        rotary.mask = {.past = past, .turns = 2.0};
        const RotationPlan plan = plan_rotation(rotary, spectrum, kTokens);
        for (int64_t i = 0; i < kTokens; ++i) {
          for (int64_t j = 0; j <= i; ++j) checks += check_tokens(rotary, spectrum, plan, i, j);
        }
      }
    }
  }
  EXPECT_GT(checks, 500000);
}

// What no row can see has no branch, and so no tables.
TEST(RotationPlanTest, LeavesOutWhatCannotHold) {
  Rotary rotary = plain();
  rotary.distance = maps()[3];
  const Spectrum spectrum = rotary.spectrum.at(1);
  EXPECT_EQ(plan_rotation(rotary, spectrum, 7).branches.size(), 1U);
  EXPECT_EQ(plan_rotation(rotary, spectrum, 8).branches.size(), 2U);
  EXPECT_EQ(plan_rotation(rotary, spectrum, 14).branches.size(), 2U);
  EXPECT_EQ(plan_rotation(rotary, spectrum, 15).branches.size(), 3U);
  rotary.visibility.window = 1;
  EXPECT_EQ(plan_rotation(rotary, spectrum, 70).branches.size(), 1U);
}

}  // namespace
}  // namespace ropewalk
