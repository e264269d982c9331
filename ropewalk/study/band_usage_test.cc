#include "ropewalk/study/band_usage.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

#include "ropewalk/engine/test_support.h"
#include "ropewalk/math/reference.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

// One head of 6 coordinates: pairs (0, 2) and (1, 3), which turn by 1 and 0.01 radians, and two
// that pass through.
const ModelShape kShape{.n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 6};

Positions plain() {
  return {.schemes = {plain_rotary({.base = 10000.0, .frequency_dim = 4, .trained_length = 512},
                                   {PairOrder::kHalf, 6, 4})},
          .layers = {0}};
}

struct Pass {
  std::vector<float> q, k, scale;

  explicit Pass(size_t n) : scale(n, 0.5f) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal(0.3f, 1.0f);
    for (size_t x = 0; x < n * 6; ++x) {
      q.push_back(normal(generator));
      k.push_back(normal(generator));
    }
  }
  LayerView view() const {
    return {.n_rows = static_cast<int64_t>(scale.size()),
            .q = q.data(),
            .k = k.data(),
            .score_factor = 0.5,
            .row_scale = scale,
            .sinks = {}};
  }
};

// What part `c` of the head adds between i and j: everything else is 0.
double part_of(const Pass& pass, size_t c, int64_t i, int64_t j) {
  const std::vector<std::vector<size_t>> coordinates = {{0, 2}, {1, 3}, {4, 5}};
  std::vector<double> query(6), key(6);
  for (const size_t x : coordinates[c]) {
    query[x] = static_cast<double>(pass.q[static_cast<size_t>(i) * 6 + x]);
    key[x] = static_cast<double>(pass.k[static_cast<size_t>(j) * 6 + x]);
  }
  const Positions positions = plain();
  const Spectrum spectrum = positions.schemes[0].spectrum.at(1);
  return 0.5 * reference_logit(positions.schemes[0], spectrum, spectrum, i, j, query, key);
}

// The measures as they are defined, for the keys that `holds` takes.
GroupUsage defined(const Pass& pass, const std::function<bool(int64_t, int64_t)>& holds) {
  const auto n = static_cast<int64_t>(pass.scale.size());
  GroupUsage usage{.pairs = std::vector<PairUsage>(3)};
  double score = 0;
  std::vector<double> covariance(3);
  for (int64_t i = 1; i < n; ++i) {
    std::vector<std::array<double, 4>> scores;  // of every key: three parts and their sum
    double total = 0;
    for (int64_t j = 0; j <= i; ++j) {
      scores.push_back({part_of(pass, 0, i, j), part_of(pass, 1, i, j), part_of(pass, 2, i, j), 0});
      scores.back()[3] = scores.back()[0] + scores.back()[1] + scores.back()[2];
      total += std::exp(scores.back()[3]);
    }
    std::vector<size_t> keys;
    for (int64_t j = 1; j < i; ++j) {
      if (holds(i, j)) keys.push_back(static_cast<size_t>(j));
    }
    if (keys.empty()) continue;
    const auto count = static_cast<double>(keys.size());
    std::array<double, 4> mean{};
    double weight = 0;
    for (const size_t j : keys) {
      weight += std::exp(scores[j][3]) / total;
      score += scores[j][3];
      for (size_t c = 0; c < 4; ++c) mean[c] += scores[j][c] / count;
    }
    usage.n_scores += static_cast<int64_t>(keys.size());
    usage.attention += weight;
    for (const size_t j : keys) {
      const double whole = scores[j][3] - mean[3];
      usage.variance += weight * whole * whole / count;
      for (size_t c = 0; c < 3; ++c) {
        const double off = scores[j][c] - mean[c];
        usage.pairs[c].variance += weight * off * off / count;
        usage.pairs[c].pull += std::exp(scores[j][3]) / total * off;
        covariance[c] += weight * off * whole / count;
      }
    }
    for (size_t c = 0; c < 3; ++c) usage.pairs[c].mean += weight * mean[c];
  }
  for (size_t c = 0; c < 3; ++c) {
    usage.pairs[c].share = covariance[c] / usage.variance;
    usage.pairs[c].mean /= usage.attention;
    usage.pairs[c].variance /= usage.attention;
    usage.pairs[c].pull /= usage.attention;
  }
  usage.variance /= usage.attention;
  usage.attention /= static_cast<double>(n - 1);
  usage.score = score / static_cast<double>(usage.n_scores);
  return usage;
}

void expect_equal(const GroupUsage& got, const GroupUsage& expected) {
  constexpr double kNear = 2e-5;
  EXPECT_EQ(got.n_scores, expected.n_scores);
  EXPECT_NEAR(got.attention, expected.attention, kNear);
  EXPECT_NEAR(got.score, expected.score, kNear);
  EXPECT_NEAR(got.variance, expected.variance, kNear);
  ASSERT_EQ(got.pairs.size(), expected.pairs.size());
  for (size_t c = 0; c < got.pairs.size(); ++c) {
    EXPECT_NEAR(got.pairs[c].mean, expected.pairs[c].mean, kNear);
    EXPECT_NEAR(got.pairs[c].variance, expected.pairs[c].variance, kNear);
    EXPECT_NEAR(got.pairs[c].share, expected.pairs[c].share, kNear);
    EXPECT_NEAR(got.pairs[c].pull, expected.pairs[c].pull, kNear);
  }
}

