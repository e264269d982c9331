// What the tests of this folder share: the committed tiny model, and models built in memory.
#ifndef ROPEWALK_ENGINE_TEST_SUPPORT_H_
#define ROPEWALK_ENGINE_TEST_SUPPORT_H_

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"
#include "ropewalk/engine/dense.h"
#include "ropewalk/engine/model.h"
#include "ropewalk/engine/transformer.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {

// For as long as it lives, OpenMP works with so many threads.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// 2 layers, 4 heads over 2 of keys, head_dim 8, vocabulary 272, trained at 128 tokens.
inline const Model& tiny_model() {
  static const Model model = Model::load(fixture("tiny_llama.gguf"), Precision::kF32);
  return model;
}

// Whether this CPU has products in bfloat16: with AVX2 alone it has none.
inline bool has_bf16() {
  try {
    Dense::bytes(32, 32, Precision::kBf16);
  } catch (const Error& error) {
    if (error.rule() != "this CPU or its oneDNN has no product for it") throw;
    return false;
  }
  return true;
}

#define SKIP_WITHOUT_BF16() \
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no product in bfloat16: it is not tested"

struct Expected {
  std::vector<int32_t> tokens;
  std::vector<double> losses;
};

// The fixture's tokens, and their losses as computed outside of this project.
inline Expected tiny_expected() {
  const auto json = nlohmann::json::parse(read_file(fixture("tiny_llama_expected.json")));
  return {json["tokens"], json["losses"]};
}

// The same every time; ids from 3 on are no control tokens.
inline std::vector<int32_t> some_tokens(size_t count, int32_t vocabulary = 272) {
  std::mt19937 generator(11);
  std::uniform_int_distribution<int32_t> any(3, vocabulary - 1);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = any(generator);
  return ids;
}

inline Positions under(const Model& model, const std::string& scheme) {
  return make_positions(model.config(), {{.scheme = scheme}});
}

// Infinite where one holds no number, or where their sizes differ.
template <typename A, typename B>
double worst_difference(const A& a, const B& b) {
  if (std::size(a) != std::size(b)) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t k = 0; k < std::size(a); ++k) {
    const double difference = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
  }
  return worst;
}

inline std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Tensors of float32 in memory.
class MemorySource : public TensorSource {
 public:
  struct Tensor {
    std::vector<uint64_t> shape;
    std::vector<float> values;
    TensorType type = TensorType::kF32;  // another: the values' bytes are taken for it
  };

  explicit MemorySource(const std::map<std::string, Tensor>& tensors)
      : TensorSource("memory", list(tensors)), tensors_(tensors) {}

  std::span<const std::byte> tensor_bytes(const TensorInfo& info) const override {
    return std::as_bytes(std::span(tensors_.at(info.name).values)).first(info.bytes);
  }

 private:
  static std::vector<TensorInfo> list(const std::map<std::string, Tensor>& tensors) {
    std::vector<TensorInfo> infos;
    for (const auto& [name, tensor] : tensors) {
      infos.push_back({.name = name,
                       .type = tensor.type,
                       .type_name = std::string(type_name(tensor.type)),
                       .shape = tensor.shape,
                       .bytes = tensor.values.size() * sizeof(float)});
    }
    return infos;
  }

  std::map<std::string, Tensor> tensors_;
};

// Random blocks whose scales are moderate: every other byte is anything.
inline std::vector<std::byte> random_rows(TensorType type, int64_t bytes, std::mt19937& generator) {
  std::uniform_int_distribution<int> any(0, 255);
  std::vector<std::byte> rows(static_cast<size_t>(bytes));
  for (std::byte& byte : rows) byte = static_cast<std::byte>(any(generator));
  const size_t block = block_bytes(type);
  // A half below 1 has an exponent below 15: its top bits are 0.
  const auto tame = [&](size_t at) {
    for (size_t first = 0; first < rows.size(); first += block)
      rows[first + at + 1] &= static_cast<std::byte>(0x3b);
  };
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      tame(2);
      [[fallthrough]];
    case TensorType::kQ4_0:
    case TensorType::kQ5_0:
    case TensorType::kQ8_0:
    case TensorType::kIQ4_NL:
      tame(0);
      break;
    case TensorType::kQ6_K:
      tame(208);
      break;
    case TensorType::kF16:
      tame(0);
      break;
    case TensorType::kBF16:
      for (size_t first = 0; first < rows.size(); first += 2) rows[first + 1] &= std::byte{0xbf};
      break;
    default:
      for (size_t first = 0; first < rows.size(); first += 4) rows[first + 3] &= std::byte{0xbf};
  }
  return rows;
}

// Of a family, from weights under GGUF's names or Hugging Face's; the file says nothing else.
inline std::unique_ptr<Decoder> decoder_of(const ModelConfig& config, const TensorSource& source,
                                           bool is_gguf, Precision precision) {
  return make_transformer(describe_model(config, ModelKeys(is_gguf), source.name()), config, source,
                          precision);
}

// Normal values of the given deviation.
inline MemorySource::Tensor random_tensor(std::vector<uint64_t> shape, double deviation,
                                          std::mt19937& generator) {
  size_t count = 1;
  for (const uint64_t length : shape) count *= length;
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return {std::move(shape), std::move(values)};
}

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_TEST_SUPPORT_H_
