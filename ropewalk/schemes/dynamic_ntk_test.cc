#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::declared;
using small_model::inv_freq_under;
using small_model::under;

TEST(DynamicNtk, IsPlainUpToTheTrainedLength) {
  EXPECT_EQ(inv_freq_under("dynamic_ntk", 512), inv_freq_under("declared"));
  EXPECT_NE(inv_freq_under("dynamic_ntk", 513), inv_freq_under("declared"));
}

TEST(DynamicNtk, IsNtkForTheLengthReached) {
  EXPECT_EQ(inv_freq_under("dynamic_ntk", 2048), inv_freq_under("ntk,factor=4"));
  EXPECT_EQ(inv_freq_under("dynamic_ntk,factor=2", 1024), inv_freq_under("ntk,factor=3"));
}

TEST(DynamicNtk, RowsOfABlockShareItsEnd) {
  const SpectrumRule blocks = under("dynamic_ntk").spectrum;
  EXPECT_EQ(blocks.length_for_row(0, 1000), 64);
  EXPECT_EQ(blocks.length_for_row(640, 1000), 704);
  EXPECT_EQ(blocks.length_for_row(999, 1000), 1000);
  EXPECT_EQ(under("dynamic_ntk,block=all").spectrum.length_for_row(0, 1000), 1000);
  EXPECT_EQ(under("dynamic_ntk,block=16").spectrum.length_for_row(0, 1000), 16);
}

TEST(DynamicNtk, NeedsATrainedLength) {
  Rotary unknown = declared();
  unknown.source.trained_length = 0;
  EXPECT_THROW(apply_scheme("dynamic_ntk", unknown), Error);
  EXPECT_THROW(under("dynamic_ntk,block=0"), Error);
  EXPECT_THROW(under("dynamic_ntk,block=none"), Error);
}

}  // namespace
}  // namespace ropewalk
