#include "ropewalk/engine/dense.h"

#include <gmock/gmock.h>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

struct Shape {
  int64_t outputs;
  int64_t inputs;
};

// One output; blocks of outputs that are whole, one over, and several.
constexpr Shape kShapes[] = {{1, 8}, {24, 33}, {768, 64}, {769, 40}, {2000, 96}};
constexpr int64_t kRowCounts[] = {1, 2, 15, 16, 17, 100, 128};

MemorySource matrix(const Shape& shape) {
  std::mt19937 generator(3);
  return MemorySource({{"w", random_tensor({static_cast<uint64_t>(shape.outputs),
                                            static_cast<uint64_t>(shape.inputs)},
                                           1, generator)}});
}

std::vector<float> random_weights(const MemorySource& source) {
  const TensorInfo& info = *source.find_tensor("w");
  std::vector<float> values(element_count(info));
  source.read_f32(info, values);
  return values;
}

// (kBlockRows, inputs)
std::vector<float> activations(int64_t inputs) {
  std::mt19937 generator(4);
  return random_tensor({static_cast<uint64_t>(Dense::kBlockRows), static_cast<uint64_t>(inputs)}, 1,
                       generator)
      .values;
}

// y = x W^T in double, from operands rounded to `Precision` beforehand.
std::vector<double> product(const std::vector<float>& x, int64_t rows,
                            const std::vector<float>& weights, const Shape& shape,
                            Precision precision) {
  const auto stored = [precision](float value) {
    return static_cast<double>(precision == Precision::kF32 ? value : to_float(to_bf16(value)));
  };
  std::vector<double> y;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < shape.inputs; ++k)
        sum += stored(x[r * shape.inputs + k]) * stored(weights[o * shape.inputs + k]);
      y.push_back(sum);
    }
  }
  return y;
}

void expect_together_as_alone(Precision precision) {
  std::vector<Dense> matrices;
  for (const int64_t outputs : {24, 2000}) {
    const MemorySource source = matrix({outputs, 40});
    matrices.emplace_back(Weights(source).matrix("w", outputs, 40), precision);
  }
  const std::vector<float> x = activations(40);
  std::vector<std::vector<float>> alone, together;  // (100, outputs) of each
  std::vector<Dense::Result> results;
  DenseScratch scratch;
  for (const Dense& dense : matrices) {
    const auto room = static_cast<size_t>(Dense::kBlockRows * dense.outputs());
    dense.apply(x.data(), 100, alone.emplace_back(room).data(), scratch);
    results.push_back({.dense = &dense, .y = together.emplace_back(room).data()});
  }
  Dense::apply_each(results, x.data(), 100, scratch);
  for (size_t k = 0; k < matrices.size(); ++k) {
    alone[k].resize(static_cast<size_t>(100 * matrices[k].outputs()));
    together[k].resize(alone[k].size());
    EXPECT_EQ(together[k], alone[k]);
  }
}

// With and without what keep() keeps.
void expect_streamed_as_packed(Precision precision) {
  for (const Shape& shape : kShapes) {
    const MemorySource source = matrix(shape);
    const auto held = [&](Holding holding) {
      return Dense(Weights(source, {}, holding).matrix("w", shape.outputs, shape.inputs),
                   precision);
    };
    const Dense packed = held(Holding::kPacked), streamed = held(Holding::kStreamed);
    const Dense* const both[] = {&packed, &streamed};
    const std::vector<float> x = activations(shape.inputs);
    const auto outputs = [&](const Dense& dense) {
      std::vector<float> y(
          static_cast<size_t>((Dense::kBlockRows + Dense::kFewRows) * shape.outputs));
      float* const one = y.data() + Dense::kBlockRows * shape.outputs;
      DenseScratch scratch;
      dense.apply(x.data(), Dense::kBlockRows, y.data(), scratch);
      dense.apply_one(x.data(), one);
      y.resize(y.size() - static_cast<size_t>((Dense::kFewRows - 1) * shape.outputs));
      return y;
    };
    const std::vector<float> wanted = outputs(packed);
    EXPECT_EQ(outputs(streamed), wanted) << shape.outputs << " outputs";
    const Dense::Kept kept = Dense::keep(both);
    EXPECT_FALSE(kept.empty());
    EXPECT_EQ(outputs(streamed), wanted) << shape.outputs << " outputs, kept";
  }
}

void check(Precision precision) {
  expect_together_as_alone(precision);
  expect_streamed_as_packed(precision);
  for (const Shape& shape : kShapes) {
    const MemorySource source = matrix(shape);
    const Dense dense(Weights(source).matrix("w", shape.outputs, shape.inputs), precision);
    EXPECT_EQ(dense.inputs(), shape.inputs);
    EXPECT_EQ(dense.outputs(), shape.outputs);
    const std::vector<float> x = activations(shape.inputs);
    const std::vector<float> weights = read_matrix(
        source, "w", static_cast<uint64_t>(shape.outputs), static_cast<uint64_t>(shape.inputs));
    for (const int64_t rows : kRowCounts) {
      const auto size = static_cast<size_t>(rows * shape.outputs);
      std::vector<float> y(static_cast<size_t>(Dense::kBlockRows * shape.outputs));
      DenseScratch scratch;
      dense.apply(x.data(), rows, y.data(), scratch);
      const std::vector<float> got(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_LE(worst_difference(got, product(x, rows, weights, shape, precision)), 5e-5)
          << rows << " rows, " << shape.outputs << " outputs";
      for (const int threads : {1, 3}) {
        const Threads guard(threads);
        std::vector<float> wide(y.size());
        dense.apply_wide(x.data(), rows, wide.data());
        EXPECT_TRUE(std::equal(got.begin(), got.end(), wide.begin()))
            << rows << " rows, " << shape.outputs << " outputs, " << threads << " threads";
      }
    }
  }
}

TEST(Dense, OneRowIsTheProductOfTheWeightsAsTheyAre) {
  SKIP_WITHOUT_BF16();
  for (const Shape& shape : kShapes) {
    const MemorySource source = matrix(shape);
    const Dense dense(Weights(source).matrix("w", shape.outputs, shape.inputs), Precision::kBf16);
    const std::vector<float> x = activations(shape.inputs);
    const std::vector<double> wanted =
        product(x, 1, random_weights(source), shape, Precision::kF32);
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      std::vector<float> y(static_cast<size_t>(shape.outputs));
      dense.apply_one(x.data(), y.data());
      EXPECT_LE(worst_difference(y, wanted), 1e-4) << shape.outputs << " outputs";
      if (first.empty()) first = y;
      EXPECT_EQ(y, first);
    }
  }
}

TEST(Dense, IsTheProductWhateverTheRowsAndThreads) { check(Precision::kF32); }

TEST(Dense, IsTheProductOfRoundedNumbersInBf16) {
  SKIP_WITHOUT_BF16();
  check(Precision::kBf16);
}

TEST(Dense, WrongTensorsAreNamed) {
  const MemorySource source = matrix({24, 33});
  const auto message = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    return message_of(
        [&] { Dense(Weights(source).matrix(name, outputs, inputs), Precision::kF32); });
  };
  EXPECT_THAT(message("v", 24, 33), HasSubstr("v"));
  EXPECT_THAT(message("w", 33, 24), HasSubstr("[24, 33]"));
}

}  // namespace
}  // namespace ropewalk
