#include "ropewalk/formats/mxfp4_apart.h"

#include <gmock/gmock.h>

#include <vector>

namespace ropewalk {
namespace {

using testing::ElementsAreArray;

// Every nibble, low one first, under a scale of 1, of 2^3 and of 2^-127.
TEST(Mxfp4Apart, DecodesEveryValueExactly) {
  std::vector<std::byte> blocks;
  for (int block = 0; block < 3; ++block) {
    for (int k = 0; k < 16; ++k) blocks.push_back(static_cast<std::byte>(k | (15 - k) << 4));
  }
  const std::vector<std::byte> scales = {std::byte{127}, std::byte{130}, std::byte{0}};
  std::vector<float> out(96);
  decode_mxfp4_apart(blocks, scales, out);
  const std::vector<float> values = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  std::vector<float> wanted;
  for (const float scale : {1.0f, 8.0f, 0x1p-127f}) {
    for (size_t k = 0; k < 16; ++k) {
      wanted.push_back(values[k] * scale);
      wanted.push_back(values[15 - k] * scale);
    }
  }
  EXPECT_THAT(out, ElementsAreArray(wanted));
}

}  // namespace
}  // namespace ropewalk
