#include "ropewalk/math/rotation_plan.h"

#include <algorithm>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// Distances at which some pair falls out of the mask, rising; 0 first, kUnbounded last.
std::vector<int64_t> mask_edges(const PairMask& mask, const Spectrum& spectrum) {
  std::vector<int64_t> edges = {0, kUnbounded};
  if (mask.past != PairMask::Past::kHeard) {
    for (const DoubleDouble& speed : spectrum.turns_per_token) {
      const int64_t last = mask.last_heard(speed);
      if (last < kUnbounded) edges.push_back(last + 1);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<PairState> pair_states(const Rotary& rotary, const Spectrum& spectrum,
                                   int64_t first_distance) {
  std::vector<PairState> states;
  states.reserve(spectrum.turns_per_token.size());
  for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
    const bool heard = rotary.mask.past == PairMask::Past::kHeard ||
                       first_distance <= rotary.mask.last_heard(spectrum.turns_per_token[pair]);
    if (!heard) {
      states.push_back(rotary.mask.past == PairMask::Past::kSilent ? PairState::kSilent
                                                                   : PairState::kFrozen);
    } else {
      states.push_back(rotary.distance.pairs().holds(pair) ? PairState::kMapped : PairState::kTrue);
    }
  }
  return states;
}

// The last position at which a query may stand when it looks at a sink.
int64_t sink_limit(const Visibility& visibility) {
  return visibility.sinks_stay ? kUnbounded : visibility.window + visibility.sinks - 1;
}

bool has_far_sinks(const Visibility& visibility) {
  return visibility.sinks > 0 && visibility.window < kUnbounded - visibility.sinks;
}

// Sinks under a curve: the query stands still, so each sink has one distance, and its key alone can
// carry the angle.
PlanBranch curved_sinks(const Rotary& rotary, int64_t n) {
  const int64_t limit = sink_limit(rotary.visibility);
  PlanBranch branch;
  branch.key_end = std::min(rotary.visibility.sinks, n);
  branch.first_query = limit + 1;
  branch.query_limit = limit;
  branch.positions.query = fixed_position(0.0);
  for (int64_t j = 0; j < branch.key_end; ++j)
    branch.key_positions.push_back(-rotary.distance.at(limit, j));
  return branch;
}

// Keys in the window of `piece` of a map that goes by distance, or by chunks: there the distances
// that its gaps can have.
PlanBranch near_branch(const Branch& piece, int64_t chunk, int64_t window) {
  PlanBranch near;
  near.positions = piece;
  near.first = piece.first;
  near.last = piece.last;
  if (chunk > 0) {
    near.chunk = chunk;
    near.first_standing = piece.first;
    near.last_standing = piece.last;
    near.first = std::max<int64_t>(0, (piece.first - 1) * chunk + 1);
    if (piece.last < kUnbounded) near.last = piece.last * chunk;
  }
  near.last = std::min(near.last, window);
  return near;
}

// Sinks beyond the window, seen by a query that stands where they are counted.
PlanBranch far_branch(const Branch& piece, int64_t chunk, const Visibility& visibility) {
  PlanBranch far;
  far.positions = piece;
  far.first = visibility.window;
  far.key_end = visibility.sinks;
  far.query_limit = sink_limit(visibility);
  far.chunk = chunk;
  far.first_standing = piece.first;
  far.last_standing = piece.last;
  return far;
}

}  // namespace

KeyInterval PlanBranch::keys(int64_t i) const {
  if (i < first_query) return {};
  const int64_t standing = std::min(i, query_limit);
  // The bounds on s count chunks, or tokens, which are chunks of one.
  const int64_t size = chunk == 0 ? 1 : chunk;
  const int64_t own = chunk == 0 ? standing : standing / chunk;
  KeyInterval keys;
  keys.last = std::min({i - first + 1, (own - first_standing + 1) * size, key_end});
  if (last < kUnbounded) keys.first = std::max(keys.first, i - last + 1);
  if (last_standing < kUnbounded)
    keys.first = std::max(keys.first, (own - last_standing + 1) * size);
  keys.last = std::max(keys.last, keys.first);
  return keys;
}

KeyInterval RotationPlan::keys_by_distance(int64_t i) const {
  if (!by_distance) return {};
  const bool sees_all =
      visibility.window == kUnbounded ||
      (has_far_sinks(visibility) && !sinks_by_distance && i <= sink_limit(visibility));
  return {sees_all ? 0 : std::max<int64_t>(0, i - visibility.window + 1), i + 1};
}

KeyInterval RotationPlan::sinks_by_distance_of(int64_t i) const {
  if (!sinks_by_distance) return {};
  return {0, std::max<int64_t>(0, std::min(visibility.sinks, i - visibility.window + 1))};
}

RotationPlan plan_rotation(const Rotary& rotary, const Spectrum& spectrum, int64_t n) {
  const Visibility& visibility = rotary.visibility;
  const bool far_sinks = has_far_sinks(visibility) && visibility.window < n;
  const std::vector<int64_t> edges = mask_edges(rotary.mask, spectrum);
  const int64_t chunk = rotary.distance.chunk();

  RotationPlan plan;
  plan.visibility = visibility;
  plan.by_distance = rotary.distance.is_curve();
  plan.sinks_by_distance = plan.by_distance && far_sinks && visibility.sinks_stay;
  if (plan.by_distance) {
    const int64_t seen = !far_sinks              ? visibility.window
                         : visibility.sinks_stay ? n
                                                 : sink_limit(visibility) + 1;
    plan.n_by_distance = std::min(n, seen);
  }

  const auto add = [&](PlanBranch branch, int64_t first, int64_t last) {
    branch.first = std::max(branch.first, first);
    branch.last = std::min(branch.last, last);
    if (branch.first >= std::min(branch.last, n)) return;
    branch.pairs = pair_states(rotary, spectrum, branch.first);
    plan.branches.push_back(std::move(branch));
  };
  for (size_t e = 0; e + 1 < edges.size(); ++e) {
    for (const Branch& piece : rotary.distance.branches()) {
      if (chunk > 0 && piece.first > (n - 1) / chunk) break;
      add(near_branch(piece, chunk, visibility.window), edges[e], edges[e + 1]);
      if (far_sinks) add(far_branch(piece, chunk, visibility), edges[e], edges[e + 1]);
    }
    if (plan.by_distance && far_sinks && !visibility.sinks_stay && sink_limit(visibility) + 1 < n) {
      add(curved_sinks(rotary, n), edges[e], edges[e + 1]);
    }
  }
  return plan;
}

DoubleDouble frozen_turns(const PairMask& mask, DoubleDouble turns_per_token) {
  const DoubleDouble frozen = fraction_of_turn(mask.turns, 1.0);
  return turns_per_token < 0.0 ? -frozen : frozen;
}

PairAngle distance_turns(const Rotary& rotary, const Spectrum& spectrum, int64_t pair, int64_t d) {
  return pair_angle(rotary, spectrum, spectrum, pair, d, 0);
}

}  // namespace ropewalk
