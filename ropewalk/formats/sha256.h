// SHA-256, to show that bytes are the same. Source: FIPS 180-4.
#ifndef ROPEWALK_FORMATS_SHA256_H_
#define ROPEWALK_FORMATS_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ropewalk {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);

  // 64 lower-case hexadecimal digits. Ends the object's use.
  std::string hex();

 private:
  static constexpr size_t kBlock = 64;

  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> pending_ = {};  // the start of a block that is not full yet
  uint64_t length_ = 0;                         // bytes so far
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_SHA256_H_
