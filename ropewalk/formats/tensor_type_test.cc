#include "ropewalk/formats/tensor_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

// The gguf package's values for all tensors of types.gguf, in file order.
std::vector<float> expected_values() {
  const std::string stored = read_file(fixture("types.f32"));
  std::vector<float> values(stored.size() / sizeof(float));
  std::memcpy(values.data(), stored.data(), values.size() * sizeof(float));
  return values;
}

TEST(TensorType, DecodesEachTypeAsTheGgufPackageDoes) {
  const GgufFile file = GgufFile::open(fixture("types.gguf"));
  const std::vector<float> expected = expected_values();
  size_t at = 0;
  for (const TensorInfo& info : file.tensors()) {
    std::vector<float> values(element_count(info));
    file.read_f32(info, values);
    ASSERT_LE(at + values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[at + i]))
          << info.name << " element " << i << ": " << values[i] << " for " << expected[at + i];
    }
    at += values.size();
  }
  EXPECT_EQ(at, expected.size());
  EXPECT_EQ(file.tensors().size(), 9u);
}

TEST(TensorType, DecodesFromAnyAddress) {
  const GgufFile file = GgufFile::open(fixture("types.gguf"));
  for (const TensorInfo& info : file.tensors()) {
    std::vector<float> expected(element_count(info));
    file.read_f32(info, expected);
    std::vector<std::byte> moved(info.bytes + 1);
    std::memcpy(moved.data() + 1, file.tensor_bytes(info).data(), info.bytes);
    std::vector<float> values(expected.size());
    dequantize(info.type, std::span(moved).subspan(1), values);
    EXPECT_EQ(std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)), 0)
        << info.name;
  }
}

TEST(TensorType, RefusesByNameWhatItDoesNotDecode) {
  std::vector<float> out(256);
  const std::vector<std::byte> source(block_bytes(TensorType::kQ4_K));
  EXPECT_THAT(message_of([&] { dequantize(TensorType::kQ4_K, source, out); }), HasSubstr("Q4_K"));
}

TEST(TensorType, KnowsBothFormatsNames) {
  EXPECT_EQ(type_from_ggml(0), TensorType::kF32);
  EXPECT_EQ(type_from_ggml(14), TensorType::kQ6_K);
  EXPECT_EQ(type_from_ggml(4), TensorType::kUnknown);  // the retired Q4_2
  EXPECT_EQ(type_from_ggml(0xffffffff), TensorType::kUnknown);
  EXPECT_EQ(type_from_safetensors("BF16"), TensorType::kBF16);
  EXPECT_EQ(type_from_safetensors("F8_E4M3"), TensorType::kF8E4M3);
  EXPECT_EQ(type_from_safetensors("Q4_0"), TensorType::kUnknown);
  EXPECT_EQ(type_from_safetensors(""), TensorType::kUnknown);
  EXPECT_EQ(type_name(TensorType::kIQ2_XXS), "IQ2_XXS");
}

}  // namespace
}  // namespace ropewalk
