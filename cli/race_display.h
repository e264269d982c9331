// How far a race is, on standard error.
#ifndef ROPEWALK_CLI_RACE_DISPLAY_H_
#define ROPEWALK_CLI_RACE_DISPLAY_H_

#include <string>

#include "cli/progress.h"
#include "ropewalk/study/race.h"

namespace ropewalk {

// One line that is rewritten on a terminal; elsewhere a plain line for every tenth of the race. The
// time left goes by the passes of this run: those that the study had already took none.
class RaceDisplay {
 public:
  void operator()(const RaceProgress& progress);

 private:
  void say(const std::string& label);

  ProgressLine line_ = ProgressLine("extend");
  int shown_ = -1;
  std::string said_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_RACE_DISPLAY_H_
