// Where results go: into files of their own, and nowhere unnoticed.
#include <filesystem>

#include "tests/run_command.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class Results : public ProgramTest {
 protected:
  void refuses(const std::vector<std::string>& words, const std::string& output) const {
    const std::string before = read_file(output);
    const RunResult result = run(words);
    EXPECT_EQ(result.status, 1) << output;
    EXPECT_THAT(result.err, HasSubstr(output));
    EXPECT_EQ(read_file(output), before);
  }
  RunResult run_with(const std::vector<std::string>& words, const std::string& redirections) const {
    return run_line(quoted_line(kProgram, words) + " " + redirections);
  }
  std::string study() const {
    std::string text;
    for (int k = 0; k < 700; ++k)
      text += "line " + std::to_string(k * 7919 % 1000) + " of a text that says nothing\n";
    text_ = file("text.txt", text);
    const RunResult result = run(extend_words());
    EXPECT_EQ(result.status, 0) << result.err;
    return path("a.db");
  }
  std::vector<std::string> extend_words() const {
    return {"extend", model_,      "--to", "512",      "--text",        text_,     "--threads",
            "1",      "--windows", "2",    "--scheme", "cap,window=16", "--study", path("a.db")};
  }

  const std::string model_ = file("model.gguf", read_file(fixture("tiny_llama.gguf")));
  mutable std::string text_;
};

TEST_F(Results, NumPyFilesReplaceNoOthers) {
  const std::string notes = file("notes.txt", "the only copy");
  fs::create_symlink(model_, path("link"));
  fs::create_hard_link(model_, path("twin"));
  for (const std::string& output : {model_, notes, path("link"), path("twin")})
    refuses({"show", model_, "--npy", output}, output);
  const std::string out = path("a.npy");
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(run({"show", model_, "--npy", out}).status, 0) << "its own is replaced";
  EXPECT_EQ(run({"show", model_, "--npy", file("empty", "")}).status, 0);
  EXPECT_THAT(run({"show", model_, "--npy", path(std::string(300, 'x'))}).err,
              HasSubstr("must have a shorter name"));
}

TEST_F(Results, StatesReplaceNoWeights) {
  const std::string weights = file("model.safetensors", "weights");
  refuses({"states", model_, "--ids", file("ids", "[1]"), "--npy", weights}, weights);
}

TEST_F(Results, OutputsHaveNames) {
  for (const std::string& name : {std::string(), std::string("-")}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"show", model_, "--npy", name},
          {"states", model_, "--ids", "ids", "--npy", name},
          {"report", "a.db", "-o", name},
          {"report", "a.db", "--json", name},
          {"report", "a.db", "--csv", name},
          {"write", model_, "--scheme", "linear,factor=2", "-o", name}}) {
      const RunResult result = run(words);
      EXPECT_GT(result.status, 0) << words[0];
      EXPECT_THAT(result.err, HasSubstr("must name a file")) << words[0];
    }
  }
}

TEST_F(Results, ReportsReplaceOnlyReports) {
  const std::string study = this->study();
  const std::string notes = file("notes.html", "<!DOCTYPE html>\n<html lang=\"en\">my own");
  refuses({"report", study, "-o", notes}, notes);
  for (const std::string& output : {model_, study, file("a.json", "{\"title\": 1}")})
    refuses({"report", study, "-o", path("new.html"), "--json", output}, output);
  EXPECT_FALSE(fs::exists(path("new.html"))) << "all or nothing";
  fs::create_directories(path("numbers"));
  const std::string facts = file("numbers/facts.csv", "mine,own\n");
  refuses({"report", study, "--csv", path("numbers")}, facts);
  fs::remove(facts);
  for (int time = 0; time < 2; ++time) {
    const RunResult result = run({"report", study, "-o", path("a.html"), "--json", path("b.json"),
                                  "--csv", path("numbers")});
    EXPECT_EQ(result.status, 0) << result.err;
  }
}

TEST_F(Results, AClosedStandardErrorCostsNoWork) {
  const std::string study = this->study();
  for (const char* stream : {"2>&-", "2>/dev/full"}) {
    const RunResult result =
        run_with({"report", study, "-o", path("a.html"), "--json", path("a.json")}, stream);
    EXPECT_EQ(result.status, 0) << stream;
    EXPECT_TRUE(fs::exists(path("a.json"))) << stream;
    fs::remove(path("a.json"));
    fs::remove(study);
    EXPECT_EQ(run_with(extend_words(), stream).status, 0) << stream;
  }
}

TEST_F(Results, AnAnswerThatIsLostIsAFailure) {
  study();
  for (const std::string stream : {">&-", "<&- >&-", ">/dev/full"}) {
    fs::remove(path("a.db"));
    EXPECT_EQ(run_with(extend_words(), stream + " 2>/dev/null").status, 1) << stream;
    EXPECT_EQ(run({"report", path("a.db")}).status, 0) << "what was measured is kept";
    EXPECT_EQ(run_with({"show", model_}, stream + " 2>/dev/null").status, 1) << stream;
  }
  EXPECT_EQ(run_with({"tokens", model_, "--text", "-"}, "<&- 2>/dev/null").status, 1);
}

TEST_F(Results, NamesOfFilesDoNotGarbleTheTerminal) {
  const std::string name = "no\x1b[31m\u202esuch";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"show", name},
                                                {"compare", name, name},
                                                {"map", "rope", "--n", name}}) {
    const RunResult result = run(words);
    EXPECT_THAT(result.err, AllOf(HasSubstr("no\\x1b[31m\\u202esuch"))) << words[0];
  }
}

}  // namespace
}  // namespace ropewalk
