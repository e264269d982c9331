// What allocate_aligned() takes for a buffer, for those who make it and those who foretell it.
#ifndef ROPEWALK_BASE_ALIGNED_SIZE_H_
#define ROPEWALK_BASE_ALIGNED_SIZE_H_

#include <cstddef>

namespace ropewalk {

inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kHugePage = size_t{2} << 20;

constexpr size_t alignment_of(size_t bytes) { return bytes >= kHugePage ? kHugePage : kCacheLine; }

// bytes in whole units of its alignment: all of them are written once, so all of them count.
//   bytes  at most SIZE_MAX - kHugePage
constexpr size_t aligned_bytes(size_t bytes) {
  const size_t alignment = alignment_of(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

// What an AlignedBuffer takes.
template <typename Buffer>
size_t held_bytes(const Buffer& buffer) {
  return aligned_bytes(buffer.size() * sizeof(buffer[0]));
}

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_ALIGNED_SIZE_H_
