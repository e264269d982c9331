#include "ropewalk/formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Gguf, ReadsAModel) {
  const GgufFile file = GgufFile::open(fixture("tiny_llama.gguf"));
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.alignment(), 32u);
  EXPECT_TRUE(file.has_data());
  EXPECT_EQ(file.metadata().get_string("general.architecture"), "llama");
  EXPECT_EQ(file.metadata().get_u64("llama.embedding_length"), 32u);
  EXPECT_EQ(file.metadata().get_string_array("tokenizer.ggml.tokens").size(), 272u);
  const TensorInfo* const info = file.find_tensor("blk.1.ffn_down.weight");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->shape, (std::vector<uint64_t>{32, 24}));  // {out_features, in_features}
  EXPECT_EQ(info->type_name, "F32");
}

TEST(Gguf, ReadsVersion2AsVersion3) {
  const GgufFile older = GgufFile::open(fixture("types_v2.gguf"));
  const GgufFile newer = GgufFile::open(fixture("types.gguf"));
  EXPECT_EQ(older.version(), 2u);
  ASSERT_EQ(older.tensors().size(), newer.tensors().size());
  for (size_t i = 0; i < newer.tensors().size(); ++i) {
    EXPECT_EQ(older.tensors()[i].offset, newer.tensors()[i].offset);
  }
}

// What an editor relies on: header, entries, list of tensors and data tile the file.
TEST(Gguf, KnowsWhereEverythingIs) {
  const GgufFile file = GgufFile::open(fixture("types.gguf"));
  const auto as_text = [&](uint64_t offset, uint64_t bytes) {
    const auto part = file.bytes().subspan(offset, bytes);
    return std::string(reinterpret_cast<const char*>(part.data()), part.size());
  };
  uint64_t at = 24;  // magic, version, two counts
  for (const GgufEntry& entry : file.metadata().entries()) {
    EXPECT_EQ(entry.entry_offset, at);
    EXPECT_EQ(as_text(at + 8, entry.key.size()), entry.key);
    EXPECT_EQ(entry.value_offset, at + 8 + entry.key.size() + 4);
    EXPECT_EQ(entry.value_offset + entry.value_bytes, at + entry.entry_bytes);
    at += entry.entry_bytes;
  }
  EXPECT_EQ(file.tensor_list_offset(), at);
  EXPECT_EQ(file.data_offset() % 32, 0u);
  EXPECT_EQ(file.tensors().front().offset, file.data_offset());
  EXPECT_EQ(as_text(file.metadata().find_entry("value.u8")->value_offset, 1), "\xc8");
}

TEST(Gguf, ShowsAHeaderWithoutItsData) {
  const std::string whole = read_file(fixture("tiny_llama.gguf"));
  const GgufFile complete = GgufFile::parse(as_bytes(whole), "whole");
  const std::string header = whole.substr(0, complete.data_offset());
  EXPECT_THAT(message_of([&] { GgufFile::parse(as_bytes(header), "cut"); }),
              HasSubstr("must end within the file"));
  const GgufFile cut = GgufFile::parse(as_bytes(header), "cut", GgufData::kOptional);
  EXPECT_FALSE(cut.has_data());
  EXPECT_EQ(cut.tensors().size(), complete.tensors().size());
  EXPECT_THAT(message_of([&] { read_vector(cut, "output_norm.weight", 32); }),
              HasSubstr("opened for its header only"));
}

TEST(Gguf, ListsTypesItHasNeverHeardOf) {
  std::string stored = read_file(fixture("types.gguf"));
  const size_t name = stored.find(std::string("\3\0\0\0\0\0\0\0f16", 11));
  ASSERT_NE(name, std::string::npos);
  stored[name + 11 + 4 + 16] = 77;  // past the name, the dimension count and two dimensions
  const GgufFile file = GgufFile::parse(as_bytes(stored), "m");
  const TensorInfo* const info = file.find_tensor("f16");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->type_name, "ggml type 77");
  std::vector<float> out(element_count(*info));
  EXPECT_THAT(message_of([&] { file.read_f32(*info, out); }), HasSubstr("got ggml type 77"));
  EXPECT_THAT(message_of([&] { file.tensor_bytes(*info); }), HasSubstr("got ggml type 77"));
}

// ---- hostile files

ByteWriter start(uint64_t tensors, uint64_t entries) {
  return ByteWriter().put_raw("GGUF").put<uint32_t>(3).put(tensors).put(entries);
}

struct TensorRow {
  std::string name = "t";
  std::vector<uint64_t> dims = {8};  // innermost first, as stored
  uint32_t type = 0;
  uint64_t offset = 0;
};

ByteWriter& put_tensor(ByteWriter& out, const TensorRow& row) {
  out.put_string(row.name).put<uint32_t>(static_cast<uint32_t>(row.dims.size()));
  for (const uint64_t dim : row.dims) out.put(dim);
  return out.put(row.type).put(row.offset);
}

std::string refusal(const std::string& stored) {
  return message_of([&] { GgufFile::parse(as_bytes(stored), "m.gguf"); });
}

