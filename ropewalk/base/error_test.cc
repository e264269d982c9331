#include "ropewalk/base/error.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(ErrorTest, ReadsAsOneSentence) {
  EXPECT_STREQ(Error("rotary_dim", "must be even").what(), "rotary_dim: must be even");
  EXPECT_STREQ(Error("rotary_dim", "must be even", "3").what(), "rotary_dim: must be even, got 3");
  EXPECT_STREQ(Error("window", "must be at least 1", "0", "leave it out for none").what(),
               "window: must be at least 1, got 0; leave it out for none");
  EXPECT_STREQ(Error("window", "is missing", "", "add it").what(), "window: is missing; add it");
}

TEST(ErrorTest, KeepsItsParts) {
  const Error error("place", "rule", "value", "mend");
  EXPECT_EQ(error.place(), "place");
  EXPECT_EQ(error.rule(), "rule");
  EXPECT_EQ(error.value(), "value");
  EXPECT_EQ(error.mend(), "mend");
}

}  // namespace
}  // namespace ropewalk
