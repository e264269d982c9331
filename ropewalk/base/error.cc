#include "ropewalk/base/error.h"

#include <utility>

namespace ropewalk {
namespace {

std::string sentence(const std::string& place, const std::string& rule, const std::string& value,
                     const std::string& mend) {
  std::string text = place.empty() ? rule : place + ": " + rule;
  if (!value.empty()) text += ", got " + value;
  if (!mend.empty()) text += "; " + mend;
  return text;
}

}  // namespace

std::string to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUnspecified:
      return "unspecified";
    case FaultKind::kMissingKey:
      return "missing_key";
    case FaultKind::kBadType:
      return "bad_type";
    case FaultKind::kOutOfRange:
      return "out_of_range";
    case FaultKind::kOddDimension:
      return "odd_dimension";
    case FaultKind::kNotDivisible:
      return "not_divisible";
    case FaultKind::kWrongLength:
      return "wrong_length";
    case FaultKind::kSumMismatch:
      return "sum_mismatch";
    case FaultKind::kOrder:
      return "order";
    case FaultKind::kUnknownValue:
      return "unknown_value";
    case FaultKind::kConflict:
      return "conflict";
    case FaultKind::kInconsistent:
      return "inconsistent";
    case FaultKind::kAssumedValue:
      return "assumed_value";
    case FaultKind::kDerivedValue:
      return "derived_value";
  }
  return {};
}

Error::Error(std::string place, std::string rule, std::string value, std::string mend)
    : std::runtime_error(sentence(place, rule, value, mend)),
      place_(std::move(place)),
      rule_(std::move(rule)),
      value_(std::move(value)),
      mend_(std::move(mend)) {}

}  // namespace ropewalk
