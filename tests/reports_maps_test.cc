// Public bug reports about engines that run distance maps, restated as what must hold here. Codes are
// those of the collection that this project was given.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/rotations.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr PairLayout kLayout{PairOrder::kHalf, 16, 16};
constexpr int64_t kTrained = 40;
constexpr int64_t kHeads = 2;
constexpr int64_t kWindow = 12;  // of every map below: keys nearer than that are seen truly

const std::vector<std::string> kMaps = {"cap,window=12",
                                        "self_extend,window=12,group=4",
                                        "leaky,window=12,divisor=4",
                                        "dca,chunk=39,local=12",
                                        "string,shift=12,window=4",
                                        "jet_long,window=11",
                                        "log_tail,window=12",
                                        "dpe,window=12,groups=1:4",
                                        "group_attention,group=4,window=12",
                                        "self_logistic,window=12,capacity=8,rate=0.2"};

Rotary under(const std::string& scheme) {
  return apply_scheme(
      scheme,
      plain_rotary({.base = 10000.0, .frequency_dim = 16, .trained_length = kTrained}, kLayout));
}

struct Text {
  int64_t n_tokens = 0;
  std::vector<float> query, key, value;  // (n_tokens, kHeads, head_dim)
};

Text text_of(int64_t n_tokens, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const auto filled = [&] {
    std::vector<float> values(static_cast<size_t>(n_tokens * kHeads * kLayout.head_dim));
    for (float& value : values) value = normal(generator);
    return values;
  };
  return {n_tokens, filled(), filled(), filled()};
}

std::vector<float> attend_to(const Rotary& rotary, const Text& text) {
  KvTiles<float> kv(kHeads, kLayout.head_dim, text.n_tokens);
  kv.store(0, text.n_tokens, text.key.data(), text.value.data());
  const Rotations rotations(rotary, text.n_tokens, 0, text.n_tokens, AngleMode::kExact);
  const std::vector<float> scale(static_cast<size_t>(text.n_tokens), 0.25F);
  std::vector<float> out(text.query.size());
  attend<float>(rotations, kv, kHeads, text.query.data(), scale, out.data());
  return out;
}

std::vector<double> reference_of(const Rotary& rotary, const Text& text) {
  const auto wide = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  return reference_attention(
      rotary, {.n_tokens = text.n_tokens, .n_heads = kHeads, .n_kv_heads = kHeads, .scale = 0.25},
      wide(text.query), wide(text.key), wide(text.value));
}

double apart(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

// Texts of unequal lengths side by side: each is what a loop over its own tokens gives.
TEST(Reports, SCH_09_BatchesOfUnequalTexts) {
  const std::vector<Text> batch = {text_of(75, 1), text_of(130, 2)};
  for (const std::string& scheme : kMaps) {
    const Rotary rotary = under(scheme);
    for (const Text& text : batch) {
      EXPECT_LE(apart(attend_to(rotary, text), reference_of(rotary, text)), 2e-5)
          << scheme << ", " << text.n_tokens << " tokens";
    }
  }
}

// No table grows with the square of the length.
TEST(Reports, SCH_09_MemoryIsLinear) {
  for (const std::string& scheme : kMaps) {
    const Rotary rotary = under(scheme);
    const auto bytes = [&](int64_t n) {
      return static_cast<double>(Rotations(rotary, n, 0, n, AngleMode::kExact).table_bytes());
    };
    EXPECT_LE(bytes(4096), 2.1 * bytes(2048)) << scheme;
  }
}

// A map that was not wired would give what no map gives.
TEST(Reports, SCH_10_MapsAreWired) {
  const Text text = text_of(150, 3);
  const std::vector<float> plain = attend_to(under("declared"), text);
  const int64_t row = kHeads * kLayout.head_dim;
  for (const std::string& scheme : kMaps) {
    const std::vector<float> mapped = attend_to(under(scheme), text);
    double beyond = 0;
    for (int64_t k = 0; k < std::ssize(mapped); ++k) {
      const double difference = std::abs(mapped[k] - plain[k]);
      // Rows inside the window see true distances only; jet_long changes all or none by the length.
      if (k / row < kWindow) {
        EXPECT_LE(difference, 2e-6) << scheme << ", row " << k / row;
      }
      if (k / row >= kTrained) beyond = std::max(beyond, difference);
    }
    EXPECT_GT(beyond, 1e-2) << scheme;
  }
}

}  // namespace
}  // namespace ropewalk
