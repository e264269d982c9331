#include "ropewalk/study/race_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace ropewalk {
namespace {

constexpr size_t kFewest = 3;      // of each kind, where one in two stays
constexpr size_t kFewWindows = 4;  // fewer give intervals that mean little
constexpr size_t kDivisors[] = {3, 4, 6, 8, 16, 32};
constexpr size_t kHardest = 8;  // halving that still leaves something to chance

// `count` of them, spread evenly.
std::vector<size_t> some_of(const std::vector<size_t>& windows, size_t count) {
  std::vector<size_t> some;
  for (size_t k = 0; k < count; ++k) some.push_back(windows[k * windows.size() / count]);
  return some;
}

// `count` of the plan's windows, those that were scored among them, and `held_out` held out, at most.
RacePlan with_windows(const RacePlan& plan, size_t scored, size_t count, size_t copies,
                      size_t held_out) {
  RacePlan shorter = plan;
  if (scored > 0) {
    shorter.windows.resize(count);
  } else {
    shorter.windows = some_of(plan.windows, count);
  }
  shorter.copy_windows = std::min(copies, count);
  shorter.held_out = some_of(plan.held_out, std::min(held_out, plan.held_out.size()));
  return shorter;
}

}  // namespace

RacePlan whole_plan(size_t windows, size_t copy_windows, bool halve,
                    const std::vector<size_t>& held_out) {
  RacePlan plan{.divisor = halve ? 2u : 0u, .held_out = held_out};
  for (size_t w = 0; w < windows; ++w) {
    if (!std::ranges::binary_search(held_out, w)) plan.windows.push_back(w);
  }
  plan.copy_windows = std::min(copy_windows, plan.windows.size());
  return plan;
}

size_t survivors(size_t racing, size_t divisor) {
  if (divisor == 0) return racing;
  const size_t fewest = divisor == 2 ? kFewest : 1;
  return std::min(racing, std::max(fewest, (racing + divisor - 1) / divisor));
}

std::vector<size_t> middle_of(size_t count, size_t kept) {
  const size_t size = kept == 0 ? count : std::min(count, kept);
  std::vector<size_t> indexes(size);
  std::iota(indexes.begin(), indexes.end(), (count - size + 1) / 2);
  return indexes;
}

bool tells_enough(const RacePlan& plan, const RacePlan& whole) {
  return plan.windows.size() >= std::min(kFewWindows, whole.windows.size()) &&
         plan.divisor <= kHardest;
}

RaceCost held_out_cost(const RacePlan& plan, ByKind<size_t> finalists,
                       const ByKind<double>& seconds) {
  const size_t times = plan.held_out.size() + 2 * plan.held_out_copies();
  const auto passes = [&](size_t candidates, double of_one) {
    return RaceCost{times * candidates, static_cast<double>(times * candidates) * of_one};
  };
  RaceCost cost = passes(finalists.always, seconds.always);
  const auto add = [&](const RaceCost& more) {
    cost.passes += more.passes;
    cost.seconds += more.seconds;
  };
  if (plan.divisor == 0) {
    add(passes(finalists.portable, seconds.portable));
    add(passes(finalists.other, seconds.other));
  } else {
    add(passes(std::min(kMostTold, finalists.portable + finalists.other),
               std::max(seconds.portable, seconds.other)));
  }
  return cost;
}

RaceCost remaining_cost(const RacePlan& plan, size_t scored, ByKind<size_t> racing,
                        const ByKind<double>& seconds) {
  RaceCost cost;
  const auto add = [&](size_t times) {
    cost.passes += times * (racing.always + racing.portable + racing.other);
    cost.seconds +=
        static_cast<double>(times) * (static_cast<double>(racing.always) * seconds.always +
                                      static_cast<double>(racing.portable) * seconds.portable +
                                      static_cast<double>(racing.other) * seconds.other);
  };
  const auto halve = [&] {
    racing.portable = survivors(racing.portable, plan.divisor);
    racing.other = survivors(racing.other, plan.divisor);
  };
  for (size_t rung = 1; scored < plan.windows.size(); rung *= 2) {
    if (rung <= scored) continue;
    const size_t last = std::min(rung, plan.windows.size());
    add(last - scored);
    scored = last;
    if (scored < plan.windows.size()) halve();
  }
  halve();
  add(2 * plan.copy_windows);
  const RaceCost held_out = held_out_cost(plan, racing, seconds);
  cost.passes += held_out.passes;
  cost.seconds += held_out.seconds;
  return cost;
}

std::optional<RacePlan> fitted_plan(const RacePlan& plan, size_t scored, ByKind<size_t> racing,
                                    const ByKind<double>& seconds, double budget) {
  const auto fits = [&](const RacePlan& one) {
    return remaining_cost(one, scored, racing, seconds).seconds <= budget;
  };
  const size_t all = plan.windows.size();
  const size_t few = std::max(scored, std::min(kFewWindows, all));
  const auto shorter = [&](size_t count) {
    const auto part = [&](size_t of) { return (of * count + all - 1) / all; };
    return with_windows(plan, scored, count, part(plan.copy_windows), part(plan.held_out.size()));
  };
  for (size_t count = all; count > few; --count) {
    if (RacePlan one = shorter(count); fits(one)) return one;
  }
  RacePlan last = shorter(few);
  if (fits(last)) return last;
  if (plan.divisor != 0) {
    for (const size_t divisor : kDivisors) {
      if (divisor <= plan.divisor) continue;
      last.divisor = divisor;
      if (fits(last)) return last;
    }
  }
  for (size_t count = few; count >= std::max<size_t>(scored, 1); --count) {
    const size_t divisor = last.divisor;
    last = with_windows(plan, scored, count, std::min<size_t>(plan.copy_windows, 1), 1);
    last.divisor = divisor;
    if (fits(last)) return last;
  }
  last.held_out.clear();
  if (fits(last)) return last;
  last.copy_windows = 0;
  return fits(last) ? std::optional(last) : std::nullopt;
}

RacePlan shortest_plan(const RacePlan& plan, size_t scored) {
  return with_windows(plan, scored, std::max<size_t>(scored, 1), 0, 0);
}

std::string left_out(const RacePlan& plan, const RacePlan& whole) {
  if (plan == whole) return "";
  std::string text = fmt::format("{} of {} windows, {} of {} in the copy test", plan.windows.size(),
                                 whole.windows.size(), plan.copy_windows, whole.copy_windows);
  if (plan.held_out != whole.held_out)
    text += fmt::format(", {} of {} held out", plan.held_out.size(), whole.held_out.size());
  if (plan.divisor != whole.divisor)
    text += fmt::format(", one in {} kept from rung to rung", plan.divisor);
  if (plan.per_scheme != whole.per_scheme)
    text += fmt::format(", the middle {} of every scheme's settings", plan.per_scheme);
  return text;
}

}  // namespace ropewalk
