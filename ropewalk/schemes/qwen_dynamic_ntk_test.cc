#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

// Trained at 512 tokens. The slowest pair turns as many times slower as the scale says.
TEST(QwenDynamicNtk, ScaleGrowsWhenTheLengthPassesADoubling) {
  const std::vector<double> plain = inv_freq_under("rope");
  for (const auto& [n, scale] : {std::pair<int64_t, double>{1, 1},
                                 {512, 1},
                                 {513, 3},
                                 {1024, 3},
                                 {1025, 7},
                                 {2048, 7},
                                 {2049, 15},
                                 {1 << 20, 4095}}) {
    const std::vector<double> inv_freq = inv_freq_under("qwen_dynamic_ntk", n);
    EXPECT_EQ(inv_freq[0], 1) << n;
    EXPECT_NEAR(inv_freq[3] * scale, 0.001, 1e-17) << n;
    EXPECT_EQ(inv_freq == plain, n <= 512) << n;
  }
}

TEST(QwenDynamicNtk, GoesByTheWholeSequenceUnlessByBlocks) {
  const SpectrumRule whole = under("qwen_dynamic_ntk").spectrum;
  EXPECT_EQ(whole.length_for_row(0, 2048), 2048);
  const SpectrumRule blocks = under("qwen_dynamic_ntk,block=64").spectrum;
  EXPECT_EQ(blocks.length_for_row(0, 2048), 64);
}

TEST(QwenDynamicNtk, CountsFromTheOriginalLength) {
  EXPECT_EQ(inv_freq_under("qwen_dynamic_ntk,original=256", 512),
            inv_freq_under("qwen_dynamic_ntk", 1024));
}

TEST(QwenDynamicNtk, NeedsATrainedLengthAndMoreThanOnePair) {
  const PairLayout layout{PairOrder::kHalf, 8, 8};
  const Rotary untold = plain_rotary({.base = 10000.0, .frequency_dim = 8}, layout);
  EXPECT_THROW(apply_scheme("qwen_dynamic_ntk", untold), Error);
  EXPECT_NO_THROW(apply_scheme("qwen_dynamic_ntk,original=64", untold));
  const Rotary one_pair = plain_rotary({.base = 10000.0, .frequency_dim = 2, .trained_length = 64},
                                       {PairOrder::kHalf, 2, 2});
  EXPECT_THROW(apply_scheme("qwen_dynamic_ntk", one_pair), Error);
}

}  // namespace
}  // namespace ropewalk
