// Damaged GGUF files, one a row: cut off in every section, with counts, types, shapes and offsets that
// lie, and with scales that are no numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ropewalk/formats/damaged_files.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ8_0 = 8;

// Opens it and reads every value.
void read_all(const std::string& bytes) {
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "m.gguf");
  for (const TensorInfo& info : file.tensors()) {
    std::vector<float> values(element_count(info));
    file.read_f32(info, values);
  }
}

DamagedFile damaged(const std::string& what, const std::string& bytes, const std::string& says) {
  return {what, [bytes] { read_all(bytes); }, says};
}

// Two keys and two tensors.
SmallGguf sound_file() {
  return SmallGguf()
      .text("general.architecture", "llama")
      .number("llama.block_count", 2)
      .tensor("first", {8, 2}, kF32, std::string(64, '\0'))
      .tensor("second", {32, 3}, kQ8_0, std::string(102, '\0'));
}

// Where the sections of it begin.
struct Sections {
  size_t key, type, value, second_key, list, second_tensor, data, second_data, end;
};

Sections sections_of(const std::string& bytes) {
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "sound");
  const auto entries = file.metadata().entries();
  return {.key = entries[0].entry_offset,
          .type = entries[0].value_offset - sizeof(uint32_t),
          .value = entries[0].value_offset,
          .second_key = entries[1].entry_offset,
          .list = file.tensor_list_offset(),
          .second_tensor = file.tensor_list_offset() + 8 + 5 + 4 + 2 * 8 + 4 + 8,
          .data = file.data_offset(),
          .second_data = file.tensors()[1].offset,
          .end = file.tensors()[1].offset + file.tensors()[1].bytes};
}

template <typename T>
std::string with(std::string bytes, size_t offset, T value) {
  EXPECT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
  return bytes;
}

TEST(DamagedGguf, TheFilesThatAreDamagedAreSoundBefore) {
  EXPECT_NO_THROW(read_all(sound_file().bytes()));
}

TEST(DamagedGguf, CutInEverySection) {
  const std::string whole = sound_file().bytes();
  const Sections at = sections_of(whole);
  const auto cut = [&](const char* where, size_t size, const char* says) {
    return damaged(std::string("cut ") + where, whole.substr(0, size), says);
  };
  expect_named_errors({
      cut("before the magic", 0, "m.gguf: not a GGUF file"),
      cut("in the magic", 3, "m.gguf: not a GGUF file"),
      cut("before the version", 4, "byte 4: the version must end within the file"),
      cut("in the version", 6, "byte 4: the version must end within the file"),
      cut("before the tensor count", 8, "byte 8: the tensor count must end within"),
      cut("in the tensor count", 12, "byte 8: the tensor count must end within"),
      cut("before the key count", 16, "the tensor count must be at most the 0 that the rest"),
      cut("in the key count", 23, "byte 16: the count of metadata entries must end within"),
      cut("before the keys", at.key, "the count of metadata entries must be at most the 0"),
      cut("in a key", at.key + 12, "the count of metadata entries must be at most the 0"),
      cut("before a type", at.type, "a value's type must end within"),
      cut("before a value", at.value, "a metadata value must end within"),
      cut("in a value", at.value + 10, "a metadata value must end within"),
      cut("between two keys", at.second_key, "a metadata key must end within"),
      cut("before the tensor list", at.list, "the tensor count must be at most the 0"),
      cut("in a tensor's name", at.list + 11, "the tensor count must be at most the 0"),
      cut("between two tensors", at.second_tensor, "the tensor count must be at most the 1"),
      cut("in a tensor's shape", at.second_tensor + 26, "a tensor's dimension must end within"),
      cut("before a tensor's type", at.second_tensor + 34, "a tensor's type must end within"),
      cut("before a tensor's offset", at.second_tensor + 38, "a tensor's offset must end within"),
      cut("before the data", at.data, "tensor first: must end within the file"),
      cut("in the first tensor", at.data + 5, "tensor first: must end within the file"),
      cut("before the second tensor", at.second_data, "tensor second: must end within the file"),
      cut("one byte early", at.end - 1, "tensor second: must end within the file"),
  });
}

TEST(DamagedGguf, HeadersThatLie) {
  const std::string whole = sound_file().bytes();
  const Sections at = sections_of(whole);
  const uint64_t absurd = uint64_t{1} << 60;
  const auto damage = [&](const char* what, size_t offset, auto value, const char* says) {
    return damaged(what, with(whole, offset, value), says);
  };
  expect_named_errors({
      damage("another magic", 0, uint32_t{0x46554746}, "not a GGUF file"),
      damage("version 1", 4, uint32_t{1}, "must be GGUF version 2 or 3, got 1"),
      damage("big endian", 4, uint32_t{3} << 24, "must be little endian"),
      damage("tensors past 2^63", 8, UINT64_MAX, "the tensor count must be at most"),
      damage("absurdly many tensors", 8, absurd, "the tensor count must be at most"),
      damage("one tensor too many", 8, uint64_t{3}, "m.gguf: tensor"),
      damage("absurdly many keys", 16, absurd, "the count of metadata entries must be at most"),
      damage("a tensor taken for a key", 16, uint64_t{3},
             "a tensor's name must end within the file"),
      damage("a key taken for a tensor", 16, uint64_t{1},
             "tensor llama.block_count: must have positive dimensions"),
      damage("an absurd key length", at.key, absurd, "a metadata key must end within the file"),
      damage("an empty key", at.key, uint64_t{0}, "1 to 65535 bytes, got 0"),
      damage("an unknown value type", at.type, uint32_t{13}, "value types 0 to 12, got 13"),
      damage("a string taken for an array", at.type, uint32_t{9}, "an array's length must be"),
      damage("an array of arrays", at.type, (uint64_t{9} << 32) + 9, "an array of arrays"),
      damage("a string taken for a bool", at.type, uint32_t{7}, "a bool must be 0 or 1"),
      damage("an absurd string", at.value, absurd, "a metadata value must end within the file"),
  });
}