// 64 bytes of data follow the list.
std::string refusal_of_tensors(const std::vector<TensorRow>& rows) {
  ByteWriter out = start(rows.size(), 0);
  for (const TensorRow& row : rows) put_tensor(out, row);
  out.pad_to(32).put_raw(std::string(64, '\0'));
  return refusal(out.text());
}

std::string refusal_of_alignment(uint32_t alignment) {
  return refusal(
      start(0, 1).put_string("general.alignment").put<uint32_t>(4).put(alignment).text());
}

TEST(GgufHostile, NamesOtherFormats) {
  EXPECT_THAT(refusal(std::string()), HasSubstr("m.gguf: not a GGUF file"));
  EXPECT_THAT(refusal(std::string("GGU")), HasSubstr("not a GGUF file"));
  EXPECT_THAT(refusal(std::string("ggml1234")), HasSubstr("not a GGUF file"));
  const auto with_version = [](uint32_t version) {
    return refusal(
        ByteWriter().put_raw("GGUF").put(version).put<uint64_t>(0).put<uint64_t>(0).text());
  };
  EXPECT_THAT(with_version(1), HasSubstr("must be GGUF version 2 or 3, got 1"));
  EXPECT_THAT(with_version(4), HasSubstr("got 4"));
  EXPECT_THAT(with_version(0), HasSubstr("got 0"));
  EXPECT_THAT(with_version(0x03000000), HasSubstr("must be little endian, got big-endian"));
}

TEST(GgufHostile, CountsNeverExceedWhatTheFileCanHold) {
  EXPECT_THAT(refusal(start(UINT64_MAX, 0).text()), HasSubstr("the tensor count"));
  EXPECT_THAT(refusal(start(1, 0).text()), HasSubstr("the tensor count"));
  EXPECT_THAT(refusal(start(0, uint64_t{1} << 60).text()),
              HasSubstr("the count of metadata entries"));
  EXPECT_THAT(refusal(start(0, 1).text()), HasSubstr("the count of metadata entries"));
  for (const uint32_t element_type : {0u, 4u, 8u, 12u}) {
    for (const uint64_t count : {UINT64_MAX, uint64_t{1} << 61, uint64_t{9}}) {
      EXPECT_THAT(refusal(start(0, 1)
                              .put_string("k")
                              .put<uint32_t>(9)
                              .put(element_type)
                              .put(count)
                              .put<uint64_t>(0)
                              .text()),
                  HasSubstr("an array's length must be at most"));
    }
  }
}

TEST(GgufHostile, ChecksStringLengths) {
  for (const uint64_t length : {uint64_t{1} << 63, UINT64_MAX, uint64_t{100}}) {
    EXPECT_THAT(refusal(start(0, 1).put(length).put_raw("0123456789").text()),
                HasSubstr("a metadata key must end within the file"));
    EXPECT_THAT(refusal(start(0, 1).put_string("k").put<uint32_t>(8).put(length).text()),
                HasSubstr("a metadata value must end within the file"));
  }
  EXPECT_THAT(refusal(start(0, 1).put_string("").put<uint32_t>(0).put_raw("xx").text()),
              HasSubstr("1 to 65535 bytes, got 0"));
  EXPECT_THAT(
      refusal(start(0, 1).put_string(std::string(65536, 'k')).put<uint32_t>(0).put_raw("x").text()),
      HasSubstr("got 65536"));
}

TEST(GgufHostile, ChecksTypesAndBools) {
  EXPECT_THAT(refusal(start(0, 1).put_string("k").put<uint32_t>(13).put_raw("xx").text()),
              HasSubstr("k: must have one of the value types 0 to 12, got 13"));
  EXPECT_THAT(refusal(start(0, 1).put_string("k").put<uint32_t>(7).put_raw("\2").text()),
              HasSubstr("k: a bool must be 0 or 1, got 2"));
  EXPECT_THAT(refusal(start(0, 1)
                          .put_string("k")
                          .put<uint32_t>(9)
                          .put<uint32_t>(7)
                          .put<uint64_t>(2)
                          .put_raw("\1\3")
                          .text()),
              HasSubstr("a bool must be 0 or 1, got 3"));
  EXPECT_THAT(
      refusal(
          start(0, 1).put_string("k").put<uint32_t>(9).put<uint32_t>(9).put<uint64_t>(0).text()),
      HasSubstr("k: must not be an array of arrays"));
}

TEST(GgufHostile, RefusesTwins) {
  EXPECT_THAT(refusal(start(0, 2)
                          .put_string("k")
                          .put<uint32_t>(0)
                          .put_raw("1")
                          .put_string("k")
                          .put<uint32_t>(0)
                          .put_raw("2")
                          .text()),
              HasSubstr("key \"k\": must come once"));
  EXPECT_THAT(refusal_of_tensors({{}, {.offset = 32}}), HasSubstr("tensor t: must be named once"));
}

