#include "ropewalk/study/bias_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <optional>

#include "ropewalk/engine/model.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/study/windows.h"
#include "ropewalk/testing/exact_values.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 512, kTarget = 6000;
const double kScale = 1 / std::sqrt(8.0);

Positions under(const std::vector<Rotary>& layers) {
  Positions positions{.schemes = layers, .layers = {}};
  for (size_t layer = 0; layer < layers.size(); ++layer) positions.layers.push_back(layer);
  return positions;
}

VectorMeans of(std::vector<double> mean) {
  std::vector<double> square;
  for (const double x : mean) square.push_back(4 * x * x);
  return {std::move(mean), std::move(square)};
}

// Two query heads over one of keys: the first has all its mean in pair 2, the second in pair 3,
// each half a radian ahead of the keys'. Pair c is coordinates c and c + 4.
LayerMeans two_heads() {
  const double x = 2 * std::cos(0.5), y = 2 * std::sin(0.5);
  return {.q = {of({0, 0, x, 0, 0, 0, y, 0}), of({0, 0, 0, x, 0, 0, 0, y})},
          .k = {of({0, 0, 3, 3, 0, 0, 0, 0})},
          .score_factor = kScale};
}

TEST(BiasCurve, IsWhatTheFormulaSays) {
  const BiasReport report =
      bias_report({two_heads()}, under({small_model::declared()}), kTrained, kTarget);
  ASSERT_EQ(report.heads.size(), 2u);
  EXPECT_EQ(report.distances.front(), 0);
  EXPECT_EQ(report.distances.back(), kTarget);
  EXPECT_TRUE(std::ranges::binary_search(report.distances, kTrained));
  const double speed[] = {0.01, 0.001};
  for (size_t head = 0; head < 2; ++head) {
    const HeadBias& own = report.heads[head];
    const PairBias& pair = own.pairs[head + 2];
    EXPECT_NEAR(pair.weight, kScale * 6, 1e-12);
    EXPECT_NEAR(pair.phase, 0.5, 1e-12);
    EXPECT_NEAR(pair.q_share, 0.25, 1e-12);
    EXPECT_EQ(own.pairs[0].weight, 0);
    EXPECT_EQ(own.pairs[0].q_share, 0);
    for (size_t at = 0; at < report.distances.size(); ++at) {
      const double angle = speed[head] * static_cast<double>(report.distances[at]) + 0.5;
      EXPECT_NEAR(own.curve[at], kScale * 6 * std::cos(angle), 1e-9) << report.distances[at];
    }
  }
}

