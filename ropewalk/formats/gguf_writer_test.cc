#include "ropewalk/formats/gguf_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ropewalk/base/half.h"
#include "ropewalk/formats/gguf_undo.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three keys; a matrix of 2 rows of 3, whose 24 bytes need padding, and a vector; something that
// nobody asked for behind them.
std::string small_file(const std::string& tail = {}) {
  ByteWriter out;
  out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(2).put<uint64_t>(3);
  out.put_string("general.architecture").put<uint32_t>(8).put_string("llama");
  out.put_string("llama.rope.freq_base").put<uint32_t>(6).put<float>(10000);
  out.put_string("general.file_type").put<uint32_t>(4).put<uint32_t>(0);
  out.put_string("matrix").put<uint32_t>(2).put<uint64_t>(3).put<uint64_t>(2);
  out.put<uint32_t>(0).put<uint64_t>(0);
  out.put_string("vector").put<uint32_t>(1).put<uint64_t>(2).put<uint32_t>(0).put<uint64_t>(32);
  out.pad_to(32);
  for (int i = 0; i < 6; ++i) out.put<float>(0.1F * static_cast<float>(i));
  out.pad_to(32);
  out.put<float>(7).put<float>(8).put_raw(tail);
  return out.text();
}

template <typename Write>
std::string written(Write write) {
  std::string out;
  write([&](std::span<const std::byte> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return out;
}

std::string edit(const std::string& bytes, const GgufEdits& edits) {
  const GgufFile source = GgufFile::parse(as_bytes(bytes), "test.gguf");
  return written([&](const ByteSink& sink) {
    write_edited(source, edits, sha256_hex(as_bytes(bytes)), sink);
  });
}

std::string undo(const std::string& bytes) {
  const GgufFile edited = GgufFile::parse(as_bytes(bytes), "edited.gguf");
  return written([&](const ByteSink& sink) { write_undone(edited, sink); });
}

std::vector<std::string> names(const GgufFile& file) {
  std::vector<std::string> list;
  for (const TensorInfo& info : file.tensors()) list.push_back(info.name);
  return list;
}

const GgufEdits kEveryKind = {.keys = {{"llama.rope.freq_base", 5000.0F},
                                       {"general.file_type", std::nullopt},
                                       {"llama.context_length", uint32_t{4096}},
                                       {"llama.rope.scaling.type", std::string("none")},
                                       {"not.there", std::nullopt}},
                              .vectors = {{"rope_freqs.weight", {1, 2, 3}}, {"neither.there", {}}}};

TEST(GgufWriter, EditsKeysInPlaceAndAddsNewOnesLast) {
  const std::string bytes = edit(small_file(), kEveryKind);
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "edited.gguf");
  EXPECT_EQ(file.metadata().entries()[1].key, "llama.rope.freq_base");
  EXPECT_EQ(file.metadata().get_f64("llama.rope.freq_base"), 5000);
  EXPECT_FALSE(file.metadata().contains("general.file_type"));
  EXPECT_EQ(file.metadata().get_u64("llama.context_length"), 4096u);
  EXPECT_EQ(file.metadata().get_string("llama.rope.scaling.type"), "none");
  EXPECT_FALSE(file.metadata().contains("not.there"));
}

TEST(GgufWriter, AddsVectorsBehindTheOthersWithoutHoles) {
  const std::string bytes = edit(small_file(), kEveryKind);
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "edited.gguf");
  EXPECT_THAT(names(file), ElementsAre("matrix", "vector", "rope_freqs.weight"));
  EXPECT_THAT(read_vector(file, "rope_freqs.weight", 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(read_vector(file, "vector", 2), ElementsAre(7, 8));
  uint64_t expected = file.data_offset();  // gguf.cpp demands each tensor right behind the last one
  for (const TensorInfo& info : file.tensors()) {
    EXPECT_EQ(info.offset, expected) << info.name;
    expected += (info.bytes + 31) / 32 * 32;
  }
}

TEST(GgufWriter, ReplacesAndRemovesVectors) {
  const std::string replaced = edit(small_file(), {.vectors = {{"vector", {5}}}});
  const GgufFile file = GgufFile::parse(as_bytes(replaced), "edited.gguf");
  EXPECT_THAT(read_vector(file, "vector", 1), ElementsAre(5));

  const std::string removed = edit(small_file(), {.vectors = {{"matrix", {}}}});
  const GgufFile rest = GgufFile::parse(as_bytes(removed), "edited.gguf");
  EXPECT_THAT(names(rest), ElementsAre("vector"));
  EXPECT_THAT(read_vector(rest, "vector", 2), ElementsAre(7, 8));
}

TEST(GgufWriter, UndoGivesTheOriginalByteForByte) {
  const std::vector<GgufEdits> all = {kEveryKind,
                                      {},
                                      {.vectors = {{"vector", {5}}}},
                                      {.vectors = {{"matrix", {}}, {"vector", {}}}}};
  for (const char* tail : {"", "and a tail"}) {
    for (const GgufEdits& edits : all) {
      const std::string original = small_file(tail);
      EXPECT_EQ(undo(edit(original, edits)), original);
    }
  }
}

TEST(GgufWriter, UndoTakesBackOneEditAtATime) {
  const std::string first = edit(small_file(), kEveryKind);
  const std::string second = edit(first, {.keys = {{"llama.context_length", uint32_t{1}}}});
  EXPECT_EQ(undo(second), first);
  EXPECT_EQ(undo(undo(second)), small_file());
}

TEST(GgufWriter, UndoRefusesWhatItCannotTrust) {
  EXPECT_THAT(message_of([] { undo(small_file()); }), HasSubstr("must be present to undo"));

  std::string far = edit(small_file(), kEveryKind);
  const std::string key = "ropewalk.undo.pieces";
  const size_t pieces = far.find(key) + key.size() + 4 + 4 + 8;
  far[pieces + 15] = '\x7f';  // the first piece's count of bytes
  EXPECT_THAT(message_of([&] { undo(far); }), HasSubstr("must stay within the file"));
}

// A value changed in place, as editors of keys do.
TEST(GgufWriter, UndoNamesTheKeyThatWasChangedSince) {
  std::string edited = edit(small_file(), kEveryKind);
  EXPECT_EQ(edited_since(GgufFile::parse(as_bytes(edited), "test.gguf")), "");
  const std::string key = "llama.context_length";
  edited[edited.find(key) + key.size() + sizeof(uint32_t)] = 7;
  const std::string since = "llama.context_length, now u32 4103";
  EXPECT_EQ(edited_since(GgufFile::parse(as_bytes(edited), "test.gguf")), since);
  EXPECT_THAT(message_of([&] { undo(edited); }),
              HasSubstr("edited.gguf: must be as it was written to be undone, got " + since));
}

TEST(GgufWriter, ConvertsMatricesAndLeavesVectorsInF32) {
  const std::string original = small_file();
  const GgufFile source = GgufFile::parse(as_bytes(original), "test.gguf");
  const std::string narrow =
      written([&](const ByteSink& sink) { write_converted(source, TensorType::kBF16, sink); });
  const GgufFile file = GgufFile::parse(as_bytes(narrow), "bf16.gguf");
  EXPECT_EQ(file.find_tensor("matrix")->type, TensorType::kBF16);
  EXPECT_EQ(file.find_tensor("vector")->type, TensorType::kF32);
  EXPECT_EQ(file.metadata().get_u64("general.file_type"), 32u);
  const std::vector<float> values = read_matrix(file, "matrix", 2, 3);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(values[static_cast<size_t>(i)], to_float(to_bf16(0.1F * static_cast<float>(i))));
  }

  const std::string wide =
      written([&](const ByteSink& sink) { write_converted(file, TensorType::kF32, sink); });
  const GgufFile back = GgufFile::parse(as_bytes(wide), "f32.gguf");
  EXPECT_EQ(back.find_tensor("matrix")->type, TensorType::kF32);
  EXPECT_EQ(read_matrix(back, "matrix", 2, 3), values);
}

TEST(GgufWriter, DataHashIsOfTheNamedTensorsOnly) {
  const std::string original = small_file();
  const std::string edited = edit(original, kEveryKind);
  const GgufFile before = GgufFile::parse(as_bytes(original), "test.gguf");
  const GgufFile after = GgufFile::parse(as_bytes(edited), "edited.gguf");
  const std::vector<std::string> both = {"matrix", "vector"};
  EXPECT_EQ(tensor_data_sha256(before, both), tensor_data_sha256(after, both));
  const std::vector<std::string> all = {"matrix", "vector", "rope_freqs.weight"};
  EXPECT_NE(tensor_data_sha256(before, all), tensor_data_sha256(after, all));
}

}  // namespace
}  // namespace ropewalk
