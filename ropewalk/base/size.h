#ifndef ROPEWALK_BASE_SIZE_H_
#define ROPEWALK_BASE_SIZE_H_

#include <cstddef>
#include <cstdint>

namespace ropewalk {

// Counts and places are int64_t, of which the standard library's containers know nothing.
constexpr size_t size(int64_t n) { return static_cast<size_t>(n); }

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_SIZE_H_
