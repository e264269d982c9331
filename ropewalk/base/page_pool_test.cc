#include "ropewalk/base/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ropewalk {
namespace {

TEST(PagePool, ArraysAreAlignedZeroAndApart) {
  struct Array {
    std::shared_ptr<uint8_t> bytes;
    size_t size;
    uint8_t filled;
  };
  std::vector<Array> arrays;
  for (size_t size : {1, 64, 65, 100'000, 2'000'000, 2'097'152, 3'000'000, 9'000'000}) {
    for (int repeat = 0; repeat < 6; ++repeat) {
      Array array{allocate_pooled(size), size, static_cast<uint8_t>(arrays.size() + 1)};
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array.bytes.get()) % 64, 0U);
      const uint8_t* const end = array.bytes.get() + size;
      EXPECT_EQ(std::find_if(array.bytes.get(), const_cast<uint8_t*>(end),
                             [](uint8_t byte) { return byte != 0; }),
                end);
      std::memset(array.bytes.get(), array.filled, size);
      arrays.push_back(std::move(array));
    }
    if (arrays.size() > 20) arrays.erase(arrays.begin(), arrays.begin() + 5);
  }
  for (const Array& array : arrays) {
    EXPECT_EQ(std::count(array.bytes.get(), array.bytes.get() + array.size, array.filled),
              static_cast<std::ptrdiff_t>(array.size));
  }
}

}  // namespace
}  // namespace ropewalk
