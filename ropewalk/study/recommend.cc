#include "ropewalk/study/recommend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/study/search_past.h"

namespace ropewalk {
namespace {

constexpr double kFails = 0.3;  // loss beyond L over loss inside it that we call failing

std::string titles(const std::vector<Winner>& winners, size_t index) {
  std::string text;
  for (const Winner& winner : winners) {
    if (winner.index == index) text += (text.empty() ? "" : ", ") + to_string(winner.role);
  }
  text[0] = 'B';
  return text;
}

std::string describe_best(const std::string& title, const Candidate& candidate, int64_t trained) {
  std::string text = fmt::format("{}: {}", title, candidate.scheme);
  if (candidate.beyond)
    text += fmt::format(", {} nats per token beyond {}", with_interval(*candidate.beyond), trained);
  if (candidate.copy_beyond) {
    text += fmt::format(", {} gained per token where a passage repeats from beyond {}",
                        with_interval(*candidate.copy_beyond), trained);
  }
  if (candidate.inside_cost) {
    const double cost = candidate.inside_cost->mean;
    text += std::abs(cost) < 0.0005
                ? ", at no cost on the first " + std::to_string(trained) + " tokens"
                : fmt::format(", at {:+.3f} nats per token on the first {}", cost, trained);
  }
  return text + ".";
}

void tell_evidence(const std::vector<Candidate>& candidates, const Winner& winner,
                   std::vector<std::string>& why) {
  const std::string& scheme = candidates[winner.index].scheme;
  if (winner.lowest) {
    why.push_back(
        fmt::format("{} is the smallest change of those that are not told from the lowest, {}.",
                    scheme, candidates[*winner.lowest].scheme));
  }
  if (winner.next && winner.lead) {
    why.push_back(fmt::format("Next best after {} as {}: {}, {}.", scheme, to_string(winner.role),
                              candidates[*winner.next].scheme, gap(*winner.lead)));
  }
}

// "; the next best, yarn,factor=4, is 0.040 (0.030 to 0.050) nats per token behind"
std::string beside(const char* as, const std::string& scheme, const Estimate& lead) {
  return fmt::format("; {}, {}, is {}", as, scheme, gap(lead));
}

// The winner's figures on windows that took no part in choosing it.
void tell_held_out(const std::vector<Candidate>& candidates, const Winner& winner,
                   const StudyScope& scope, std::vector<std::string>& why) {
  const Candidate& one = candidates[winner.index];
  const HeldOut& own = one.held_out;
  if (!own.beyond) return;
  std::string text = fmt::format(
      "On {} window{} that took no part in choosing: {} loses {} nats per token beyond {}",
      own.tallies.beyond.size(), own.tallies.beyond.size() == 1 ? "" : "s", one.scheme,
      with_interval(*own.beyond), scope.trained_length);
  if (own.copy_beyond)
    text += fmt::format(", gains {} where a passage repeats", with_interval(*own.copy_beyond));
  if (own.inside_cost) text += fmt::format(", at {:+.3f} on short text", own.inside_cost->mean);
  if (winner.held_out_lead)
    text += beside("the next best", candidates[*winner.next].scheme, *winner.held_out_lead);
  if (winner.held_out_grid_lead && winner.grid != winner.next)
    text += beside("the grid's best", candidates[*winner.grid].scheme, *winner.held_out_grid_lead);
  why.push_back(text + ".");
}

std::string where_declared_fails(const Candidate& declared) {
  if (!declared.shape) return "";
  if (declared.shape->past == PastLength::kCliff) return ", with a cliff at that length";
  if (declared.shape->past == PastLength::kHolds) return "";
  return fmt::format(", rising from about {} tokens on", declared.shape->from);
}

void tell_declared(const Candidate& declared, int64_t trained, std::vector<std::string>& why) {
  if (!declared.beyond || !declared.inside) return;
  const double rise = declared.beyond->mean - declared.inside->mean;
  why.push_back(
      fmt::format("As declared, the model loses {} nats per token inside its trained length of {} "
                  "and {} beyond it: it {}.",
                  with_interval(*declared.inside), trained, with_interval(*declared.beyond),
                  rise > kFails ? "fails there" + where_declared_fails(declared) : "holds up"));
}

constexpr size_t kMostNamed = 3;

// "a, b, c and 2 more"
std::string named(const std::vector<std::string>& names) {
  std::string text;
  for (size_t k = 0; k < std::min(names.size(), kMostNamed); ++k)
    text += (k == 0 ? "" : ", ") + names[k];
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

// Which settings are no better than declared, and which do not seem to act though they change
// angles. What truncates is compared alone, and the best of it told elsewhere.
void tell_shapes(const std::vector<Candidate>& candidates, std::vector<std::string>& why) {
  std::vector<std::string> failing;
  std::vector<std::string> idle;
  for (const Candidate& candidate : candidates) {
    if (!candidate.shape || candidate.scheme == "declared" || candidate.truncates) continue;
    const bool acts = candidate.shape->past != PastLength::kAsDeclared;
    if (!candidate.shape->is_doubtful() || (!acts && candidate.change.angle == 0)) continue;
    (acts ? failing : idle)
        .push_back(fmt::format("{} ({})", candidate.scheme, remark(*candidate.shape)));
  }
  if (!failing.empty()) {
    why.push_back(
        fmt::format("No better than declared past the trained length: {}.", named(failing)));
  }
  if (!idle.empty())
    why.push_back(fmt::format("Doubt: nothing shows that these were applied: {}.", named(idle)));
}

void tell_truncation(const std::vector<Candidate>& candidates, const Candidate& taken,
                     std::vector<std::string>& why) {
  const Candidate* lowest = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.truncates && candidate.finalist &&
        (lowest == nullptr || telling_mean(candidate) < telling_mean(*lowest))) {
      lowest = &candidate;
    }
  }
  if (lowest == nullptr) return;
  const double less = telling_mean(taken) - telling_mean(*lowest);
  if (less > kWorthSaying) {
    why.push_back(
        fmt::format("{} has {:.3f} nats per token less loss than {}, but it forgets what is "
                    "farther back: such a text hardly looks there. It is shown, not "
                    "recommended.",
                    lowest->scheme, less, taken.scheme));
  } else {
    why.push_back(fmt::format("Forgetting far text ({}) is no better: {:+.3f} nats per token.",
                              lowest->scheme, -less));
  }
}

// The most that a finalist gains on passages that repeat inside L; null where no copy test was run.
const Estimate* best_copy_inside(const std::vector<Candidate>& candidates) {
  const Estimate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!candidate.finalist || !candidate.copy_inside) continue;
    if (best == nullptr || candidate.copy_inside->mean > best->mean) best = &*candidate.copy_inside;
  }
  return best;
}

