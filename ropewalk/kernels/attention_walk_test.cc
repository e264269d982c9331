// The walk's closed forms against the intervals of every row, on rectangles of all sizes.
#include "ropewalk/kernels/attention_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 150;
constexpr PairLayout kLayout{PairOrder::kHalf, 16, 16};

Rotary plain() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 16, .trained_length = 24}, kLayout);
}

std::vector<Rotary> rotaries() {
  std::vector<Rotary> all(7, plain());
  all[1].distance = piecewise_linear(20, 20.0, 0.0);
  all[2].distance = piecewise_linear(20, 20.0, 0.25);
  all[2].mask.past = PairMask::Past::kSilent;
  all[3].mask.past = PairMask::Past::kFrozen;
  all[3].visibility = {.window = 30, .sinks = 5};
  all[4].visibility = {.window = 30, .sinks = 5, .sinks_stay = true};
  all[4].distance = DistanceMap([](int64_t d) { return DoubleDouble(d) * 0.5; });
  all[5].visibility = {.window = 40, .sinks = 3};
  all[5].distance = all[4].distance;
  all[6].distance = DistanceMap::by_chunks(
      23, {{.first = 0, .last = 1}, {.first = 1, .query = {.period = 23}, .key = {.period = 23}}});
  all[6].visibility = {.window = 90, .sinks = 4};
  return all;
}

// Counts the pairs of tokens of the rectangle for which the part holds.
int64_t held(const AttentionWalk& walk, const WalkPart& part, const WalkRectangle& rectangle) {
  int64_t sum = 0;
  for (int64_t i = rectangle.first_row; i <= rectangle.last_row; ++i) {
    const KeyInterval keys = walk.keys(part, i);
    sum += std::max<int64_t>(
        0, std::min(keys.last, rectangle.end_key) - std::max(keys.first, rectangle.first_key));
  }
  return sum;
}

int64_t size_of(const WalkRectangle& rectangle) {
  return (rectangle.last_row - rectangle.first_row + 1) * (rectangle.end_key - rectangle.first_key);
}

// Calls visit(walk, rectangle) for random rectangles under every map.
template <typename Visit>
void for_rectangles(const Visit& visit) {
  std::mt19937 generator(3);
  const auto below = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n - 1)(generator);
  };
  for (const Rotary& rotary : rotaries()) {
    const Rotations rotations(rotary, kTokens, 0, kTokens, AngleMode::kExact);
    for (const int64_t first_key : {0, 1, 70}) {
      const AttentionWalk walk(rotations, first_key);
      for (int k = 0; k < 2000; ++k) {
        const int64_t row = below(kTokens);
        const int64_t key = below(kTokens);
        visit(walk, WalkRectangle{row, row + below(std::min<int64_t>(40, kTokens - row)), key,
                                  key + 1 + below(64)});
      }
    }
  }
}

TEST(AttentionWalk, CoverIsWhatTheRowsSay) {
  for_rectangles([](const AttentionWalk& walk, const WalkRectangle& rectangle) {
    for (const WalkPart& part : walk.parts()) {
      const int64_t sum = held(walk, part, rectangle);
      switch (walk.cover(part, rectangle)) {
        case Cover::kNone:
          ASSERT_EQ(sum, 0);
          break;
        case Cover::kAll:
          ASSERT_EQ(sum, size_of(rectangle));
          break;
        case Cover::kSome:
          ASSERT_LT(sum, size_of(rectangle));
          break;
      }
    }
  });
}

TEST(AttentionWalk, BitsAreTheRowsKeys) {
  for_rectangles([](const AttentionWalk& walk, const WalkRectangle& rectangle) {
    for (const WalkPart& part : walk.parts()) {
      const EndRows ends{walk.keys(part, rectangle.first_row), walk.keys(part, rectangle.last_row)};
      std::vector<uint64_t> bits(static_cast<size_t>(rectangle.last_row - rectangle.first_row + 1));
      walk.key_bits(part, rectangle, ends, bits);
      for (int64_t r = 0; r < std::ssize(bits); ++r) {
        const KeyInterval keys = walk.keys(part, rectangle.first_row + r);
        uint64_t wanted = 0;
        for (int64_t k = 0; k < 64; ++k) {
          const int64_t j = rectangle.first_key + k;
          if (keys.first <= j && j < keys.last) wanted |= uint64_t{1} << k;
        }
        ASSERT_EQ(bits[r], wanted);
      }
    }
  });
}

TEST(AttentionWalk, WhereAllIsSeenThePartsHoldForAll) {
  int64_t n_seen = 0;
  for_rectangles([&](const AttentionWalk& walk, const WalkRectangle& rectangle) {
    if (!walk.sees_all(rectangle)) return;
    int64_t sum = 0;
    for (const WalkPart& part : walk.parts()) sum += held(walk, part, rectangle);
    ASSERT_EQ(sum, size_of(rectangle));
    ++n_seen;
  });
  EXPECT_GT(n_seen, 1000);
}

// Every pair of tokens that is seen falls to one part, and to no other.
TEST(AttentionWalk, PartsShareOutWhatIsSeen) {
  for (const Rotary& rotary : rotaries()) {
    const Rotations rotations(rotary, kTokens, 0, kTokens, AngleMode::kExact);
    const AttentionWalk walk(rotations, 2);
    for (int64_t i = 0; i < kTokens; ++i) {
      for (int64_t j = 0; j < kTokens; ++j) {
        const WalkRectangle one{i, i, j, j + 1};
        int64_t parts = 0;
        for (const WalkPart& part : walk.parts()) parts += held(walk, part, one);
        ASSERT_EQ(parts, j >= 2 && rotary.visibility.sees(i, j) ? 1 : 0) << i << ", " << j;
      }
    }
  }
}

// Masked branches of one map are one family, each hearing the last pairs of its list.
TEST(AttentionWalk, NestedBranchesAreOneFamily) {
  Rotary rotary = plain();
  rotary.mask.past = PairMask::Past::kSilent;
  const Rotations masked(rotary, kTokens, 0, kTokens, AngleMode::kExact);
  const AttentionWalk walk(masked, 0);
  ASSERT_EQ(walk.families().size(), 1u);
  EXPECT_GT(walk.parts().size(), 2u);
  for (size_t p = 0; p + 1 < walk.parts().size(); ++p)
    EXPECT_LT(walk.parts()[p].n_pairs, walk.parts()[p + 1].n_pairs);
  for (size_t p = 0; p < 8; ++p)
    EXPECT_EQ(walk.families()[0].pairs[p].pair, static_cast<int64_t>(7 - p));

  rotary.distance = piecewise_linear(20, 20.0, 0.0);
  const Rotations capped(rotary, kTokens, 0, kTokens, AngleMode::kExact);
  const AttentionWalk two(capped, 0);
  ASSERT_EQ(two.families().size(), 2u);
  int64_t standing = 0;
  for (const WalkFamily& family : two.families())
    standing += std::ranges::count(family.key_stands, true) > 0 ? 1 : 0;
  EXPECT_EQ(standing, 1);  // the one beyond the cap
}

}  // namespace
}  // namespace ropewalk
