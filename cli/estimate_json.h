// Estimates as the commands print them.
#ifndef ROPEWALK_CLI_ESTIMATE_JSON_H_
#define ROPEWALK_CLI_ESTIMATE_JSON_H_

#include <nlohmann/json.hpp>

#include "ropewalk/study/bootstrap.h"

namespace ropewalk {

// {"mean": 1.25, "interval": [1.2, 1.3], "tokens": 480}; the interval is null where there is none.
//   counted  what the terms are: "tokens"
inline nlohmann::ordered_json estimate_json(const Estimate& estimate,
                                            const char* counted = "tokens") {
  nlohmann::ordered_json out = {{"mean", estimate.mean}};
  out["interval"] = nullptr;
  if (estimate.interval) out["interval"] = {estimate.interval->low, estimate.interval->high};
  out[counted] = estimate.count;
  return out;
}

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_ESTIMATE_JSON_H_
