// What `ropewalk bands` found as tables and pictures of a study's report.
#ifndef ROPEWALK_CLI_BANDS_TABLES_H_
#define ROPEWALK_CLI_BANDS_TABLES_H_

#include <vector>

#include "cli/study_table.h"
#include "ropewalk/study/bands.h"

namespace ropewalk {

inline constexpr const char* kPairUsageTable = "pair_usage";
inline constexpr const char* kRelationTable = "relations";

// What pairs tell at each distance, and by where the key stands. Tables without a row are left out.
std::vector<StudyTable> usage_tables(const UsageReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_BANDS_TABLES_H_