TEST(GgufHostile, ChecksAlignment) {
  for (const uint32_t alignment : {0u, 3u, 33u, 0xffffffffu}) {
    EXPECT_THAT(refusal_of_alignment(alignment),
                HasSubstr("general.alignment: must be a power of two up to 2^31, got " +
                          std::to_string(alignment)));
  }
  EXPECT_THAT(
      refusal(start(0, 1).put_string("general.alignment").put<uint32_t>(7).put_raw("\1").text()),
      HasSubstr("must be a non-negative integer, got bool true"));
  EXPECT_THAT(refusal_of_tensors({{.offset = 16}}), HasSubstr("must be a multiple of 32, got 16"));
}

TEST(GgufHostile, ChecksShapes) {
  EXPECT_THAT(refusal_of_tensors({{.dims = {1, 1, 1, 1, 1}}}),
              HasSubstr("at most 4 dimensions, got 5"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {0}}}), HasSubstr("positive dimensions"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {8, 0}}}), HasSubstr("positive dimensions"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {uint64_t{1} << 32, uint64_t{1} << 32}}}),
              HasSubstr("below 2^64"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {UINT64_MAX}}}), HasSubstr("fewer than 2^64 bytes"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {uint64_t{1} << 61}}}), HasSubstr("must end"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {33}, .type = 2}}),
              HasSubstr("rows of Q4_0 must be a multiple of 32"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {16, 2}, .type = 8}}), HasSubstr("got [2, 16]"));
}

TEST(GgufHostile, KeepsTensorsApartAndInside) {
  EXPECT_THAT(refusal_of_tensors({{.offset = 64}}), HasSubstr("must end within the file"));
  EXPECT_THAT(refusal_of_tensors({{.offset = UINT64_MAX - 31}}), HasSubstr("must end below 2^64"));
  EXPECT_THAT(refusal_of_tensors({{.dims = {16}}, {.name = "u", .offset = 32}}),
              HasSubstr("tensor u: must not overlap tensor t"));
  EXPECT_THAT(refusal_of_tensors({{.offset = 32}, {.name = "u", .offset = 32}}),
              HasSubstr("must not overlap"));
  EXPECT_THAT(refusal_of_tensors({{.type = 77, .offset = 0}, {.name = "u"}}),
              HasSubstr("must not overlap"));
}

TEST(GgufHostile, EveryTruncationIsRefused) {
  for (const char* const name : {"types.gguf", "tiny_llama.gguf"}) {
    const std::string whole = read_file(fixture(name));
    const GgufFile complete = GgufFile::parse(as_bytes(whole), "whole");
    const TensorInfo& last = complete.tensors().back();
    for (size_t size = 0; size < last.offset + last.bytes; size += 64) {
      // A vector of its own, so that a sanitizer sees each read past the end.
      const std::vector<char> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const auto bytes = std::as_bytes(std::span(part));
      EXPECT_THROW(GgufFile::parse(bytes, "cut"), Error) << name << " at " << size;
      if (size >= complete.data_offset()) {
        EXPECT_NO_THROW(GgufFile::parse(bytes, "cut", GgufData::kOptional)) << name << size;
      }
    }
  }
}

// Either an Error or a file whose every value can be touched.
TEST(GgufHostile, EveryFlippedByteOfAHeaderIsHarmless) {
  const std::string whole = read_file(fixture("types.gguf"));
  const uint64_t header = GgufFile::parse(as_bytes(whole), "whole").data_offset();
  for (size_t i = 0; i < header; ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      try {
        const GgufFile file = GgufFile::parse(as_bytes(changed), "changed");
        for (const GgufEntry& entry : file.metadata().entries()) entry.value.describe();
        for (const TensorInfo& info : file.tensors()) {
          if (!is_decodable(info.type)) continue;
          std::vector<float> values(element_count(info));
          file.read_f32(info, values);
        }
      } catch (const Error&) {
      }
    }
  }
}

// ---- files by other hands

TEST(GgufShared, ReadsModelsOfOtherWriters) {
  const std::string path = shared_model("stories260K.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const GgufFile file = GgufFile::open(path);
  EXPECT_EQ(file.metadata().get_u64("llama.attention.head_count_kv"), 4u);
  EXPECT_EQ(read_matrix(file, "blk.0.attn_k.weight", 32, 64).size(), 32u * 64);
  const GgufFile random = GgufFile::open(shared_model("llama-2-tiny-random.gguf"));
  for (const TensorInfo& info : random.tensors()) {
    std::vector<float> values(element_count(info));
    random.read_f32(info, values);
  }
}

TEST(GgufShared, ReadsVocabularies) {
  for (const auto& [name, tokens] : {std::pair{"llama-spm", 32000u}, std::pair{"phi-3", 32064u},
                                     std::pair{"gpt-2", 50257u}, std::pair{"falcon", 65024u}}) {
    const std::string path = shared_model(std::string("ggml-vocab-") + name + ".gguf");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
    const GgufFile file = GgufFile::open(path);
    EXPECT_EQ(file.metadata().get_string_array("tokenizer.ggml.tokens").size(), tokens) << name;
    EXPECT_EQ(file.metadata().get_i32_array("tokenizer.ggml.token_type").size(), tokens) << name;
    EXPECT_TRUE(file.tensors().empty());
    EXPECT_TRUE(file.has_data());
  }
}

}  // namespace
}  // namespace ropewalk
