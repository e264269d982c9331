// What a study says of published orderings: ropewalk/study/calibration.h for people and machines.
#ifndef ROPEWALK_CLI_CALIBRATION_REPORT_H_
#define ROPEWALK_CLI_CALIBRATION_REPORT_H_

#include <nlohmann/json.hpp>
#include <span>

#include "ropewalk/report/table.h"
#include "ropewalk/study/calibration.h"

namespace ropewalk {

ResultTable calibration_table(std::span<const Calibration> calibrations);       // by ordering
ResultTable calibration_pair_table(std::span<const Calibration> calibrations);  // by pair

// A list with an object for each ordering, its pairs within.
nlohmann::ordered_json calibration_json(std::span<const Calibration> calibrations);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_CALIBRATION_REPORT_H_
