// Lists that a scheme string takes from a file: "@FILE.json".
#ifndef ROPEWALK_SCHEMES_LIST_FILE_H_
#define ROPEWALK_SCHEMES_LIST_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace ropewalk {

inline constexpr size_t kMaxListFileBytes = size_t{1} << 20;

// The numbers of a JSON array [a, b, c], or of an array of pairs [[a, b], [c, d]] as a, b, c, d.
//   place  what the list is for, named in an Error
//   path   relative to the current directory
//   pairs  whether the array must hold pairs
// Throws Error where the file cannot be read, is over kMaxListFileBytes, is not JSON or holds
// anything else.
std::vector<double> read_list_file(const std::string& place, const std::string& path, bool pairs);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_LIST_FILE_H_
