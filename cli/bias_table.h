#ifndef ROPEWALK_CLI_BIAS_TABLE_H_
#define ROPEWALK_CLI_BIAS_TABLE_H_

#include <string>

#include "ropewalk/study/bias_curve.h"

namespace ropewalk {

inline constexpr const char* kBiasTable = "bias_curve";

// The median bias curve with its picture, as a study keeps tables (study/record.h). Empty where no head
// is open.
std::string bias_record(const BiasReport& bias);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_BIAS_TABLE_H_
