#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/messages.h"
namespace ropewalk {
namespace {

constexpr double kSecondsBetween = 0.1;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

ProgressLine::ProgressLine(std::string label) : label_(std::move(label)) {}

ProgressLine::~ProgressLine() {
  if (is_terminal()) tell("\r\x1b[K");
}

bool ProgressLine::is_terminal() { return isatty(STDERR_FILENO) != 0; }

void ProgressLine::update(double done, const std::string& detail) { update(done, done, detail); }

void ProgressLine::update(double done, double worked, const std::string& detail) {
  show(fmt::format("{:.0f} %{}{}", 100 * done, left(worked), detail.empty() ? "" : "; " + detail));
}

void ProgressLine::say(const std::string& detail) { show(detail); }

void ProgressLine::show(const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal() || seconds(now - shown_) < kSecondsBetween) return;
  shown_ = now;
  tell("\r\x1b[K" + label_ + ": " + text);
  std::fflush(stderr);
}

std::string ProgressLine::left(double done) const {
  return time_left(seconds(Clock::now() - start_), done);
}

std::string time_left(double elapsed, double share) {
  constexpr double kTooEarly = 0.02;
  if (!(share >= kTooEarly)) return "";
  return ", " + duration_text(elapsed / share * std::max(0.0, 1 - share)) + " left";
}

std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace ropewalk
