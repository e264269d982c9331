// Reads a stranger's bytes in order, each read checked against what is left.
#ifndef ROPEWALK_FORMATS_BYTE_READER_H_
#define ROPEWALK_FORMATS_BYTE_READER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

static_assert(std::endian::native == std::endian::little, "the formats are little endian");

// A position in a span of bytes. Every member throws Error, naming the file and the offset, when it
// would pass the end. Views point into the span.
class ByteReader {
 public:
  // `place` names the file in messages.
  ByteReader(std::span<const std::byte> bytes, std::string place)
      : bytes_(bytes), place_(std::move(place)) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& place() const { return place_; }

  // `what` names the value in messages.
  std::span<const std::byte> take(uint64_t count, const char* what) {
    if (count > remaining()) {
      throw Error(place_ + ": byte " + std::to_string(offset_),
                  std::string(what) + " must end within the file, which has " +
                      std::to_string(remaining()) + " bytes left",
                  std::to_string(count));
    }
    const auto taken = bytes_.subspan(static_cast<size_t>(offset_), static_cast<size_t>(count));
    offset_ += count;
    return taken;
  }

  template <typename T>
  T read(const char* what) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  // A u64 length and that many bytes.
  std::string_view read_string(const char* what) {
    const auto length = read<uint64_t>(what);
    const std::span<const std::byte> text = take(length, what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  // A u64 that counts items of at least `item_bytes` each: so never more than the file can hold.
  uint64_t read_count(uint64_t item_bytes, const char* what) {
    const uint64_t at = offset_;
    const auto count = read<uint64_t>(what);
    const uint64_t most = remaining() / item_bytes;
    if (count > most) {
      throw Error(place_ + ": byte " + std::to_string(at),
                  std::string(what) + " must be at most the " + std::to_string(most) +
                      " that the rest of the file can hold",
                  std::to_string(count));
    }
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
  std::string place_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_BYTE_READER_H_
