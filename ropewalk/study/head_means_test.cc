#include "ropewalk/study/head_means.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

const ModelShape kShape{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 2};

LayerView view_of(const std::vector<float>& q, const std::vector<float>& k, int64_t first_row = 0) {
  return {.first_row = first_row,
          .n_rows = static_cast<int64_t>(k.size()) / 2,
          .q = q.data(),
          .k = k.data(),
          .score_factor = 0.5,
          .row_scale = {},
          .sinks = {}};
}

TEST(HeadMeans, AreMeansOfAllPassesButTheirFirstRows) {
  HeadMeans gathered(kShape, 1);
  const std::vector<float> q = {99, 99, 99, 99, 1, 2, 3, 4, 3, 4, 5, 6}, k = {99, 99, 1, -1, 3, 5};
  gathered.add(view_of(q, k));
  const std::vector<float> more_q = {9, 9, 9, 9, 2, 6, 7, 8}, more_k = {9, 9, 5, 5};
  gathered.add(view_of(more_q, more_k));
  EXPECT_EQ(gathered.n_tokens(), 3);
  const LayerMeans means = gathered.means()[0];
  EXPECT_EQ(means.score_factor, 0.5);
  EXPECT_EQ(means.q[0].mean, (std::vector<double>{2, 4}));
  EXPECT_EQ(means.q[1].mean, (std::vector<double>{5, 6}));
  EXPECT_EQ(means.k[0].mean, (std::vector<double>{3, 3}));
  EXPECT_EQ(means.k[0].square, (std::vector<double>{35.0 / 3, 17}));
}

TEST(HeadMeans, LaterRowsOfASequenceAllCount) {
  HeadMeans gathered(kShape, 2);
  const std::vector<float> q(4, 1.0f), k = {7, 8};
  gathered.add(view_of(q, k, 0));
  EXPECT_EQ(gathered.n_tokens(), 0);
  gathered.add(view_of(q, k, 100));
  EXPECT_EQ(gathered.n_tokens(), 1);
  EXPECT_EQ(gathered.means()[0].k[0].mean, (std::vector<double>{7, 8}));
}

TEST(HeadMeans, RefusesWhatIsNoNumber) {
  HeadMeans gathered(kShape, 0);
  const std::vector<float> q(4, 1.0f), k = {7, std::nanf("")};
  gathered.add(view_of(q, k));
  EXPECT_THAT(message_of([&] { gathered.means(); }), testing::HasSubstr("layer 0"));
}

TEST(HeadMeans, AreTheSameWhateverTheThreads) {
  const auto gather = [](int threads) {
    const Threads used(threads);
    HeadMeans gathered(tiny_model().config().shape, 1);
    tiny_model().observe(some_tokens(300), under(tiny_model(), "declared"),
                         [&](const LayerView& view) { gathered.add(view); });
    return gathered.means()[1].q[3].mean;
  };
  EXPECT_EQ(gather(1), gather(3));
}

}  // namespace
}  // namespace ropewalk
