#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace ropewalk {
namespace {

constexpr double kSecondsBetween = 0.1;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

ProgressLine::ProgressLine(std::string label) : label_(std::move(label)) {}

ProgressLine::~ProgressLine() {
  if (is_terminal()) fmt::print(stderr, "\r\x1b[K");
}

bool ProgressLine::is_terminal() { return isatty(STDERR_FILENO) != 0; }

void ProgressLine::update(double done, const std::string& detail) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal() || seconds(now - shown_) < kSecondsBetween) return;
  shown_ = now;
  fmt::print(stderr, "\r\x1b[K{}: {:.0f} %{}{}", label_, 100 * done, left(done),
             detail.empty() ? "" : "; " + detail);
  std::fflush(stderr);
}

std::string ProgressLine::left(double done) const {
  constexpr double kTooEarly = 0.02;
  if (done < kTooEarly) return "";
  return ", " + duration_text(seconds(Clock::now() - start_) / done * (1 - done)) + " left";
}

std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace ropewalk