TEST(BiasCurve, FindsCollapseAndCap) {
  const BiasReport report =
      bias_report({two_heads()}, under({small_model::declared()}), kTrained, kTarget);
  // cos(0.01 d + 0.5) is back above cos(0.5) past 0.01 d = 2 pi - 1, and least at
  // 0.01 d = pi - 0.5.
  EXPECT_EQ(report.heads[0].collapse, 529);
  EXPECT_EQ(report.heads[0].cap, 264);
  EXPECT_NEAR(report.heads[0].highest, kScale * 6 * std::cos(0.5), 1e-12);
  EXPECT_EQ(report.heads[1].collapse, 5284);
  EXPECT_EQ(report.heads[1].cap, 512);  // it falls as far as training went
  EXPECT_EQ(report.collapsing, 2u);
  EXPECT_EQ(report.earliest_collapse, 529);
  EXPECT_EQ(report.median_collapse, 529);
  EXPECT_EQ(report.cap, 264);
  EXPECT_EQ(report.layers[0].unfinished, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(proposed_schemes(report),
            (std::vector<std::string>{"cap,window=264,pairs=2:3", "cap,window=264"}));  // 4 x 66
}

TEST(BiasCurve, UnderTheCapNothingCollapses) {
  const BiasReport report = bias_report(
      {two_heads()}, under({small_model::under("cap,window=264,pairs=2:3")}), kTrained, kTarget);
  EXPECT_EQ(report.collapsing, 0u);
  EXPECT_FALSE(report.earliest_collapse);
  EXPECT_FALSE(report.median_collapse);
}

TEST(BiasCurve, CountsAmplitudeMultiplierAndTemperature) {
  const LayerMeans means = two_heads();
  const auto at_0 = [&](const std::string& scheme) {
    return bias_of_layer(means, small_model::under(scheme), kTarget, std::vector<int64_t>{0})[0][0];
  };
  const double plain = kScale * 6 * std::cos(0.5);
  EXPECT_NEAR(at_0("rope"), plain, 1e-12);
  EXPECT_NEAR(at_0("temperature,factor=3"), 3 * plain, 1e-12);
  EXPECT_NEAR(at_0("yarn,factor=4,attention_factor=1.5"), 2.25 * plain, 1e-12);
}

TEST(BiasCurve, CoordinatesThatPassThroughAreAConstant) {
  const Rotary rotary =
      plain_rotary({.base = 10000.0, .frequency_dim = 4, .trained_length = kTrained},
                   {PairOrder::kInterleaved, 8, 4});
  const LayerMeans means{.q = {of({1, 0, 0, 0, 0, 2, 0, 5})},
                         .k = {of({0, 1, 0, 0, 7, 3, 0, 1})},
                         .score_factor = 0.5};
  const std::vector<int64_t> distances = {0, 1, 100};
  const std::vector<double> bias = bias_of_layer(means, rotary, kTarget, distances)[0];
  // q = 1 and k = i in pair 0: the phase is minus a quarter turn, and the pair turns a radian a
  // token.
  for (size_t at = 0; at < distances.size(); ++at)
    EXPECT_NEAR(bias[at], 0.5 * (11 + std::sin(static_cast<double>(distances[at]))), 1e-12);
}

TEST(BiasCurve, LeavesOutWhatMeetsNothingNew) {
  Rotary still = small_model::declared();
  still.layout.rotary_dim = 2;
  still.spectrum = SpectrumRule(spectrum_of({DoubleDouble()}));
  const std::vector<Rotary> layers = {small_model::under("window,size=300"), still,
                                      small_model::under("window,size=530"),
                                      small_model::declared()};
  const BiasReport report = bias_report({two_heads(), two_heads(), two_heads(), two_heads()},
                                        under(layers), kTrained, kTarget);
  EXPECT_EQ(report.layers[0].kind, LayerBias::Kind::kWindow);
  EXPECT_EQ(report.layers[0].farthest, 299);
  EXPECT_EQ(report.layers[1].kind, LayerBias::Kind::kUnturned);
  EXPECT_EQ(report.layers[2].kind, LayerBias::Kind::kOpen);
  EXPECT_EQ(report.layers[2].farthest, 529);
  ASSERT_EQ(report.heads.size(), 4u);
  EXPECT_EQ(report.heads[0].layer, 2);
  EXPECT_EQ(report.heads[0].collapse, 529);
  EXPECT_FALSE(report.heads[1].collapse);  // its window ends before
  EXPECT_LT(report.heads[0].curve.size(), report.heads[2].curve.size());
  EXPECT_EQ(report.heads[3].collapse, 5284);

  LayerMeans chunked = two_heads();
  chunked.chunk = 530;
  const BiasReport parted =
      bias_report({chunked}, under({small_model::declared()}), kTrained, kTarget);
  EXPECT_EQ(parted.layers[0].farthest, 529);
  EXPECT_EQ(parted.heads[0].collapse, 529);
  EXPECT_FALSE(parted.heads[1].collapse);

  const BiasReport none = bias_report({two_heads()}, under({still}), kTrained, kTarget);
  EXPECT_TRUE(none.heads.empty());
  EXPECT_FALSE(none.cap);
  EXPECT_TRUE(proposed_schemes(none).empty());
}

constexpr int64_t kWindows = 6;

// stories260K, trained at 512 tokens, read on a book.
class RealModel : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = exact_values::shared_folder();
    if (!shared) GTEST_SKIP() << "no ../shared: the bias curve is NOT tested on a real model";
    model_ = Model::load((*shared / "models/stories260K.gguf").string(), Precision::kF32);
    positions_ = make_positions(model_->config(), {});
    std::ifstream book(*shared / "text/alice29.txt");
    book.seekg(5000);  // past the title
    std::string text(12000, ' ');
    book.read(text.data(), static_cast<std::streamsize>(text.size()));
    const Document document{.name = "book", .ids = model_->tokenizer().encode(text, {false})};
    windows_ = cut_windows({document}, model_->tokenizer().bos(), kTrained).windows;
    windows_.resize(kWindows);
  }

  void read(const LayerObserver& observer) const {
    for (const Window& window : windows_) {
      ASSERT_EQ(window.ids.size(), static_cast<size_t>(kTrained));
      model_->observe(window.ids, positions_, observer);
    }
  }

  std::vector<LayerMeans> gather() const {
    HeadMeans means(model_->config().shape, 1);
    read([&](const LayerView& view) { means.add(view); });
    EXPECT_EQ(means.n_tokens(), kWindows * (kTrained - 1));
    return means.means();
  }

  std::optional<Model> model_;
  Positions positions_;
  std::vector<Window> windows_;
};

