// How much a setting changes of what the file declares: the order in which changes are preferred
// where measurements do not tell settings apart.
#ifndef ROPEWALK_STUDY_SCHEME_CHANGE_H_
#define ROPEWALK_STUDY_SCHEME_CHANGE_H_

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "ropewalk/study/record.h"

namespace ropewalk {

// Fewer parts are the smaller change, then smaller angles: "declared" has neither.
struct SchemeChange {
  size_t parts = 0;  // of the scheme string
  // |ln(angle / declared angle)|, a mean over pairs and over distances that lie evenly on a log
  // scale up to N; at most ln(N), which stands for a key that is not seen and a pair that stands
  // still.
  double angle = 0;

  auto operator<=>(const SchemeChange&) const = default;
};

// Throws Error where the scheme is none. Infinite angle where the two are not of one model.
SchemeChange scheme_change(const SchemeFacts& scheme, const SchemeFacts& declared);

// The settings that differ from `scheme` in one number alone, and itself.
struct GridLine {
  std::string parameter;  // "window"
  struct Setting {
    double value = 0;
    std::string scheme;
  };
  std::vector<Setting> settings;  // rising by value, two or more
  size_t at = 0;                  // the one that was asked about

  bool is_edge() const { return at == 0 || at + 1 == settings.size(); }
};

// One for each parameter of `scheme` that others vary.
//   scheme, all  canonical
std::vector<GridLine> grid_lines(const std::string& scheme, const std::vector<std::string>& all);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SCHEME_CHANGE_H_