// Whether is_worse() had too little to go by.
bool searched_blindly(const std::vector<Candidate>& candidates) {
  return std::ranges::any_of(candidates, [](const Candidate& candidate) {
    const std::vector<Tally>& windows = candidate.tallies.telling();
    return !candidate.found_by.empty() && !windows.empty() &&
           windows.front().count < static_cast<int64_t>(kEnoughLosses);
  });
}

// Of the measurement as a whole.
void tell_doubts(const std::vector<Candidate>& candidates, const StudyScope& scope,
                 std::vector<std::string>& why) {
  if (!scope.left_out.empty())
    why.push_back(fmt::format("Doubt: the budget let the race run {}.", scope.left_out));
  if (scope.held_out == 0) {
    why.push_back(fmt::format(
        "Doubt: {}: every figure is of windows that were chosen by, which flatters the winners.",
        scope.windows == 1 ? "there is one window, so that none is held out"
                           : "no window is held out"));
  }
  if (scope.long_documents < kFewDocuments) {
    why.push_back(fmt::format(
        "Doubt: only {} document{} of more than {} tokens. Other texts may say "
        "otherwise, whatever the intervals over windows are.",
        scope.long_documents, scope.long_documents == 1 ? "" : "s", scope.trained_length));
  }
  if (searched_blindly(candidates)) {
    why.push_back(
        fmt::format("Doubt: the search's first window has fewer than {} losses to tell settings "
                    "apart by, too few to drop one: its time went into all of them alike.",
                    kEnoughLosses));
  }
  const Estimate* const inside = best_copy_inside(candidates);
  if (inside == nullptr) {
    why.push_back("Doubt: no copy test was run, so nothing tells whether far text is made use of.");
    return;
  }
  const bool uses = inside->interval ? inside->interval->low > 0 : inside->mean >= kWorthSaying;
  if (!uses) {
    why.push_back(fmt::format(
        "Doubt: the model does not use context: at best it gains {} nats per token where a passage "
        "repeats inside {} tokens, so that no setting can show what far text is worth.",
        with_interval(*inside), scope.trained_length));
    return;
  }
  const bool copies = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return !c.truncates && c.copy_beyond && c.copy_beyond->mean >= kWorthSaying;
  });
  if (!copies) {
    why.push_back(
        "Doubt: under no setting taken here does the model make use of a passage that far back; it "
        "may read longer text without harm, and without gain.");
  }
}

