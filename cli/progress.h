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

  // The same where the time left goes by another share: of what was done in this run.
  //   worked  0 to 1; nothing is said of the time while it is not known (NaN)
  void update(double done, double worked, const std::string& detail);

  // A line without shares, of work whose size is not known yet.
  void say(const std::string& detail);

  // ", 45 s left", or nothing while it is too early to tell.
  std::string left(double done) const;

  static bool is_terminal();  // standard error is one

 private:
  using Clock = std::chrono::steady_clock;

  void show(const std::string& text);

  std::string label_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = {};
};

// ", 45 s left" for what took `elapsed` seconds to get to `share`, 0 to 1; empty below a fiftieth
// and where the share is not known (NaN).
std::string time_left(double elapsed, double share);

// "3 min 20 s", "45 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_PROGRESS_H_
