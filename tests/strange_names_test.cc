// Names of files that would garble a terminal, in what the program says of them.
#include <filesystem>

#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Turns what follows red, ends the line, turns its direction around, and is no UTF-8.
const std::string kName = "a\x1b[31mb\nc\u202e\xff.gguf";
const std::string kSpelt = "a\\x1b[31mb\\x0ac\\u202e\\xff.gguf";

class StrangeNames : public ProgramTest {
 protected:
  static auto is_spelt() {
    return AllOf(HasSubstr(kSpelt), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff")),
                 Not(HasSubstr("\u202e")));
  }
};

TEST_F(StrangeNames, AreSpeltInReports) {
  const std::string model = file(kName, read_file(fixture("tiny_llama.gguf")));
  EXPECT_THAT(run({"show", model}).out, is_spelt());
  EXPECT_THAT(run({"check", model}).out, is_spelt());
  EXPECT_THAT(run({"compare", model, model}).out, is_spelt());
  EXPECT_THAT(run({"write", model, "--scheme", "linear,factor=2", "-o", path("out" + kName)}).out,
              is_spelt());
}

TEST_F(StrangeNames, AreSpeltInStudies) {
  const std::string model = file(kName, read_file(fixture("tiny_llama.gguf")));
  std::string lines;
  for (int k = 0; k < 300; ++k) lines += "line " + std::to_string(k * 7919 % 1000) + " of a text\n";
  const std::string text = file("text.txt", lines);
  const std::string study = path("study" + kName), both = path("both" + kName);
  const RunResult answer = run({"extend", model, "--to", "256", "--text", text, "--windows", "2",
                                "--scheme", "linear,factor=2", "--study", study});
  EXPECT_THAT(answer.out, is_spelt()) << answer.err;
  EXPECT_THAT(run({"bands", model, "--text", text}).out, is_spelt());
  // A study's records are JSON, whose texts are UTF-8.
  EXPECT_THAT(run({"report", study, "--width", "80"}).out,
              AllOf(HasSubstr("a\\x1b[31mb\\x0ac\\u202e\ufffd.gguf"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(run({"merge-study", study, study, "-o", both}).out, is_spelt());
}

TEST_F(StrangeNames, AreSpeltInRefusals) {
  const std::string model = file(kName, "GGUF");
  for (const char* command : {"show", "check", "losses", "tokens"}) {
    std::vector<std::string> words = {command, model};
    if (command == std::string("losses")) words.insert(words.end(), {"--ids", model});
    if (command == std::string("tokens")) words.insert(words.end(), {"--text", "-"});
    const RunResult result = run(words, "text");
    EXPECT_NE(result.status, 0) << command;
    EXPECT_THAT(result.out + result.err, is_spelt()) << command;
  }
  EXPECT_THAT(run({"show", path("none" + kName)}).err + run({"show", path("none" + kName)}).out,
              is_spelt());
}

TEST_F(StrangeNames, AreSpeltInJson) {
  const std::string model = file("a\u0085\u202e\x7f.gguf", read_file(fixture("tiny_llama.gguf")));
  const RunResult result = run({"check", model, "--json"});
  EXPECT_THAT(result.out, HasSubstr("a\\u0085\\u202e\\u007f.gguf"));
  EXPECT_EQ(Json::parse(result.out)["file"], model);
}

}  // namespace
}  // namespace ropewalk
