#include "ropewalk/study/recommend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

constexpr double kWorthSaying =
    0.02;                       // nats per token: smaller differences are not called differences
constexpr double kFails = 0.3;  // loss beyond L over loss inside it that we call failing

double beyond_mean(const Candidate& candidate) {
  return candidate.beyond ? candidate.beyond->mean : candidate.inside->mean;
}

std::string with_interval(const Estimate& estimate) {
  std::string text = fmt::format("{:.3f}", estimate.mean);
  if (estimate.interval)
    text += fmt::format(" ({:.3f} to {:.3f})", estimate.interval->low, estimate.interval->high);
  return text;
}

template <typename Allowed>
std::optional<size_t> best(const std::vector<Candidate>& candidates, const Allowed& allowed) {
  std::optional<size_t> found;
  for (size_t k = 0; k < candidates.size(); ++k) {
    if (!candidates[k].finalist || !candidates[k].recommended || !allowed(candidates[k])) continue;
    if (!found || rank_value(candidates[k]) < rank_value(candidates[*found])) found = k;
  }
  return found;
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

void tell_declared(const Candidate& declared, int64_t trained, std::vector<std::string>& why) {
  if (!declared.beyond || !declared.inside) return;
  const double rise = declared.beyond->mean - declared.inside->mean;
  why.push_back(
      fmt::format("As declared, the model loses {} nats per token inside its trained length of {} "
                  "and {} beyond it: it {}.",
                  with_interval(*declared.inside), trained, with_interval(*declared.beyond),
                  rise > kFails ? "fails there" : "holds up"));
}

void tell_truncation(const std::vector<Candidate>& candidates, const Candidate& taken,
                     std::vector<std::string>& why) {
  const Candidate* lowest = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.truncates && candidate.finalist &&
        (lowest == nullptr || beyond_mean(candidate) < beyond_mean(*lowest))) {
      lowest = &candidate;
    }
  }
  if (lowest == nullptr) return;
  const double less = beyond_mean(taken) - beyond_mean(*lowest);
  if (less > kWorthSaying) {
    why.push_back(
        fmt::format("{} has {:.3f} nats per token less loss than {}, but it forgets what is "
                    "farther back: such a text "
                    "hardly looks there. It is shown, not recommended.",
                    lowest->scheme, less, taken.scheme));
  } else {
    why.push_back(fmt::format("Forgetting far text ({}) is no better: {:+.3f} nats per token.",
                              lowest->scheme, -less));
  }
}

void tell_doubts(const std::vector<Candidate>& candidates, size_t taken,
                 std::vector<std::string>& why) {
  const Candidate& winner = candidates[taken];
  if (winner.windows < 4) {
    why.push_back(fmt::format(
        "Doubt: only {} window{} of text. More text would make the intervals mean something.",
        winner.windows, winner.windows == 1 ? "" : "s"));
  }
  const bool copies = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return !c.truncates && c.copy_beyond && c.copy_beyond->mean >= kWorthSaying;
  });
  if (!winner.copy_beyond) {
    why.push_back("Doubt: no copy test was run, so nothing tells whether far text is made use of.");
  } else if (!copies) {
    why.push_back(
        "Doubt: under no setting taken here does the model make use of a passage that far back; it "
        "may read longer "
        "text without harm, and without gain.");
  }
  for (size_t k = 0; k < candidates.size(); ++k) {
    const Candidate& other = candidates[k];
    if (k == taken || !other.finalist || other.truncates || !other.recommended) continue;
    if (rank_value(other) - rank_value(winner) < kWorthSaying) {
      why.push_back(
          fmt::format("Doubt: {} is within {} nats per token of it.", other.scheme, kWorthSaying));
    }
  }
}

}  // namespace

double rank_value(const Candidate& candidate) {
  const double gain = candidate.copy_beyond ? candidate.copy_beyond->mean : 0;
  return beyond_mean(candidate) - kCopyShare * gain;
}

Recommendation recommend(const std::vector<Candidate>& candidates, int64_t trained_length,
                         int64_t target_length) {
  Recommendation result;
  result.best_overall = best(candidates, [](const Candidate& c) { return !c.truncates; });
  result.best_portable =
      best(candidates, [](const Candidate& c) { return !c.truncates && c.portability.portable; });
  std::vector<std::string>& why = result.why;
  const auto declared = std::find_if(candidates.begin(), candidates.end(),
                                     [](const Candidate& c) { return c.scheme == "declared"; });
  if (declared != candidates.end()) tell_declared(*declared, trained_length, why);
  if (target_length <= trained_length) {
    why.push_back(
        fmt::format("{} tokens lie within the trained length of {}: nothing needs to be changed.",
                    target_length, trained_length));
  }
  if (!result.best_overall) return result;
  why.push_back(describe_best("Best overall", candidates[*result.best_overall], trained_length));
  if (result.best_portable && result.best_portable != result.best_overall) {
    why.push_back(
        describe_best("Best portable", candidates[*result.best_portable], trained_length));
  }
  why.push_back(
      fmt::format("Ranked by loss beyond {} less {} of the copy gain there; truncating settings "
                  "are compared, never taken.",
                  trained_length, kCopyShare));
  tell_truncation(candidates, candidates[*result.best_overall], why);
  tell_doubts(candidates, *result.best_overall, why);
  return result;
}

}  // namespace ropewalk