// Whether another role before it has the same winner and the same next best.
bool is_told(const std::vector<Winner>& winners, const Winner& winner) {
  const auto first = std::ranges::find_if(winners, [&](const Winner& other) {
    return other.index == winner.index && other.next == winner.next;
  });
  return &*first != &winner;
}

void tell_winners(const std::vector<Candidate>& candidates, const StudyScope& scope,
                  const std::vector<Winner>& winners, std::vector<std::string>& why) {
  std::vector<size_t> told;
  for (const Winner& winner : winners) {
    if (std::ranges::find(told, winner.index) == told.end()) {
      why.push_back(describe_best(titles(winners, winner.index), candidates[winner.index],
                                  scope.trained_length));
    }
    told.push_back(winner.index);
    if (is_told(winners, winner)) continue;
    tell_evidence(candidates, winner, why);
    tell_held_out(candidates, winner, scope, why);
  }
}

void tell_doubts_of_winners(const std::vector<Candidate>& candidates, const StudyScope& scope,
                            const std::vector<Winner>& winners, std::vector<std::string>& why) {
  for (const Winner& winner : winners) {
    std::vector<std::string> doubts = winner.doubts;
    if (scope.held_out > 0 && !candidates[winner.index].held_out.beyond) {
      doubts.insert(doubts.begin(), candidates[winner.index].scheme +
                                        " has not run the windows that are held out.");
    }
    for (const std::string& doubt : doubts) {
      if (std::ranges::find(why, "Doubt: " + doubt) == why.end()) why.push_back("Doubt: " + doubt);
    }
  }
}

}  // namespace

const Winner* Recommendation::find(Role role) const {
  const auto found = std::ranges::find(winners, role, &Winner::role);
  return found == winners.end() ? nullptr : &*found;
}

std::optional<size_t> Recommendation::index_of(Role role) const {
  const Winner* const winner = find(role);
  return winner == nullptr ? std::nullopt : std::optional(winner->index);
}

Recommendation recommend(const std::vector<Candidate>& candidates, const StudyScope& scope) {
  Recommendation result;
  result.winners = choose_winners(candidates);
  std::vector<std::string>& why = result.why;
  const auto declared = std::ranges::find(candidates, "declared", &Candidate::scheme);
  if (declared != candidates.end()) tell_declared(*declared, scope.trained_length, why);
  if (scope.target_length <= scope.trained_length) {
    why.push_back(
        fmt::format("{} tokens lie within the trained length of {}: nothing needs to be changed.",
                    scope.target_length, scope.trained_length));
  }
  if (result.winners.empty()) return result;
  tell_winners(candidates, scope, result.winners, why);
  why.push_back(
      fmt::format("Ranked by loss beyond {} less {} of the copy gain there; of settings that are "
                  "not told apart the smallest change is taken; truncating settings are compared, "
                  "never taken.",
                  scope.trained_length, kCopyShare));
  if (const std::optional<size_t> overall = result.index_of(Role::kBestOverall))
    tell_truncation(candidates, candidates[*overall], why);
  tell_shapes(candidates, why);
  tell_doubts(candidates, scope, why);
  tell_doubts_of_winners(candidates, scope, result.winners, why);
  return result;
}

}  // namespace ropewalk
