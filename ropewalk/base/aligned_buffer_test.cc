#include "ropewalk/base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// The product of the two would be small again.
TEST(AlignedBuffer, SizesThatOverflowAreNamed) {
  for (const size_t count : {SIZE_MAX / 4 + 2, SIZE_MAX / 2, SIZE_MAX}) {
    try {
      const AlignedBuffer<float> buffer(count);
      FAIL() << count;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(count) + " elements of 4 bytes"),
                std::string::npos)
          << error.what();
    }
  }
  AlignedBuffer<float> buffer(4);
  EXPECT_THROW(buffer.reserve(SIZE_MAX / 2), Error);
  EXPECT_EQ(buffer.size(), 4u);
}

TEST(AlignedBuffer, IsZeroAndAligned) {
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{1} << 20}) {
    const AlignedBuffer<float> buffer(count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    for (size_t k = 0; k < count; k += 97) ASSERT_EQ(buffer[k], 0.0f);
  }
}

}  // namespace
}  // namespace ropewalk
