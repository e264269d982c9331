// NPY 1.0, NumPy's file of one array. Source: numpy/lib/format.py.
#ifndef ROPEWALK_FORMATS_NPY_H_
#define ROPEWALK_FORMATS_NPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

inline constexpr std::string_view kNpyBeginning = "\x93NUMPY";

// The file's bytes: little-endian float64 in C order, the header padded with spaces so that the
// data starts at a multiple of 64.
//   values  (product of shape)
//   shape   outermost first; empty for a single number
// Throws Error where they do not fit.
std::string npy_file(std::span<const double> values, const std::vector<uint64_t>& shape);

// Writes it whole or not at all. Throws Error naming the path.
void write_npy(const std::string& path, std::span<const double> values,
               const std::vector<uint64_t>& shape);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_NPY_H_