TEST(DamagedGguf, KeysThatLie) {
  const auto refused = [](const char* what, const SmallGguf& file, const char* says) {
    return damaged(what, file.bytes(), says);
  };
  const auto plain = [] { return SmallGguf().tensor("first"); };
  expect_named_errors({
      refused("a key twice", plain().number("k", 1).number("k", 1), "key \"k\": must come once"),
      refused("alignment 0", plain().number("general.alignment", 0), "a power of two up to 2^31"),
      refused("alignment 24", plain().number("general.alignment", 24), "a power of two up to 2^31"),
      refused("alignment 2^31, past the end", plain().number("general.alignment", 1u << 31),
              "must end within the file"),
      refused("a worded alignment", plain().text("general.alignment", "32"),
              "must be a non-negative integer, got string"),
      refused("a tensor twice", plain().tensor("first"), "tensor first: must be named once"),
  });
}

// The list of one f32 tensor, its data 64 bytes.
std::string listed(std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
  ByteWriter out;
  out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(1).put<uint64_t>(0).put_string("first");
  out.put<uint32_t>(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) out.put(dim);
  out.put(type).put(offset).pad_to(32).put_raw(std::string(64, '\0'));
  return out.text();
}

TEST(DamagedGguf, TensorsThatLie) {
  const std::string whole = sound_file().bytes();
  const Sections at = sections_of(whole);
  const size_t second_offset = at.second_tensor + 8 + 6 + 4 + 2 * 8 + 4;
  const std::string dimensions(9 * sizeof(uint64_t), '\1');
  expect_named_errors({
      damaged("nine dimensions", listed(std::vector<uint64_t>(9, 1), kF32, 0),
              "tensor first: must have at most 4 dimensions, got 9"),
      damaged("2^32 - 1 dimensions", with(whole, at.list + 8 + 5, UINT32_MAX),
              "must have at most 4 dimensions, got 4294967295"),
      damaged("a dimension of 0", listed({8, 0}, kF32, 0), "positive dimensions"),
      damaged("a product past 2^64", listed({1ull << 40, 1ull << 40}, kF32, 0), "below 2^64"),
      damaged("bytes past 2^64", listed({1ull << 63}, kF32, 0), "fewer than 2^64 bytes"),
      damaged("an end past 2^64", listed({1ull << 61}, kF32, 1ull << 63), "must end below 2^64"),
      damaged("an exabyte", listed({1ull << 58}, kF32, 0), "must end within the file of"),
      damaged("half a block", listed({48}, kQ8_0, 0), "rows of Q8_0 must be a multiple of 32"),
      damaged("blocks across rows", listed({16, 2}, kQ8_0, 0), "must be a multiple of 32"),
      damaged("an odd offset", listed({8}, kF32, 1), "a multiple of 32, got 1"),
      damaged("an offset past the end", listed({8}, kF32, 1 << 20), "must end within the file"),
      damaged("one tensor in another", with(whole, second_offset, uint64_t{32}),
              "tensor second: must not overlap tensor first"),
      damaged("two tensors in one place", with(whole, second_offset, uint64_t{0}),
              "tensor second: must not overlap tensor first"),
      damaged("a type of no name", listed({8}, 4, 0),
              "must have a type this build decodes, got "
              "ggml type 4"),
      damaged("a type that is not decoded", listed({8}, 26, 0), "this build decodes, got I32"),
      {"another shape",
       [whole] { read_matrix(GgufFile::parse(as_bytes(whole), "m.gguf"), "first", 8, 2); },
       "tensor first: must have shape [8, 2], got [2, 8]"},
  });
}

// Every type with scales; block 1 of row 1 is damaged.
TEST(DamagedGguf, ScalesThatAreNoNumbers) {
  std::vector<DamagedFile> rows;
  for (uint32_t number = 0; number < 64; ++number) {
    const TensorType type = type_from_ggml(number);
    if (!is_decodable(type) || block_elements(type) == 1) continue;
    // All ones: any f16 scale is a NaN, an E8M0 one is 255.
    const std::string block(block_bytes(type), '\0');
    const std::string bad(block_bytes(type), '\xff');
    const SmallGguf file = SmallGguf().tensor("first", {2 * block_elements(type), 2}, number,
                                              block + block + block + bad);
    rows.push_back(damaged(std::string(type_name(type)), file.bytes(),
                           "m.gguf: tensor first: must have finite scales in its blocks"));
    rows.push_back(damaged(std::string(type_name(type)), file.bytes(), "in block 1 of row 1"));
  }
  EXPECT_GE(rows.size(), 26u);
  expect_named_errors(rows);
}

}  // namespace
}  // namespace ropewalk
