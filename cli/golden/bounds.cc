#include "cli/golden/bounds.h"

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk::golden {
namespace {

Error out_of_bounds(const std::string& name, int64_t least, int64_t most,
                    const std::string& value) {
  return Error(
             name,
             "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most),
             value)
      .of(FaultKind::kOutOfRange);
}

}  // namespace

int64_t require_between(const std::string& name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return value;
  throw out_of_bounds(name, least, most, std::to_string(value));
}

int64_t bounded(const Json& object, const char* name, int64_t least, int64_t most) {
  const Json& given = object.at(name);
  // As a double first, which holds any number that JSON has.
  const double number = given.is_number() ? given.get<double>() : std::nan("");
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) ||
      number != std::floor(number)) {
    throw out_of_bounds(name, least, most, given.dump());
  }
  return given.get<int64_t>();
}

int64_t bounded_width(const Json& object, const char* name) {
  return bounded(object, name, 1, kMostWidth);
}

void require_room(const std::string& name, std::initializer_list<int64_t> dimensions) {
  int64_t room = kMostNumbers;
  std::string text;
  for (const int64_t dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + std::to_string(dimension);
    if (dimension > 0) room /= dimension;
  }
  if (room > 0) return;
  throw Error(name, "must have at most " + std::to_string(kMostNumbers) + " numbers", text)
      .of(FaultKind::kOutOfRange);
}

}  // namespace ropewalk::golden
