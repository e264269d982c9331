// What `ropewalk check` foretells of memory, beside what a run takes.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ropewalk/config/test_support.h"
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

TEST_F(Memory, IsForetoldInFloat32) { expect_foretold("f32", 4000); }
TEST_F(Memory, IsForetoldInBf16) { expect_foretold("bf16", 4000); }

TEST_F(Memory, ALengthThatFitsNoMachineIsSaidToBeSo) {
  const Json memory = run_json({"check", kModel, "--tokens", "16777216"})["memory"];
  EXPECT_EQ(memory["tokens"], 16777216);
  EXPECT_GT(memory["bytes"]["cache"].get<int64_t>(), int64_t{30} << 30);
  EXPECT_EQ(memory["fits"], memory["wanted"].get<int64_t>() <= memory["available"].get<int64_t>());
}

}  // namespace
}  // namespace ropewalk
