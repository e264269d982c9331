// `ropewalk write` as a user runs it, on a real model.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/formats/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

class WriteCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (kProgram == nullptr) GTEST_SKIP() << "built without the command";
    if (!std::filesystem::exists(model_)) GTEST_SKIP() << "no " << model_;
  }

  // Both streams together.
  RunResult run(const std::vector<std::string>& words) const {
    return run_line(quoted_line(kProgram, words) + " 2>&1");
  }

  // What `write` says of the file `name`, as JSON.
  json write(std::vector<std::string> words, const std::string& name) const {
    words.insert(words.begin(), "write");
    for (const char* word : {"--json", "-o"}) words.push_back(word);
    words.push_back(path(name));
    const RunResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.out;
    return json::parse(result.out, nullptr, false);
  }

  // Losses of a few dozen tokens, the same for every call.
  std::vector<double> losses(const std::string& model, const std::string& scheme) const {
    json ids = json::array({1});
    for (int i = 0; i < 47; ++i) ids.push_back(300 + i * i % 97);
    const std::string file = folder_.write("ids.json", ids.dump());
    const RunResult result = run({"losses", model, "--ids", file, "--scheme", scheme, "--json"});
    EXPECT_EQ(result.status, 0) << result.out;
    return json::parse(result.out).at("losses").get<std::vector<double>>();
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string hash(const std::string& file) const { return sha256_hex(as_bytes(read_file(file))); }

  const std::string model_ = shared_model("stories260K.gguf");
  const TempDirectory folder_;
};

TEST_F(WriteCommand, ReplacesNothingButModels) {
  const auto refused = [&](const std::string& output) {
    const RunResult result = run({"write", model_, "--scheme", "linear,factor=2", "-o", output});
    EXPECT_EQ(result.status, 1);
    return result.out;
  };
  const std::string text = folder_.write("thesis.txt", "years of work");
  EXPECT_THAT(refused(text), HasSubstr("are not replaced"));
  EXPECT_EQ(read_file(text), "years of work");
  std::filesystem::create_symlink(model_, path("link.gguf"));
  EXPECT_THAT(refused(path("link.gguf")), HasSubstr("never modified"));
}

TEST_F(WriteCommand, TheFileSaysWhatTheSchemeDoes) {
  for (const std::string scheme :
       {"linear,factor=8", "ntk,factor=8", "yarn,factor=8", "yarn,factor=8,ramp=turns",
        "ntk_by_parts,factor=8", "llama3,factor=8,low=1,high=4"}) {
    const json report = write({model_, "--scheme", scheme, "--to", "4096"}, "new.gguf");
    EXPECT_EQ(report["data_sha256"]["before"], report["data_sha256"]["after"]) << scheme;
    EXPECT_EQ(report["file_sha256"]["after"], hash(path("new.gguf"))) << scheme;
    const std::vector<double> wanted = losses(model_, scheme);
    const std::vector<double> got = losses(path("new.gguf"), "declared");
    ASSERT_EQ(wanted.size(), got.size());
    for (size_t t = 0; t < wanted.size(); ++t) EXPECT_NEAR(wanted[t], got[t], 1e-4) << scheme;
  }
}

TEST_F(WriteCommand, UndoRestoresTheHash) {
  const std::string original = hash(model_);
  write({model_, "--scheme", "ntk_by_parts,factor=8", "--to", "4096"}, "new.gguf");
  const json report = write({path("new.gguf"), "--undo"}, "old.gguf");
  EXPECT_EQ(report["file_sha256"]["after"], original);
  EXPECT_EQ(hash(path("old.gguf")), original);
  EXPECT_EQ(hash(model_), original);
}

TEST_F(WriteCommand, AWrittenFileIsWrittenAgainFromTheModel) {
  write({model_, "--scheme", "yarn,factor=8", "--to", "4096"}, "direct.gguf");
  write({model_, "--scheme", "ntk_by_parts,factor=4", "--to", "2048"}, "first.gguf");
  const json again =
      write({path("first.gguf"), "--scheme", "yarn,factor=8", "--to", "4096"}, "second.gguf");
  EXPECT_THAT(again["notes"].dump(), HasSubstr("had been written before"));
  EXPECT_EQ(hash(path("second.gguf")), hash(path("direct.gguf")));
  write({path("second.gguf"), "--undo"}, "old.gguf");
  EXPECT_EQ(hash(path("old.gguf")), hash(model_));
}

