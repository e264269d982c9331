#include "ropewalk/base/bounded_cache.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace ropewalk {
namespace {

TEST(BoundedCache, KeepsThoseAskedForLast) {
  BoundedCache<int, std::string> cache(2);
  int made = 0;
  const auto ask = [&](int key) {
    return *cache.find_or_make(key, [&] {
      ++made;
      return std::to_string(key);
    });
  };
  EXPECT_EQ(ask(1), "1");
  EXPECT_EQ(ask(2), "2");
  EXPECT_EQ(ask(1), "1");
  EXPECT_EQ(made, 2);
  ask(3);  // takes the place of 2
  ask(1);
  EXPECT_EQ(made, 3);
  ask(2);
  EXPECT_EQ(made, 4);
}

TEST(BoundedCache, WhatIsInUseOutlivesItsPlace) {
  BoundedCache<int, std::string> cache(1);
  const auto first = cache.find_or_make(1, [] { return std::string("one"); });
  cache.find_or_make(2, [] { return std::string("two"); });
  EXPECT_EQ(*first, "one");
}

TEST(BoundedCache, WhatCannotBeMadeIsNotKept) {
  BoundedCache<int, std::string> cache(1);
  const auto fail = []() -> std::string { throw std::runtime_error("no"); };
  EXPECT_THROW(cache.find_or_make(1, fail), std::runtime_error);
  EXPECT_EQ(*cache.find_or_make(1, [] { return std::string("one"); }), "one");
}

}  // namespace
}  // namespace ropewalk
