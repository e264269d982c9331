#ifndef ROPEWALK_CLI_BIAS_TABLE_H_
#define ROPEWALK_CLI_BIAS_TABLE_H_

#include <optional>

#include "cli/study_table.h"
#include "ropewalk/study/bias_curve.h"

namespace ropewalk {

inline constexpr const char* kBiasTable = "bias_curve";

// The median bias curve with its picture. Nothing where no head is open.
std::optional<StudyTable> bias_table(const BiasReport& bias);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_BIAS_TABLE_H_
