// Little-endian values, appended to bytes: what ByteReader reads.
#ifndef ROPEWALK_FORMATS_APPEND_BYTES_H_
#define ROPEWALK_FORMATS_APPEND_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace ropewalk {

static_assert(std::endian::native == std::endian::little, "the formats are little endian");

template <typename T>
void append_number(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
  char stored[sizeof(T)];
  std::memcpy(stored, &value, sizeof(T));
  out.append(stored, sizeof(T));
}

// A u64 length and the bytes.
inline void append_string(std::string& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  out += text;
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_APPEND_BYTES_H_