TEST_F(WriteCommand, ConvertsMatrices) {
  const json narrow = write({model_, "--type", "bf16", "--scheme", "linear,factor=2"}, "b.gguf");
  EXPECT_TRUE(narrow["data_sha256"]["before"].is_null());
  const GgufFile file = GgufFile::open(path("b.gguf"));
  for (const TensorInfo& info : file.tensors()) {
    EXPECT_EQ(info.type, info.shape.size() > 1 ? TensorType::kBF16 : TensorType::kF32) << info.name;
  }
  write({path("b.gguf"), "--undo"}, "undone.gguf");
  write({model_, "--type", "bf16"}, "same.gguf");
  EXPECT_FALSE(GgufFile::open(path("undone.gguf")).metadata().contains("llama.rope.scaling.type"));
  EXPECT_NE(losses(path("b.gguf"), "declared"), losses(path("undone.gguf"), "declared"));
  EXPECT_EQ(losses(path("same.gguf"), "declared"), losses(path("undone.gguf"), "declared"));
}

TEST_F(WriteCommand, RefusesWithAReasonAndWritesNothing) {
  const std::string original = hash(model_);
  struct Refused {
    std::vector<std::string> words;
    std::string reason;
  };
  const Refused refused[] = {
      {{"--scheme", "cap,window=256"}, "llama.cpp has no key for a distance map"},
      {{"--scheme", "full_turn"}, "llama.cpp has no key for a pair mask"},
      {{"--scheme", "yarn,factor=2+logn"}, "llama.cpp has no key for a multiplier"},
      {{"--scheme", "dynamic_ntk"}, "must not depend on the length"},
      {{"--for", "vllm"}, "must be llama.cpp for a GGUF file"},
      {{"--undo"}, "must be present to undo a write"},
      {{"--undo", "--scheme", "rope"}, "excludes --undo"}};
  for (const Refused& one : refused) {
    std::vector<std::string> words = {"write", model_, "-o", path("none.gguf")};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const RunResult result = run(words);
    EXPECT_NE(result.status, 0) << one.reason;
    EXPECT_THAT(result.out, HasSubstr(one.reason));
  }
  std::filesystem::create_symlink(std::filesystem::absolute(model_), path("link.gguf"));
  const RunResult onto = run({"write", model_, "--scheme", "rope", "-o", path("link.gguf")});
  EXPECT_NE(onto.status, 0);
  EXPECT_THAT(onto.out, HasSubstr("the original is never modified"));
  EXPECT_EQ(hash(model_), original);
  std::filesystem::remove(path("link.gguf"));
  EXPECT_THAT(
      std::vector<std::filesystem::path>(std::filesystem::directory_iterator(folder_.path()), {}),
      IsEmpty());
}

TEST_F(WriteCommand, TellsAReaderWhatHappened) {
  const RunResult result =
      run({"write", model_, "--scheme", "ntk,factor=3", "--to", "1536", "-o", path("new.gguf")});
  EXPECT_EQ(result.status, 0);
  for (const char* text : {"llama.rope.freq_base", "512 -> 1536", "other tensor data, SHA-256",
                           "llama-cli -m", "-c 1536"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
}

TEST(WriteCommandConfig, WritesAConfigJson) {
  if (kProgram == nullptr) GTEST_SKIP() << "built without the command";
  const TempDirectory folder;
  const std::string text =
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, )"
      R"("max_position_embeddings": 512, "rope_theta": 10000.0})";
  folder.write("config.json", text);
  const std::string line = "'" + std::string(kProgram) + "' write '" + folder.path() +
                           "' --scheme yarn,factor=8 --to 4096 -o '" + folder.path() + "/new' >'" +
                           folder.path() + "/log'";
  ASSERT_EQ(std::system(line.c_str()), 0);
  const json written = json::parse(read_file(folder.path() + "/new/config.json"));
  EXPECT_EQ(written["rope_scaling"]["rope_type"], "yarn");
  EXPECT_EQ(written["rope_scaling"]["factor"], 8);
  EXPECT_EQ(written["max_position_embeddings"], 4096);
  EXPECT_EQ(read_file(folder.path() + "/config.json"), text);
}

}  // namespace
}  // namespace ropewalk
