// Estimates as tables hold them.
#ifndef ROPEWALK_CLI_ESTIMATE_VALUES_H_
#define ROPEWALK_CLI_ESTIMATE_VALUES_H_

#include <optional>

#include "ropewalk/report/table.h"
#include "ropewalk/study/bootstrap.h"

namespace ropewalk {

// Ends of the interval; no value where there is none.
inline ResultValue low_of(const std::optional<Estimate>& estimate) {
  return estimate && estimate->interval ? ResultValue(estimate->interval->low) : ResultValue();
}
inline ResultValue high_of(const std::optional<Estimate>& estimate) {
  return estimate && estimate->interval ? ResultValue(estimate->interval->high) : ResultValue();
}

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_ESTIMATE_VALUES_H_
