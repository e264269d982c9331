// GGUF files that are not whole: headers, first parts, tensors that llama.cpp refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(GgufFiles, TensorsThatLlamaCppRefuses) {
  const std::vector<float> divisors(64, 2.0F);
  const ModelConfig qwen = plain_gguf("qwen3").tensor("rope_freqs.weight", divisors).positions();
  EXPECT_EQ(spectrum_at(qwen, 1).inv_freq()[0], 0.5);
  EXPECT_THAT(find_finding(qwen, "rope_freqs.weight")->text, HasSubstr("refuses files"));
  const ModelConfig llada = plain_gguf("llada").tensor("rope_freqs.weight", divisors).positions();
  EXPECT_THAT(find_finding(llada, "rope_freqs.weight")->text, HasSubstr("turns without it"));
  EXPECT_THAT(plain_gguf("exaone").tensor("rope_freqs.weight", divisors).positions().findings,
              IsEmpty());
}

GgufFile header(const std::string& bytes) {
  return GgufFile::parse(as_bytes(bytes), "remote.gguf", GgufData::kOptional);
}

TEST(GgufFiles, AHeaderDoesNotRun) {
  std::string bytes = read_file(fixture("tiny_llama.gguf"));
  bytes.resize(bytes.size() - 1);
  EXPECT_EQ(read_gguf_positions(header(bytes)).shape.n_layers, 2);
  EXPECT_THAT(message_of([&] { read_gguf_config(header(bytes)); }),
              HasSubstr("ends before they do"));
}

// The first bytes of a file, as one fetches them.
TEST(GgufFiles, AHeaderIsEnoughForWhatItTells) {
  std::string bytes = plain_gguf().tensor("rope_freqs.weight", std::vector<float>(64, 2.0F)).file();
  bytes.resize(bytes.size() - 64 * sizeof(float));
  const ModelConfig config = read_gguf_positions(header(bytes));
  EXPECT_EQ(config.layer(0)->source.base, 10000.0);
  EXPECT_EQ(config.groups[0].scheme, "");
  EXPECT_EQ(find_finding(config, "rope_freqs.weight")->kind, FaultKind::kMissingKey);
  EXPECT_THAT(find_finding(config, "rope_freqs.weight")->text, HasSubstr("the file is cut off"));

  // The factors come first: where they are there, they count.
  std::string whole = plain_gguf()
                          .tensor("rope_freqs.weight", std::vector<float>(64, 2.0F))
                          .tensor("output.weight", std::vector<float>(1000))
                          .file();
  whole.resize(whole.size() - 1000 * sizeof(float));
  const ModelConfig divided = read_gguf_positions(header(whole));
  EXPECT_EQ(spectrum_at(divided, 1).inv_freq()[0], 0.5);
  EXPECT_EQ(find_finding(divided, "rope_freqs.weight"), nullptr);

  bytes.resize(100);
  EXPECT_THAT(message_of([&] { header(bytes); }), HasSubstr("remote.gguf"));
}

TEST(GgufFiles, TheFirstPartTellsThePositions) {
  GgufBuilder builder = plain_gguf();
  builder.set("split.no", uint32_t{0}).set("split.count", uint32_t{30});
  const ModelConfig config = builder.positions();
  EXPECT_EQ(find_field(config, "parts")->value, "30");
  EXPECT_THAT(find_finding(config, "split.count")->text, HasSubstr("the first of 30 parts"));
  EXPECT_THAT(find_finding(config, "rope_freqs.weight")->text, HasSubstr("this part of the model"));

  ByteWriter later;
  later.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(0).put<uint64_t>(1);
  later.put_string("split.no").put<uint32_t>(2).put<uint16_t>(7);
  EXPECT_THAT(
      message_of([&] { read_gguf_positions(GgufFile::parse(as_bytes(later.text()), "m")); }),
      HasSubstr(
          "split.no: must be 0: positions stand in a model's first part, got 7; read the file "
          "whose name ends in -00001-of-"));
}

TEST(GgufFiles, KeysOfTheSplitAreChecked) {
  const auto part = [](uint32_t number, uint32_t parts) {
    return plain_gguf().set("split.no", number).set("split.count", parts);
  };
  EXPECT_THAT(find_finding(part(1, 2).positions(), "split.count")->text,
              HasSubstr("part 2 of 2: tensors"));
  EXPECT_THAT(message_of([&] { part(2, 2).positions(); }),
              HasSubstr("split.no: must be below split.count 2, got 2"));
  EXPECT_NO_THROW(part(0, 0).positions());  // merged from parts
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) {
    ByteWriter negative;
    negative.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(0).put<uint64_t>(1);
    negative.put_string(key).put<uint32_t>(5).put<int32_t>(-1);
    EXPECT_THAT(
        message_of([&] { read_gguf_positions(GgufFile::parse(as_bytes(negative.text()), "m")); }),
        HasSubstr(std::string(key) + ": must be a non-negative integer"));
  }
}

// A hundred gigabytes of which the header is all that is read.
TEST(GgufFiles, AHugeFileTakesNoTime) {
  constexpr uint64_t kColumns = 16384, kRows = 400000, kTensors = 4;  // 26 GB each
  ByteWriter out;
  out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(kTensors).put<uint64_t>(5);
  out.put_string("general.architecture").put<uint32_t>(8).put_string("llama");
  for (const auto& [key, value] : {std::pair<std::string, uint32_t>{"llama.context_length", 8192},
                                   {"llama.embedding_length", 16384},
                                   {"llama.attention.head_count", 128},
                                   {"llama.block_count", 126}}) {
    out.put_string(key).put<uint32_t>(4).put(value);
  }
  uint64_t offset = 0;
  for (uint64_t k = 0; k < kTensors; ++k) {
    out.put_string("blk." + std::to_string(k)).put<uint32_t>(2).put(kColumns).put(kRows);
    out.put<uint32_t>(0).put(offset);
    offset += kColumns * kRows * sizeof(float);
  }
  out.pad_to(32);
  const TempDirectory folder;
  const std::string path = folder.write("huge.gguf", out.text());
  std::error_code failed;
  std::filesystem::resize_file(path, out.text().size() + offset, failed);
  if (failed) GTEST_SKIP() << "no sparse files here: " << failed.message();

  const auto before = std::chrono::steady_clock::now();
  const ModelConfig config = read_gguf_positions(GgufFile::open(path));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(config.shape.head_dim, 128);
  EXPECT_LT(took.count(), 1);
}

}  // namespace
}  // namespace ropewalk
