// What users may give to options, and what is read of it.
#include <sys/stat.h>

#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

class Input : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::string text;
    for (int k = 0; k < 700; ++k)
      text += "line " + std::to_string(k * 7919 % 1000) + " of a text\n";
    text_ = file("text.txt", text);
  }
  // Runs with a limit of time: what waits for ever fails.
  RunResult run_limited(const std::string& line) const {
    RunResult result =
        run_line("timeout 60 bash -c " + quoted(line) + " 2>" + quoted(path("errors")));
    result.err = read_file(path("errors"));
    return result;
  }
  void refuses(const std::vector<std::string>& words, const std::string& why) const {
    const RunResult result = run(words);
    EXPECT_GT(result.status, 0) << words[0] << ": " << why;
    EXPECT_EQ(result.out, "") << words[0];
    EXPECT_THAT(result.err, HasSubstr(why)) << words[0];
  }
  std::vector<std::string> recall(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"recall", model_,    "--text", text_,       "--to",
                                      "512",    "--tasks", "copy",   "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const std::string model_ = fixture("tiny_llama.gguf");
  std::string text_;
};

TEST_F(Input, APipeNobodyWritesToIsNotWaitedFor) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const RunResult losses = run_limited(quoted_line(kProgram, {"losses", model_, "--text", pipe}));
  EXPECT_EQ(losses.status, 1);
  EXPECT_THAT(losses.err, HasSubstr("at least two tokens"));
  const RunResult map = run_limited(quoted_line(kProgram, {"map", "curve,points=@" + pipe}));
  EXPECT_EQ(map.status, 1);
  EXPECT_THAT(map.err, HasSubstr("JSON array"));
}

TEST_F(Input, PipesOfAShellAreRead) {
  const std::string words = quoted_line(kProgram, {"tokens", model_, "--text"});
  const RunResult expected = run({"tokens", model_, "--text", text_});
  const std::string text = ropewalk::quoted(text_);
  for (const std::string& line :
       {words + " <(sleep 0.2; cat " + text + ")", "cat " + text + " | " + words + " /dev/stdin",
        "cat " + text + " | " + words + " -", words + " - <" + text}) {
    EXPECT_EQ(run_limited(line).out, expected.out) << line;
  }
}

TEST_F(Input, DevicesAreNoTexts) {
  refuses({"losses", model_, "--text", "/dev/zero"}, "must be a regular file or a pipe");
  refuses({"map", "curve,points=@/dev/zero"}, "must be a regular file or a pipe");
}

TEST_F(Input, AModelMayHaveAnyName) {
  const std::string model = file("a\xff\xfe.gguf", read_file(model_));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"curve", model, "--text", text_, "--length", "64"},
        {"perplexity", model, "--text", text_, "--window", "64", "--tokens", "128"},
        {"recall", model, "--text", text_, "--to", "512", "--tasks", "copy"}}) {
    EXPECT_THAT(run_json(words)["model"].get<std::string>(), HasSubstr("a\ufffd\ufffd.gguf"))
        << words[0];
  }
}

TEST_F(Input, NumbersAreWhatTheySay) {
  for (const char* seed : {"-1", "99999999999999999999", "", "1x"}) {
    refuses(recall({"--seed", seed}), "--seed: must be a whole number");
    refuses({"bands", model_, "--text", text_, "--seed", seed}, "--seed: must be a whole number");
  }
  EXPECT_EQ(run_json(recall({"--seed", "18446744073709551615"}))["seed"], UINT64_MAX);
  for (const char* depth : {"nan", "inf", ""}) refuses(recall({"--depths", depth}), "--depths");
  refuses({"show", model_, "--digits", ""}, "--digits");
  refuses({"show", model_, "--positions", ""}, "--positions");
  refuses({"perplexity", model_, "--text", text_, "--window", "2", "--stride", "3"},
          "--stride: must be at most --window, 2");
}

TEST_F(Input, EmptyNamesStandForNoFile) {
  refuses({"show", ""}, "MODEL: must name a file");
  refuses({"losses", model_, "--text", ""}, "--text: must name a file");
  refuses({"losses", model_, "--ids", ""}, "--ids: must name a file");
}

TEST_F(Input, WhatIsSaidTwiceIsMeasuredOnce) {
  const Json recalled =
      run_json(recall({"--scheme", "cap,window=9", "declared", "cap,window=9.0", "declared"}));
  ASSERT_EQ(recalled["schemes"].size(), 2u);
  EXPECT_EQ(recalled["schemes"][0]["scheme"], "cap,window=9");
  EXPECT_EQ(run_json({"curve", model_, "--text", text_, "--length", "64", "--scheme", "declared",
                      "declared"})["curves"]
                .size(),
            1u);
}

TEST_F(Input, CheckNamesAFileOnce) {
  const std::string out = run({"check", path("missing")}).out;
  EXPECT_EQ(out.find("missing"), out.rfind("missing")) << out;
}

TEST_F(Input, ARecallOfNothingIsNone) {
  refuses({"recall", model_, "--text", text_, "--to", "2"}, "--to: must leave room");
}

TEST_F(Input, SchemesWithoutParametersSaySo) {
  refuses({"map", "declared,x=1"}, "scheme declared: takes no parameters, got x=1");
  refuses({"map", "rope,x=1"}, "scheme rope: takes no parameters, got x=1");
}

}  // namespace
}  // namespace ropewalk
