#include "ropewalk/study/winners.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ropewalk {
namespace {

bool leaves_short_text(const Candidate& candidate) {
  const std::optional<Estimate>& cost = candidate.inside_cost;
  if (!cost) return false;
  if (!cost->interval) return std::abs(cost->mean) < kUntouched;
  return cost->interval->low > -kUntouched && cost->interval->high < kUntouched;
}

bool can_be(Role role, const Candidate& candidate) {
  if (!candidate.finalist || !candidate.recommended || candidate.truncates) return false;
  if (!std::isfinite(rank_value(candidate))) return false;
  return role == Role::kBestOverall || (role == Role::kBestPortable ? candidate.portability.portable
                                                                    : leaves_short_text(candidate));
}

// Not told from the lowest.
bool is_sufficient(const Candidate& candidate, const Candidate& lowest) {
  const std::optional<Estimate> more = rank_difference(candidate.tallies, lowest.tallies);
  return more && holds_zero(*more) && more->mean <= kWorthSaying;
}

class Judge {
 public:
  explicit Judge(const std::vector<Candidate>& candidates) : candidates_(candidates) {
    for (const Candidate& candidate : candidates) names_.push_back(candidate.scheme);
  }

  std::optional<Winner> choose(Role role) const {
    std::vector<size_t> pool;
    for (size_t k = 0; k < candidates_.size(); ++k) {
      if (can_be(role, candidates_[k])) pool.push_back(k);
    }
    if (pool.empty()) return std::nullopt;
    std::ranges::stable_sort(pool, {}, [&](size_t k) { return rank_value(candidates_[k]); });
    const size_t lowest = pool.front();
    Winner winner{.role = role, .index = lowest};
    std::vector<size_t> ties;
    for (const size_t k : pool) {
      if (k == lowest || !is_sufficient(candidates_[k], candidates_[lowest])) continue;
      ties.push_back(k);
      if (change_key(k) < change_key(winner.index)) winner.index = k;
    }
    if (winner.index != lowest) winner.lowest = lowest;
    const auto next = std::ranges::find_if(pool, [&](size_t k) { return k != winner.index; });
    if (next != pool.end()) winner.next = *next;
    if (is_found(winner.index)) {
      const auto grid = std::ranges::find_if(pool, [&](size_t k) { return !is_found(k); });
      if (grid != pool.end()) winner.grid = *grid;
    }
    add_leads(winner);
    add_doubts(winner, ties);
    add_contradictions(winner);
    return winner;
  }

 private:
  bool is_found(size_t k) const { return !candidates_[k].found_by.empty(); }

  void add_leads(Winner& winner) const {
    const auto lead_over = [&](const std::optional<size_t>& other, const auto& tallies_of) {
      return other ? rank_difference(tallies_of(candidates_[*other]),
                                     tallies_of(candidates_[winner.index]))
                   : std::nullopt;
    };
    const auto chosen_by = [](const Candidate& one) -> const Tallies& { return one.tallies; };
    const auto held_out = [](const Candidate& one) -> const Tallies& {
      return one.held_out.tallies;
    };
    winner.lead = lead_over(winner.next, chosen_by);
    winner.held_out_lead = lead_over(winner.next, held_out);
    winner.held_out_grid_lead = lead_over(winner.grid, held_out);
  }

  std::tuple<SchemeChange, double> change_key(size_t k) const {
    return {candidates_[k].change, rank_value(candidates_[k])};
  }

  void add_doubts(Winner& winner, const std::vector<size_t>& ties) const {
    const std::string& scheme = candidates_[winner.index].scheme;
    if (winner.next && !winner.lead) {
      winner.doubts.push_back(fmt::format("{} and {} did not run the same windows.", scheme,
                                          candidates_[*winner.next].scheme));
    } else if (winner.lead && !winner.lead->interval) {
      winner.doubts.push_back(
          fmt::format("next to {}, {} is {} on one window, which gives no interval.", scheme,
                      candidates_[*winner.next].scheme, gap(*winner.lead)));
    } else if (winner.lead && holds_zero(*winner.lead)) {
      std::string text = fmt::format("intervals overlap: next to {}, {} is {}", scheme,
                                     candidates_[*winner.next].scheme, gap(*winner.lead));
      if (ties.size() > 1) text += fmt::format("; {} settings are not told apart", ties.size() + 1);
      winner.doubts.push_back(text + ".");
    }
    if (is_found(winner.index) && !winner.held_out_grid_lead) {
      const auto searched = std::ranges::count_if(
          candidates_, [](const Candidate& candidate) { return !candidate.found_by.empty(); });
      winner.doubts.push_back(
          fmt::format("{} comes from a search over {} settings on these very windows, which "
                      "flatter it: other text may say otherwise.",
                      scheme, searched));
    }
    for (const GridLine& line : grid_lines(scheme, names_)) {
      if (!line.is_edge()) continue;
      winner.doubts.push_back(fmt::format("{} has the {} {} of {} tried: one beyond may be better.",
                                          scheme, line.at == 0 ? "smallest" : "largest",
                                          line.parameter, line.settings.size()));
    }
  }

