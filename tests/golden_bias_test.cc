// Score biases and input embeddings against golden files made outside this project.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/input_embedding.h"
#include "ropewalk/math/score_bias.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using nlohmann::json;

class GoldenBiasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shared = exact_values::shared_folder();
    if (!shared) {
      GTEST_SKIP() << "no golden files: set ROPEWALK_SHARED to the folder that holds golden/given";
    }
    folder_ = *shared / "golden" / "given";
  }

  // Calls check(golden) for every file whose name begins with `prefix`.
  template <typename Check>
  void for_each(const std::string& prefix, Check check) const {
    int n_files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      const std::string name = file.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      SCOPED_TRACE(name);
      check(exact_values::read_json(file.path()));
      ++n_files;
    }
    EXPECT_GE(n_files, 1) << prefix;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(GoldenBiasTest, Alibi) {
  for_each("alibi__", [](const json& golden) {
    for (const auto& [n_heads, wanted] : golden["slopes"].items()) {
      const auto slopes = alibi_slopes(std::stoll(n_heads), golden["max_bias"].get<double>());
      ASSERT_EQ(slopes.size(), wanted.size());
      for (size_t head = 0; head < slopes.size(); ++head) {
        EXPECT_LE(exact_values::ulps(slopes[head], exact_values::decimal_of(wanted[head])), 1);
      }
    }
  });
}

TEST_F(GoldenBiasTest, T5Buckets) {
  for_each("t5_bucket__", [](const json& golden) {
    const json& config = golden["config"];
    const T5Buckets buckets{.n_buckets = config["relative_attention_num_buckets"],
                            .max_distance = config["relative_attention_max_distance"],
                            .bidirectional = config["bidirectional"]};
    const int64_t first = golden["relative_position"][0];
    for (size_t which = 0; which < golden["bucket"].size(); ++which) {
      const int64_t r = first + static_cast<int64_t>(which);
      EXPECT_EQ(buckets.bucket(r), golden["bucket"][which].get<int64_t>()) << r;
    }
  });
}

TEST_F(GoldenBiasTest, DebertaBuckets) {
  for_each("deberta__", [](const json& golden) {
    const DebertaBuckets buckets{.n_buckets = golden["bucket_size"],
                                 .max_distance = golden["max_position"]};
    const int64_t first = golden["relative_position"][0];
    for (size_t which = 0; which < golden["bucket"].size(); ++which) {
      const int64_t r = first + static_cast<int64_t>(which);
      EXPECT_EQ(buckets.bucket(r), golden["bucket"][which].get<int64_t>()) << r;
    }
  });
}

TEST_F(GoldenBiasTest, ClippedDistance) {
  for_each("shaw__", [](const json& golden) {
    const ClippedDistance clipped{.limit = golden["k"]};
    for (size_t which = 0; which < golden["index"].size(); ++which) {
      const int64_t r = golden["distance"][which];
      EXPECT_EQ(clipped.row(r), golden["index"][which].get<int64_t>()) << r;
    }
  });
}

TEST_F(GoldenBiasTest, Sinusoidal) {
  for_each("sinusoidal__", [](const json& golden) {
    const std::string rule = golden["rule"];
    const SinusoidOrder order = rule == "sinusoidal_interleaved" ? SinusoidOrder::kInterleaved
                                : rule == "sinusoidal_concat"    ? SinusoidOrder::kConcatenated
                                                                 : SinusoidOrder::kTensor2Tensor;
    const SinusoidalEmbedding embedding(order, golden["dim"]);
    std::vector<double> row(embedding.dim());
    for (size_t position = 0; position < golden["table"].size(); ++position) {
      embedding.row(static_cast<int64_t>(position), row);
      for (size_t c = 0; c < row.size(); ++c) {
        const DoubleDouble exact = exact_values::decimal_of(golden["table"][position][c]);
        EXPECT_LE(exact_values::ulps(row[c], exact), 1.5) << position << " " << c;
      }
    }
  });
}

TEST_F(GoldenBiasTest, Learned) {
  for_each("learned__", [](const json& golden) {
    // A table whose one value is the row's number.
    std::vector<float> table(golden["num_embeddings_rows"].get<size_t>());
    for (size_t row = 0; row < table.size(); ++row) table[row] = static_cast<float>(row);
    const LearnedEmbedding embedding(table, 1, golden["offset"]);
    std::vector<double> row(1);
    int64_t seen = 0;
    for (size_t token = 0; token < golden["rows"].size(); ++token) {
      const int64_t mask = golden["attention_mask"][token];
      seen += mask;
      embedding.row(seen * mask - 1, row);
      EXPECT_EQ(row[0], golden["rows"][token].get<double>());
    }
    EXPECT_THROW(embedding.row(embedding.n_rows() - golden["offset"].get<int64_t>(), row), Error);
  });
}

}  // namespace
}  // namespace ropewalk
