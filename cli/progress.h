// Progress of long work, on standard error: one line that is rewritten on a terminal, nothing where
// it is not one.
#ifndef ROPEWALK_CLI_PROGRESS_H_
#define ROPEWALK_CLI_PROGRESS_H_

#include <chrono>
#include <string>

namespace ropewalk {

class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  //   done    share of the work, 0 to 1
  //   detail  what is being done, shown behind the share
  void update(double done, const std::string& detail = {});

  // ", 45 s left", or nothing while it is too early to tell.
  std::string left(double done) const;

  static bool is_terminal();  // standard error is one

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = {};
};

// "3 min 20 s", "45 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_PROGRESS_H_
