#include "cli/race_display.h"

#include <fmt/core.h>

#include <string>

#include "cli/messages.h"
#include "cli/text_layout.h"

namespace ropewalk {

void RaceDisplay::operator()(const RaceProgress& progress) {
  if (progress.planned == 0) return say(progress.label);
  const double done = static_cast<double>(progress.done) + progress.cell;
  const auto planned = static_cast<double>(progress.planned);
  const auto resumed = static_cast<double>(progress.resumed);
  const double worked = (done - resumed) / (planned - resumed);
  const std::string detail = fmt::format("{} of {} passes, {}", progress.done, progress.planned,
                                         without_lists(progress.label));
  line_.update(done / planned, worked, detail);
  const int tenth = static_cast<int>(10 * done / planned);
  if (ProgressLine::is_terminal() || tenth == shown_) return;
  shown_ = tenth;
  tell(detail + line_.left(worked) + "\n");
}

void RaceDisplay::say(const std::string& label) {
  line_.say(label);
  if (ProgressLine::is_terminal() || label == said_) return;
  said_ = label;
  tell(label + "\n");
}

}  // namespace ropewalk
