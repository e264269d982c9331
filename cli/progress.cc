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

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::update(double done) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || seconds(now - shown_) < kSecondsBetween) return;
  shown_ = now;
  const double spent = seconds(now - start_);
  fmt::print(stderr, "\r\x1b[K{}: {:.0f} %", label_, 100 * done);
  if (done > 0.02) fmt::print(stderr, ", {} left", duration_text(spent / done * (1 - done)));
  std::fflush(stderr);
}

std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace ropewalk
