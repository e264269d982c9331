// What `ropewalk check` foretells of memory, beside what a run takes.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ropewalk/config/test_support.h"
#include "ropewalk/engine/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

// AddressSanitizer keeps what is freed, and a shadow of all else.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kOrdinaryMemory = false;
#else
constexpr bool kOrdinaryMemory = true;
#endif

const char* const kModel = ROPEWALK_SOURCE_DIR "/models/ropewalk-kjv-1m.gguf";

// What the heap keeps between buffers and nobody foretells: much beside so small a model.
constexpr double kHeapsOwn = 4 << 20;

// Bytes that were resident at most, in a run that says what it has to say to nobody.
int64_t peak_of(std::vector<std::string> words) {
  words.insert(words.begin(), kProgram);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    execv(kProgram, arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

class Memory : public ProgramTest {
 protected:
  void expect_foretold(const std::string& precision, int64_t tokens) {
    if (!kOrdinaryMemory) GTEST_SKIP() << "memory under AddressSanitizer is not foretold";
    Json ids = Json::array();
    for (int64_t t = 0; t < tokens; ++t) ids.push_back(3 + t * 7919 % 1000);
    const std::string path = file("ids.json", ids.dump());
    const Json memory = run_json(
        {"check", kModel, "--precision", precision, "--tokens", std::to_string(tokens)})["memory"];
    const auto foretold = memory["peak"].get<double>();
    const auto measured =
        static_cast<double>(peak_of({"losses", kModel, "--precision", precision, "--ids", path}));
    EXPECT_LE(foretold, 1.15 * measured) << memory;
    EXPECT_GE(foretold, 0.95 * measured - kHeapsOwn) << memory;
  }
};

// Two layers of nomic-bert, whose positions are turns: 256 wide, and all but the layers small.
std::string encoder_file() {
  constexpr uint32_t kHidden = 256, kFfn = 512, kVocabulary = 1000;
  const std::string architecture = "nomic-bert";
  GgufBuilder file;
  file.set("general.architecture", architecture);
  const auto set = [&](const std::string& key, GgufBuilder::Value value) {
    file.set(architecture + "." + key, std::move(value));
  };
  set("block_count", uint32_t{2});
  set("context_length", uint32_t{2048});
  set("embedding_length", kHidden);
  set("feed_forward_length", kFfn);
  set("attention.head_count", uint32_t{4});
  set("attention.layer_norm_epsilon", 1e-6F);
  set("attention.causal", false);
  set("rope.freq_base", 1000.0F);
  const auto matrix = [&](const std::string& part, uint64_t outputs, uint64_t inputs) {
    std::vector<float> values(outputs * inputs);
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = static_cast<float>(k * 7919 % 1000) / 8000.0F - 0.0625F;
    file.tensor(part + ".weight", std::move(values), outputs);
  };
  const auto norm = [&](const std::string& part) {
    file.tensor(part + ".weight", std::vector<float>(kHidden, 1));
  };
  matrix("token_embd", kVocabulary, kHidden);
  matrix("token_types", 2, kHidden);
  norm("token_embd_norm");
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    matrix(layer + "attn_qkv", 3 * kHidden, kHidden);
    matrix(layer + "attn_output", kHidden, kHidden);
    norm(layer + "attn_output_norm");
    matrix(layer + "ffn_gate", kFfn, kHidden);
    matrix(layer + "ffn_up", kFfn, kHidden);
    matrix(layer + "ffn_down", kHidden, kFfn);
    norm(layer + "layer_output_norm");
  }
  return file.file();
}

TEST_F(Memory, OfAnEncodersStatesIsForetold) {
  if (!kOrdinaryMemory) GTEST_SKIP() << "memory under AddressSanitizer is not foretold";
  constexpr int64_t kTokens = 6000;
  const std::string model = file("encoder.gguf", encoder_file());
  Json ids = Json::array();
  for (int64_t t = 0; t < kTokens; ++t) ids.push_back(3 + t * 7919 % 900);
  const std::string path = file("ids.json", ids.dump());
  const Json memory = run_json({"check", model, "--tokens", std::to_string(kTokens)})["memory"];
  EXPECT_EQ(memory["of"], "states");
  const auto foretold = memory["peak"].get<double>();
  const auto measured = static_cast<double>(peak_of({"states", model, "--ids", path}));
  EXPECT_LE(foretold, 1.15 * measured) << memory;
  EXPECT_GE(foretold, 0.95 * measured - kHeapsOwn) << memory;
}

TEST_F(Memory, IsForetoldInFloat32) { expect_foretold("f32", 4000); }
TEST_F(Memory, IsForetoldInBf16) {
  SKIP_WITHOUT_BF16();
  expect_foretold("bf16", 4000);
}

TEST_F(Memory, ALengthThatFitsNoMachineIsSaidToBeSo) {
  const Json memory = run_json({"check", kModel, "--tokens", "16777216"})["memory"];
  EXPECT_EQ(memory["tokens"], 16777216);
  EXPECT_GT(memory["bytes"]["cache"].get<int64_t>(), int64_t{30} << 30);
  EXPECT_EQ(memory["fits"], memory["wanted"].get<int64_t>() <= memory["available"].get<int64_t>());
}

}  // namespace
}  // namespace ropewalk