  // Where the windows that are held out have another order than the one that was chosen by.
  void add_contradictions(Winner& winner) const {
    const double least = winner.lowest ? -kWorthSaying : 0;
    const auto add = [&](const std::optional<size_t>& other, const std::optional<Estimate>& lead) {
      if (!lead || lead->mean >= least) return;
      winner.doubts.push_back(
          fmt::format("windows that are held out say otherwise: there {} is {} of {}.",
                      candidates_[*other].scheme, gap(*lead), candidates_[winner.index].scheme));
    };
    add(winner.next, winner.held_out_lead);
    if (winner.grid != winner.next) add(winner.grid, winner.held_out_grid_lead);
    const Candidate& own = candidates_[winner.index];
    const std::optional<Estimate>& cost = own.held_out.inside_cost;
    if (winner.role == Role::kBestUntouched && cost && std::abs(cost->mean) >= kUntouched &&
        !holds_zero(*cost)) {
      winner.doubts.push_back(fmt::format(
          "windows that are held out say otherwise: there {} costs {} nats per token on "
          "short text.",
          own.scheme, with_interval(*cost)));
    }
  }

  const std::vector<Candidate>& candidates_;
  std::vector<std::string> names_;
};

Estimate negated(const Estimate& estimate) {
  Estimate result = estimate;
  result.mean = -estimate.mean;
  if (estimate.interval)
    result.interval = Interval{-estimate.interval->high, -estimate.interval->low};
  return result;
}

}  // namespace

std::string to_string(Role role) {
  switch (role) {
    case Role::kBestOverall:
      return "best overall";
    case Role::kBestPortable:
      return "best portable";
    case Role::kBestUntouched:
      return "best without touching short text";
  }
  return "";
}

bool holds_zero(const Estimate& estimate) {
  if (!estimate.interval) return estimate.mean == 0;
  return estimate.interval->low <= 0 && estimate.interval->high >= 0;
}

std::string with_interval(const Estimate& estimate) {
  std::string text = fmt::format("{:.3f}", estimate.mean);
  if (estimate.interval)
    text += fmt::format(" ({:.3f} to {:.3f})", estimate.interval->low, estimate.interval->high);
  return text;
}

std::string gap(const Estimate& lead) {
  const bool is_ahead = lead.mean < 0;
  return fmt::format("{} nats per token {}", with_interval(is_ahead ? negated(lead) : lead),
                     is_ahead ? "ahead" : "behind");
}

double rank_value(const Candidate& candidate) {
  const double gain = candidate.copy_beyond ? candidate.copy_beyond->mean : 0;
  const double rank = telling_mean(candidate) - kCopyShare * gain;
  return std::isnan(rank) ? std::numeric_limits<double>::infinity() : rank;
}

std::optional<Estimate> rank_difference(const Tallies& a, const Tallies& b) {
  const auto same_counts = [](const std::vector<Tally>& one, const std::vector<Tally>& other) {
    return std::ranges::equal(one, other, {}, &Tally::count, &Tally::count);
  };
  if (!same_counts(a.telling(), b.telling())) return std::nullopt;
  if (!same_counts(a.copy_beyond, b.copy_beyond)) return std::nullopt;
  return estimate_sum(
      {{.windows = tally_difference(a.telling(), b.telling())},
       {.windows = tally_difference(a.copy_beyond, b.copy_beyond), .weight = -kCopyShare}});
}

std::vector<Winner> choose_winners(const std::vector<Candidate>& candidates) {
  const Judge judge(candidates);
  std::vector<Winner> winners;
  for (const Role role : kRoles) {
    if (const std::optional<Winner> winner = judge.choose(role)) winners.push_back(*winner);
  }
  return winners;
}

}  // namespace ropewalk
