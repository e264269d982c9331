#include "ropewalk/formats/tensor_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::Contains;
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

// ---- blocks of any bits against tests/fixtures/blocks.json (tools/make_block_fixtures.py)

// The fixture's stream: splitmix64, eight bytes a word.
std::vector<std::byte> random_bytes(uint64_t seed, size_t size) {
  std::vector<std::byte> bytes((size + 7) / 8 * 8);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t word = seed;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    word ^= word >> 31;
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

// Bit patterns, all NaN alike: their payload is the processor's business.
std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) {
    bits.push_back(std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value));
  }
  return bits;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += "0123456789abcdef"[std::to_integer<int>(b) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(b) & 15];
  }
  return text;
}

constexpr uint32_t kGgmlTypes = 64;  // past all numbers in use

nlohmann::ordered_json block_fixture() { return load_json(fixture("blocks.json")).at("types"); }

TEST(TensorType, DecodesBlocksOfAnyBitsAsTheGgufPackageDoes) {
  const auto fixtures = block_fixture();
  size_t compared = 0;
  for (uint32_t number = 0; number < kGgmlTypes; ++number) {
    const TensorType type = type_from_ggml(number);
    if (!is_decodable(type)) continue;
    const std::string name(type_name(type));
    SCOPED_TRACE(name);
    ASSERT_TRUE(fixtures.contains(name));
    const auto& expected = fixtures.at(name);
    const size_t blocks = expected.at("blocks").get<size_t>();
    const auto source = random_bytes(number, blocks * block_bytes(type));
    ASSERT_EQ(hex(std::span(source).first(block_bytes(type))), expected.at("block"));
    std::vector<float> values(blocks * block_elements(type));
    dequantize(type, source, values);
    const std::vector<uint32_t> bits = bits_of(values);
    const auto text = expected.at("values").get<std::string>();
    ASSERT_EQ(text.size(), 8 * block_elements(type));
    for (size_t i = 0; i < block_elements(type); ++i) {
      ASSERT_EQ(bits[i], std::stoul(text.substr(8 * i, 8), nullptr, 16)) << "element " << i;
    }
    EXPECT_EQ(sha256_hex(std::as_bytes(std::span(bits))), expected.at("sha256"));
    ++compared;
  }
  EXPECT_EQ(compared, fixtures.size());
}

// ---- scales

// Where a block has its f16 scales and minima.
struct ScaleRow {
  TensorType type;
  std::vector<size_t> offsets;
};

const std::vector<ScaleRow>& half_scales() {
  static const std::vector<ScaleRow> rows = {
      {TensorType::kQ4_0, {0}},    {TensorType::kQ4_1, {0, 2}}, {TensorType::kQ5_0, {0}},
      {TensorType::kQ5_1, {0, 2}}, {TensorType::kQ8_0, {0}},    {TensorType::kQ2_K, {80, 82}},
      {TensorType::kQ3_K, {108}},  {TensorType::kQ4_K, {0, 2}}, {TensorType::kQ5_K, {0, 2}},
      {TensorType::kQ6_K, {208}},  {TensorType::kIQ4_NL, {0}},  {TensorType::kIQ4_XS, {0}},
  };
  return rows;
}

// In the third of three blocks of zeros but for `size` bytes.
std::optional<BadScale> bad_scale(TensorType type, size_t offset, uint16_t bits, size_t size) {
  std::vector<std::byte> blocks(3 * block_bytes(type));
  std::memcpy(blocks.data() + 2 * block_bytes(type) + offset, &bits, size);
  return find_bad_scale(type, blocks);
}

TEST(TensorType, FindsScalesThatAreNoNumbers) {
  for (const ScaleRow& row : half_scales()) {
    for (const size_t offset : row.offsets) {
      for (const uint16_t bits :
           std::initializer_list<uint16_t>{0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff}) {
        const auto bad = bad_scale(row.type, offset, bits, 2);
        ASSERT_TRUE(bad) << type_name(row.type) << " byte " << offset << " bits " << bits;
        EXPECT_EQ(bad->block, 2u);
        EXPECT_FALSE(std::isfinite(bad->value));
      }
      for (const uint16_t bits :
           std::initializer_list<uint16_t>{0x0000, 0x8000, 0x0001, 0x7bff, 0xfbff}) {
        EXPECT_FALSE(bad_scale(row.type, offset, bits, 2)) << type_name(row.type) << bits;
      }
    }
  }
  EXPECT_TRUE(bad_scale(TensorType::kMXFP4, 0, 255, 1));
  for (const uint16_t stored : std::initializer_list<uint16_t>{0, 1, 127, 254}) {
    EXPECT_FALSE(bad_scale(TensorType::kMXFP4, 0, stored, 1)) << stored;
  }
}

// Whatever the bits of a block whose scales are finite, so are its values.
TEST(TensorType, FiniteScalesMakeFiniteValues) {
  for (const ScaleRow& row : half_scales()) {
    const size_t blocks = 256;
    auto source = random_bytes(7, blocks * block_bytes(row.type));
    std::vector<float> values(blocks * block_elements(row.type));
    for (const uint16_t bits : std::initializer_list<uint16_t>{0x7bff, 0xfbff}) {
      for (size_t i = 0; i < blocks; ++i) {
        for (const size_t offset : row.offsets) {
          std::memcpy(source.data() + i * block_bytes(row.type) + offset, &bits, sizeof(bits));
        }
      }
      ASSERT_FALSE(find_bad_scale(row.type, source)) << type_name(row.type);
      dequantize(row.type, source, values);
      for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << type_name(row.type);
    }
  }
}

TEST(TensorType, PlainTypesHaveNoScales) {
  const std::vector<std::byte> ones(256, std::byte{0xff});
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16,
                                TensorType::kF64, TensorType::kI32}) {
    EXPECT_FALSE(find_bad_scale(type, ones)) << type_name(type);
  }
}

TEST(TensorType, RefusesByNameWhatItDoesNotDecode) {
  std::vector<std::string> refused;
  for (uint32_t number = 0; number < kGgmlTypes; ++number) {
    const TensorType type = type_from_ggml(number);
    if (type == TensorType::kUnknown || is_decodable(type)) continue;
    std::vector<float> out(block_elements(type));
    const std::vector<std::byte> source(block_bytes(type));
    EXPECT_THAT(message_of([&] { dequantize(type, source, out); }),
                AllOf(HasSubstr("Q4_K, "), HasSubstr("got " + std::string(type_name(type)))));
    refused.emplace_back(type_name(type));
  }
  EXPECT_THAT(refused, AllOf(Contains("IQ2_XXS"), Contains("IQ1_M"), Contains("TQ1_0"),
                             Contains("NVFP4"), Contains("I32")));
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
