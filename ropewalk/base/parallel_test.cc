#include "ropewalk/base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace ropewalk {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  std::vector<int> visits(1000);
  parallel_for(
      1000, [] { return 0; }, [&](int64_t index, int&) { ++visits[static_cast<size_t>(index)]; });
  EXPECT_EQ(visits, std::vector<int>(1000, 1));
}

TEST(ParallelFor, ThrowsOnTheCallersThread) {
  const auto body = [](int64_t index, int&) {
    if (index == 17) throw std::runtime_error("seventeen");
  };
  EXPECT_THROW(parallel_for(
                   100, [] { return 0; }, body),
               std::runtime_error);
  const auto no_state = []() -> int { throw std::bad_alloc(); };
  EXPECT_THROW(parallel_for(100, no_state, [](int64_t, int&) {}), std::bad_alloc);
}

}  // namespace
}  // namespace ropewalk
