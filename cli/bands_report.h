// What `ropewalk bands` found, for people and for machines.
#ifndef ROPEWALK_CLI_BANDS_REPORT_H_
#define ROPEWALK_CLI_BANDS_REPORT_H_

#include <cstdint>
#include <string>

#include "ropewalk/study/bands.h"

namespace ropewalk {

struct ShownBands {
  std::string model;
  std::string text;  // StudyText::describe()
  uint64_t seed = 0;
  BandsReport report;
};

//   every_pair  a row for each pair, not for each band of them
std::string to_text(const ShownBands& shown, bool every_pair);
std::string to_json(const ShownBands& shown);

// "1-9", ..., "10000 and more", "does not turn", "passes through".
std::string pair_kind_name(size_t kind);

// "same sentence", ..., "beyond".
std::string relation_name(size_t relation);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_BANDS_REPORT_H_
