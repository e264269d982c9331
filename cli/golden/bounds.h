// What a case may ask for at most: no number in a file decides how much memory or time is spent.
#ifndef ROPEWALK_CLI_GOLDEN_BOUNDS_H_
#define ROPEWALK_CLI_GOLDEN_BOUNDS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "cli/golden/value.h"

namespace ropewalk::golden {

inline constexpr int64_t kMostWidth = int64_t{1} << 16;    // of a head, of a row; or heads
inline constexpr int64_t kMostNumbers = int64_t{1} << 22;  // of a table, of a range

// Returns `value`. Throws Error where it is not in [least, most].
int64_t require_between(const std::string& name, int64_t value, int64_t least, int64_t most);

// The whole number that a case gives under `name`, in [least, most]. Throws Error where it is not,
// and std::exception where the case has none of that name.
int64_t bounded(const Json& object, const char* name, int64_t least, int64_t most);

// Of the width of a head or a row: in [1, kMostWidth].
int64_t bounded_width(const Json& object, const char* name);

// Throws Error where a table of these dimensions, none negative, has more than kMostNumbers.
void require_room(const std::string& name, std::initializer_list<int64_t> dimensions);

}  // namespace ropewalk::golden

#endif  // ROPEWALK_CLI_GOLDEN_BOUNDS_H_