// The declared loss explodes between 2304 and 2560 tokens, and 256 to 352 is the best cap.
TEST_F(RealModel, CollapsesWhereMeasured) {
  const BiasReport found = bias_report(gather(), positions_, kTrained, 4096);
  EXPECT_EQ(found.collapsing, 40u);
  EXPECT_GE(found.earliest_collapse, 2304);
  EXPECT_LE(found.earliest_collapse, 2560);
  for (const HeadBias& head : found.heads) EXPECT_LT(head.collapse, 3800);
  EXPECT_GE(found.cap, 256);
  EXPECT_LE(found.cap, 352);
  EXPECT_EQ(found.layers[0].unfinished, (std::vector<int64_t>{2, 3}));
  for (const HeadBias& head : found.heads) {
    for (const PairBias& pair : head.pairs) {
      EXPECT_LE(pair.q_share, 1);
      EXPECT_LE(pair.k_share, 1);
    }
  }
}

// B(d) against the mean of the logits themselves.
TEST_F(RealModel, PredictsTheMeanLogitAtADistance) {
  const std::vector<int64_t> distances = {1, 3, 10, 30, 100, 200, 300};
  const std::vector<LayerMeans> means = gather();
  const Rotary& rotary = positions_.schemes[0];
  const Spectrum spectrum = rotary.spectrum.at(kTrained);
  const ModelShape& shape = model_->config().shape;
  const auto head_of = [&](const float* rows, int64_t n_heads, int64_t row, int64_t head) {
    const float* const from = rows + (row * n_heads + head) * shape.head_dim;
    return std::vector<double>(from, from + shape.head_dim);
  };
  std::vector<double> logits(static_cast<size_t>(shape.n_layers * shape.n_heads) *
                             distances.size());
  read([&](const LayerView& view) {
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      for (size_t at = 0; at < distances.size(); ++at) {
        const int64_t d = distances[at];
        double sum = 0;
        for (int64_t i = d + 1; i < kTrained; i += 5) {
          sum += reference_logit(rotary, spectrum, spectrum, i, i - d,
                                 head_of(view.q, shape.n_heads, i, head),
                                 head_of(view.k, shape.n_kv_heads, i - d, head / 2));
        }
        const auto count = static_cast<double>((kTrained - d + 3) / 5 * kWindows);
        logits[(view.layer * shape.n_heads + head) * distances.size() + at] +=
            view.score_factor * sum / count;
      }
    }
  });
  std::vector<double> off(distances.size());
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    const auto predictions = bias_of_layer(means[layer], rotary, kTrained, distances);
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      const std::vector<double>& predicted = predictions[head];
      for (size_t at = 0; at < distances.size(); ++at) {
        const double measured = logits[(layer * shape.n_heads + head) * distances.size() + at];
        off[at] += std::abs(predicted[at] - measured) / (5 * 8);
        EXPECT_NEAR(predicted[at], measured, 1 + std::abs(predicted[at]) / 8)
            << layer << "." << head;
      }
    }
  }
  for (const double difference : off) EXPECT_LE(difference, 1);
}

}  // namespace
}  // namespace ropewalk