TEST(BandUsage, IsWhatTheDefinitionsSay) {
  constexpr int64_t kTokens = 120;
  const Pass pass(kTokens);
  std::vector<TextPlace> places;
  for (int32_t t = 0; t < kTokens; ++t) places.push_back({t / 5, t / 15, t / 45});
  const Positions positions = plain();
  BandUsage gathered(kShape, positions, {.queries = kTokens});
  gathered.begin(kTokens, places);
  gathered.add(pass.view());
  EXPECT_EQ(gathered.n_queries(), kTokens - 1);
  const HeadUsage head = gathered.usage()[0];
  for (size_t band = 0; band < 3; ++band) {
    SCOPED_TRACE(band);
    expect_equal(head.bands[band],
                 defined(pass, [&](int64_t i, int64_t j) { return distance_band(i - j) == band; }));
  }
  EXPECT_EQ(head.bands[3].n_scores, 0);
  double attention = head.own_attention + head.first_attention;
  for (size_t related = 0; related < kRelations; ++related) {
    SCOPED_TRACE(related);
    attention += head.relations[related].attention;
    expect_equal(head.relations[related], defined(pass, [&](int64_t i, int64_t j) {
                   return static_cast<size_t>(relation(places[static_cast<size_t>(i)],
                                                       places[static_cast<size_t>(j)])) == related;
                 }));
  }
  EXPECT_NEAR(attention, 1, 1e-9);
}

TEST(BandUsage, AnglesAreOfTheDistancesThatAreSeen) {
  Positions positions = plain();
  constexpr int64_t kOfDistance = 2 * 2 * sizeof(float);  // two pairs, cos and sin
  EXPECT_EQ(BandUsage::angle_bytes(positions, 100), 100 * kOfDistance);
  positions.schemes[0].visibility.window = 10;
  EXPECT_EQ(BandUsage::angle_bytes(positions, 100), 10 * kOfDistance);
}

TEST(BandUsage, WindowsAndChunksHideKeys) {
  const Pass pass(100);
  Positions positions = plain();
  positions.schemes[0].visibility.window = 10;
  BandUsage gathered(kShape, positions, {.queries = 100});
  gathered.begin(100, {});
  gathered.add(pass.view());
  EXPECT_GT(gathered.usage()[0].bands[0].attention, 0);
  EXPECT_EQ(gathered.usage()[0].bands[1].n_scores, 0);
  EXPECT_EQ(gathered.usage()[0].relations[0].n_scores, 0);  // no places were given

  const Positions all = plain();
  BandUsage chunked(kShape, all, {.queries = 100});
  chunked.begin(100, {});
  LayerView view = pass.view();
  view.chunk = 10;
  chunked.add(view);
  EXPECT_EQ(chunked.usage()[0].bands[1].n_scores, 0);
  EXPECT_EQ(chunked.usage()[0].bands[0].n_scores, 10 * 45 - 9);  // less those of the first key
}

TEST(BandUsage, SinksTakeAttention) {
  const Pass pass(20);
  const Positions positions = plain();
  BandUsage gathered(kShape, positions, {});
  gathered.begin(20, {});
  LayerView view = pass.view();
  const std::vector<float> sinks = {100.0f};
  view.sinks = sinks;
  gathered.add(view);
  const HeadUsage head = gathered.usage()[0];
  EXPECT_LT(head.own_attention + head.first_attention + head.bands[0].attention, 1e-30);
}

TEST(BandUsage, IsTheSameWhateverTheThreads) {
  const Positions positions = under(tiny_model(), "declared");
  const auto gather = [&](int threads, uint64_t seed) {
    const Threads used(threads);
    BandUsage gathered(tiny_model().config().shape, positions, {.queries = 16, .seed = seed});
    const std::vector<int32_t> ids = some_tokens(120);
    gathered.begin(120, {});
    tiny_model().observe(ids, positions, [&](const LayerView& view) { gathered.add(view); });
    std::vector<double> shares;
    for (const HeadUsage& head : gathered.usage()) {
      double sum = 0;
      for (const PairUsage& pair : head.bands[1].pairs) {
        shares.push_back(pair.share);
        sum += pair.share;
      }
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    return shares;
  };
  EXPECT_EQ(gather(1, 1), gather(3, 1));
  EXPECT_NE(gather(1, 1), gather(1, 2));
}

TEST(BandUsage, BandsAreDecades) {
  EXPECT_EQ(distance_band(1), 0u);
  EXPECT_EQ(distance_band(9), 0u);
  EXPECT_EQ(distance_band(10), 1u);
  EXPECT_EQ(distance_band(9999), 3u);
  EXPECT_EQ(distance_band(1 << 30), 4u);
  EXPECT_EQ(own_band(1), 0u);
  EXPECT_EQ(own_band(0.001), 3u);
  EXPECT_EQ(own_band(0.0011), 2u);
  EXPECT_EQ(own_band(1e-30), 4u);
  EXPECT_EQ(own_band(0), kDistanceBands);
}

TEST(BandUsage, RefusesMappedDistances) {
  const Positions positions = under(tiny_model(), "cap,window=9");
  EXPECT_THAT(message_of([&] { BandUsage(tiny_model().config().shape, positions, {}); }),
              HasSubstr("true distances"));
}

}  // namespace
}  // namespace ropewalk
