// What whole-program tests share: programs as a user runs them.
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

// A word of a shell's line, whatever is in it.
inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

inline std::string quoted_line(const char* program, const std::vector<std::string>& words) {
  std::string line = quoted(program);
  for (const std::string& word : words) line += " " + quoted(word);
  return line;
}

// Runs a shell's line; what it sends to stderr is not caught.
inline RunResult run_line(const std::string& line) {
  FILE* const pipe = popen(line.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  RunResult result;
  char part[4096];
  for (size_t count = 0; (count = fread(part, 1, sizeof(part), pipe)) > 0;) {
    result.out.append(part, count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

class ProgramTest : public testing::Test {
 protected:
  using Json = nlohmann::ordered_json;

  void SetUp() override {
    if (kProgram == nullptr) GTEST_SKIP() << "built without the command";
  }

  //   input  what it finds on stdin
  RunResult run(const std::vector<std::string>& words, const std::string& input = {}) const {
    const std::string errors = folder_.path() + "/stderr";
    RunResult result = run_line(quoted_line(kProgram, words) + " <" +
                                quoted(folder_.write("stdin", input)) + " 2>" + quoted(errors));
    result.err = read_file(errors);
    return result;
  }

  // What a run with --json prints; `status` is what it must exit with.
  Json run_json(std::vector<std::string> words, int status = 0,
                const std::string& input = {}) const {
    words.push_back("--json");
    const RunResult result = run(words, input);
    EXPECT_EQ(result.status, status) << result.err;
    if (status == 0) {
      EXPECT_THAT(result.err, testing::IsEmpty());
    }
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
  std::string folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  static size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    return longest;
  }

 private:
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
