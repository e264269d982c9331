#include "ropewalk/formats/mxfp4_apart.h"

#include <cassert>
#include <cstdint>

#include "ropewalk/formats/block_decoders-inl.h"

namespace ropewalk {

void decode_mxfp4_apart(std::span<const std::byte> blocks, std::span<const std::byte> scales,
                        std::span<float> out) {
  assert(blocks.size() * 2 == out.size() && scales.size() * kMxfp4Elements == out.size());
  const auto value = [](std::byte nibble) {
    return static_cast<float>(block_decoders::kE2m1Doubled[std::to_integer<size_t>(nibble)]);
  };
  for (size_t block = 0; block < scales.size(); ++block) {
    const float half = block_decoders::half_of_e8m0(std::to_integer<uint8_t>(scales[block]));
    for (size_t k = block * kMxfp4Bytes; k < (block + 1) * kMxfp4Bytes; ++k) {
      out[2 * k] = value(blocks[k] & std::byte{15}) * half;
      out[2 * k + 1] = value(blocks[k] >> 4) * half;
    }
  }
}

}  // namespace ropewalk
