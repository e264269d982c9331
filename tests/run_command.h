// What whole-program tests share: the command as a user runs it.
#ifndef ROPEWALK_TESTS_RUN_COMMAND_H_
#define ROPEWALK_TESTS_RUN_COMMAND_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {

#ifdef ROPEWALK_PROGRAM
inline const char* const kProgram = ROPEWALK_PROGRAM;
#else
inline const char* const kProgram = nullptr;
#endif

struct RunResult {
  int status = -1;  // exit code; -1 where it did not exit by itself
  std::string out;
  std::string err;
};

class ProgramTest : public testing::Test {
 protected:
  using Json = nlohmann::ordered_json;

  void SetUp() override {
    if (kProgram == nullptr) GTEST_SKIP() << "built without the command";
  }

  RunResult run(const std::vector<std::string>& words) const {
    const std::string errors = folder_.path() + "/stderr";
    std::string line = quoted(kProgram);
    for (const std::string& word : words) line += " " + quoted(word);
    FILE* const pipe = popen((line + " 2>" + quoted(errors)).c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    RunResult result;
    char part[4096];
    for (size_t count = 0; (count = fread(part, 1, sizeof(part), pipe)) > 0;) {
      result.out.append(part, count);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    result.err = read_file(errors);
    return result;
  }

  // What a run with --json prints; `status` is what it must exit with.
  Json run_json(std::vector<std::string> words, int status = 0) const {
    words.push_back("--json");
    const RunResult result = run(words);
    EXPECT_EQ(result.status, status) << result.err;
    Json parsed = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << result.out.substr(0, 200) << result.err;
    return parsed;
  }

  // Writes a config.json into a folder of its own; returns the folder.
  std::string config(const std::string& name, const Json& document) const {
    std::filesystem::create_directories(folder_.path() + "/" + name);
    folder_.write(name + "/config.json", document.dump(1));
    return folder_.path() + "/" + name;
  }
  std::string file(const std::string& name, const std::string& content) const {
    return folder_.write(name, content);
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  static size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    return longest;
  }

 private:
  static std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  }

  const TempDirectory folder_;
};

// A small Llama: heads of `head_dim`, trained at `length` tokens.
inline nlohmann::ordered_json small_llama(int64_t head_dim = 128, double base = 10000,
                                          int64_t length = 4096) {
  return {{"model_type", "llama"},    {"hidden_size", head_dim * 4},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"head_dim", head_dim},     {"num_hidden_layers", 2},
          {"intermediate_size", 256}, {"vocab_size", 512},
          {"rope_theta", base},       {"max_position_embeddings", length}};
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTS_RUN_COMMAND_H_
