// The command as a user runs it: what it prints, where, and how it exits.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"
#include "ropewalk/testing/exact_values.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using exact_values::shared_folder;
using json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Command : public ProgramTest {
 protected:
  // What a run that must fail says; it prints no result.
  std::string complaint(const std::vector<std::string>& words,
                        const std::string& input = {}) const {
    const RunResult result = run(words, input);
    EXPECT_GT(result.status, 0) << result.out;
    EXPECT_THAT(result.out, IsEmpty());
    return result.err;
  }

  const std::string tiny_ = fixture("tiny_llama.gguf");
  const std::string tiny_hf_ = fixture("tiny_llama_hf");
};

#define SKIP_WITHOUT_SHARED_FILES(folder) \
  const auto folder = shared_folder();    \
  if (!folder) GTEST_SKIP() << "no ../shared: the command is not tested on real models"

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(a[k] - b[k]));
  return worst;
}

// ---- losses

TEST_F(Command, LossesOfIdsAreTakenAsTheyAre) {
  const json expected = exact_values::read_fixture("tiny_llama_expected.json");
  const std::string ids = file("ids.json", expected["tokens"].dump());
  for (const std::string& model : {tiny_, tiny_hf_, fixture("tiny_llama_sharded")}) {
    const json got = run_json({"losses", model, "--ids", ids});
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got["tokens"], expected["tokens"]);
    EXPECT_LE(worst_difference(got["losses"], expected["losses"]), 2e-5);
  }
}

TEST_F(Command, LossesOfATextBeginWithBos) {
  const std::string text = "the other one\n";
  const json of_file = run_json({"losses", tiny_, "--text", file("text", text)});
  EXPECT_EQ(of_file["tokens"][0], 1);
  EXPECT_EQ(of_file["losses"].size() + 1, of_file["tokens"].size());
  EXPECT_EQ(run_json({"losses", tiny_, "--text", "-"}, 0, text), of_file);
  // A mistyped option is named, though what it was meant for is missing.
  EXPECT_THAT(complaint({"losses", tiny_, "--txt", "a"}), HasSubstr("--txt"));
  // No second BOS, and no first one, with ids.
  const std::string ids = file("ids.json", "[7, 8, 9]");
  EXPECT_EQ(run_json({"losses", tiny_, "--ids", ids})["tokens"], json({7, 8, 9}));
  EXPECT_EQ(run_json({"losses", tiny_, "--ids", "-"}, 0, "[7, 8]")["tokens"], json({7, 8}));
}

TEST_F(Command, LossesPastTheTrainedLengthAreLabelledNotRefused) {
  std::vector<int> ids(300);
  for (size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<int>(3 + t * 7 % 260);
  const std::string path = file("ids.json", json(ids).dump());
  EXPECT_EQ(run_json({"losses", tiny_, "--ids", path})["losses"].size(), 299u);
  const RunResult table = run({"losses", tiny_, "--ids", path});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("300 tokens, 299 scored"), HasSubstr("mean loss"),
                               HasSubstr("beyond the trained length")));
  EXPECT_THAT(table.out, Not(HasSubstr("BOS")));
}

TEST_F(Command, LossesGoByTheScheme) {
  const json tokens = exact_values::read_fixture("tiny_llama_expected.json")["tokens"];
  const std::string ids = file("ids.json", tokens.dump());
  const auto losses = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"losses", tiny_, "--ids", ids});
    return run_json(options)["losses"].get<std::vector<double>>();
  };
  const std::vector<double> plain = losses({});
  EXPECT_EQ(losses({"--scheme", "declared"}), plain);
  EXPECT_EQ(losses({"--threads", "1"}), plain);
  EXPECT_EQ(losses({"--threads", "3"}), plain);
  EXPECT_LE(worst_difference(losses({"--scheme", "rope"}), plain), 1e-5);
  EXPECT_NE(losses({"--angles", "float32"}), plain);
  const std::vector<double> cap = losses({"--scheme", "cap,window=10"});
  EXPECT_GT(worst_difference(cap, plain), 1e-3);
  EXPECT_EQ(losses({"--layer-scheme", "0:1=cap,window=10"}), cap);
  EXPECT_EQ(losses({"--layer-scheme", "0:0=cap,window=10", "--layer-scheme", "1:1=cap,window=10"}),
            cap);
  const std::vector<double> first = losses({"--layer-scheme", "0:0=cap,window=10"});
  EXPECT_GT(worst_difference(first, cap), 1e-3);
  EXPECT_GT(worst_difference(first, plain), 1e-3);
}

TEST_F(Command, LossesSayWhatIsWrong) {
  const std::string ids = file("ids.json", "[1, 5, 6]");
  const auto with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"losses", tiny_};
    words.insert(words.end(), options.begin(), options.end());
    return complaint(words);
  };
  const auto with_ids = [&](const std::string& content) {
    return with({"--ids", file("wrong.json", content)});
  };
  EXPECT_THAT(with({}), HasSubstr("--text"));
  EXPECT_THAT(with({"--ids", ids, "--text", ids}), HasSubstr("--text"));
  EXPECT_THAT(with({"--ids", ids, "--no-such-flag"}), HasSubstr("--no-such-flag"));
  EXPECT_THAT(with({"--ids", ids, "--precision", "f64"}), HasSubstr("--precision"));
  EXPECT_THAT(with({"--ids", ids, "--angles", "degrees"}), HasSubstr("--angles"));
  EXPECT_THAT(with({"--ids", ids, "--threads", "0"}), HasSubstr("--threads"));
  EXPECT_THAT(with({"--ids", ids, "--scheme", "rpoe"}),
              AllOf(HasSubstr("rpoe"), HasSubstr("rope")));
  EXPECT_THAT(with({"--ids", ids, "--scheme", "cap"}), HasSubstr("window"));
  EXPECT_THAT(with({"--ids", ids, "--scheme", ""}), StartsWith("ropewalk: "));
  EXPECT_THAT(with({"--ids", ids, "--layer-scheme", "cap,window=9"}),
              HasSubstr("FIRST:LAST=SCHEME"));
  EXPECT_THAT(with({"--ids", ids, "--layer-scheme", "2:3=rope"}), HasSubstr("0:1"));
  EXPECT_THAT(with({"--ids", ids, "--layer-scheme", "1:0=rope"}), HasSubstr("1:0"));
  EXPECT_THAT(with({"--ids", ids, "--layer-scheme", "0:x=rope"}), HasSubstr("0:x=rope"));
  EXPECT_THAT(with_ids("[1, 272]"), HasSubstr("272"));
  EXPECT_THAT(with_ids("[1, -4]"), HasSubstr("-4"));
  EXPECT_THAT(with_ids("[1, 2.5]"), HasSubstr("2.5"));
  EXPECT_THAT(with_ids("[1, 99999999999]"), HasSubstr("99999999999"));
  EXPECT_THAT(with_ids("[1, 18446744073709551615]"), HasSubstr("18446744073709551615"));
  EXPECT_THAT(with_ids("{\"ids\": [1]}"), HasSubstr("array"));
  EXPECT_THAT(with_ids("[1, 2"), HasSubstr("wrong.json"));
  EXPECT_THAT(with_ids("[1]"), HasSubstr("at least two"));
  EXPECT_THAT(with_ids("[]"), HasSubstr("at least two"));
  EXPECT_THAT(with_ids(""), HasSubstr("wrong.json"));
  // An empty text is its BOS alone.
  EXPECT_THAT(with({"--text", file("empty", "")}),
              AllOf(HasSubstr("/empty: must give at least two tokens")));
  EXPECT_THAT(with({"--text", folder() + "/no-such-text"}), HasSubstr("no-such-text"));
  EXPECT_THAT(with({"--ids", folder() + "/no-such-ids"}), HasSubstr("no-such-ids"));
  EXPECT_THAT(with({"--text", folder()}), HasSubstr(folder()));
  EXPECT_THAT(with({"--ids", folder()}), HasSubstr(folder()));
  // Hugging Face directories bring no tokenizer that is read.
  EXPECT_THAT(complaint({"losses", tiny_hf_, "--text", ids}), HasSubstr("give token ids"));
}

TEST_F(Command, FilesThatAreNoModelAreNamed) {
  const std::string ids = file("ids.json", "[1, 5, 6]");
  file("other.txt", "no model");
  for (const std::string command : {"losses", "generate", "check", "show"}) {
    const auto say = [&](const std::string& model) {
      std::vector<std::string> words = {command, model};
      if (command == "check") {  // a fault is what it is asked for
        const RunResult result = run(words);
        EXPECT_EQ(result.status, 1) << result.err;
        EXPECT_THAT(result.err, IsEmpty());
        return result.out;
      }
      if (command == "losses") words.insert(words.end(), {"--ids", ids});
      if (command == "generate") words.insert(words.end(), {"-p", "a"});
      return complaint(words);
    };
    SCOPED_TRACE(command);
    EXPECT_THAT(say(folder() + "/nothing.gguf"), HasSubstr("nothing.gguf"));
    EXPECT_THAT(say(folder()), HasSubstr("config.json"));
    EXPECT_THAT(say(file("empty.gguf", "")), HasSubstr("empty.gguf"));
    EXPECT_THAT(say(folder() + "/other.txt"), HasSubstr("other.txt"));
    // Cut off in the middle of its tensors: enough for `show`, which needs the header alone.
    const std::string cut = file("cut.gguf", read_file(tiny_).substr(0, 40000));
    if (command != "show") {
      EXPECT_THAT(say(cut), HasSubstr("cut.gguf"));
    }
    EXPECT_THAT(say(file("header.gguf", read_file(tiny_).substr(0, 100))),
                HasSubstr("header.gguf"));
  }
}

// ---- generate

TEST_F(Command, GenerateIsDeterminedByItsInput) {
  const std::vector<std::string> words = {"generate", tiny_, "-p", "the", "-n", "12"};
  const RunResult first = run(words);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith("the"));
  EXPECT_EQ(run(words).out, first.out);
  std::vector<std::string> one_thread = words;
  one_thread.insert(one_thread.end(), {"--threads", "1"});
  EXPECT_EQ(run(one_thread).out, first.out);
}

TEST_F(Command, GenerateCountsItsTokens) {
  const auto tokens = [&](const std::string& count, const std::string& prompt) {
    return run_json({"generate", tiny_, "-p", prompt, "-n", count});
  };
  const json none = tokens("0", "the");
  EXPECT_EQ(none["tokens"].size(), none["prompt_tokens"]);
  EXPECT_EQ(none["tokens"][0], 1);
  const json some = tokens("5", "the");
  EXPECT_LE(some["tokens"].size(), none["tokens"].size() + 5);
  EXPECT_EQ(some["prompt_tokens"], none["prompt_tokens"]);
  EXPECT_EQ(tokens("0", "")["tokens"], json({1}));
  // Past the trained length of 128.
  EXPECT_EQ(run({"generate", tiny_, "-p", "the", "-n", "150", "--scheme", "dynamic_ntk"}).status,
            0);
}

TEST_F(Command, GenerateSaysWhatIsWrong) {
  EXPECT_THAT(complaint({"generate", tiny_}), HasSubstr("--prompt"));
  EXPECT_THAT(complaint({"generate", tiny_, "-p", "a", "-n", "-1"}), HasSubstr("--count"));
  EXPECT_THAT(complaint({"generate", tiny_hf_, "-p", "a"}), HasSubstr("tokenizer"));
}

TEST_F(Command, GenerateGivesTheReferenceText) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const std::string wanted =
      exact_values::read_json(*shared / "reference" / "tokenizer_greedy.json")["greedy_text"];
  const std::string model = (*shared / "models" / "stories260K.gguf").string();
  const std::string prompt = "Once upon a time";
  const RunResult result = run({"generate", model, "-p", prompt, "-n", "120"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string got = result.out.substr(0, result.out.find_last_not_of('\n') + 1);
  EXPECT_GT(got.size(), prompt.size() + 100);
  EXPECT_THAT(wanted, StartsWith(got.substr(0, wanted.size())));
}

// ---- map

TEST_F(Command, MapGivesEffectiveDistances) {
  const json map = run_json({"map", "cap,window=5", "--n", "9"});
  EXPECT_EQ(map["scheme"], "cap,window=5");
  EXPECT_EQ(map["query"], 8);
  EXPECT_EQ(map["distance"], json({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(map["effective"], json({0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0}));
  EXPECT_EQ(map["seen"].size(), 9u);
  const json window = run_json({"map", "window,size=3", "--n", "5"});
  EXPECT_EQ(window["seen"], json({true, true, true, false, false}));
  EXPECT_EQ(window["effective"], json({0.0, 1.0, 2.0, nullptr, nullptr}));
  // wavelengths of 6.3, 62.8, 628 and 6283 tokens
  const json mask = run_json({"map", "full_turn", "--n", "101", "--rotary-dim", "8"});
  EXPECT_EQ(mask["heard_pairs"][6], 4);
  EXPECT_EQ(mask["heard_pairs"][7], 3);
  EXPECT_EQ(mask["heard_pairs"][62], 3);
  EXPECT_EQ(mask["heard_pairs"][63], 2);
}

TEST_F(Command, MapPrintsATableAtAnyLength) {
  const RunResult table = run({"map", "log_tail,window=256", "--n", "1048576"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("1048575"), HasSubstr("effective")));
  EXPECT_EQ(run({"map", "leaky,window=256,divisor=8", "--n", "1099511627776"}).status, 0);
}

// SCH-02: what a window and a group give.
TEST_F(Command, MapSaysHowLongATextFits) {
  const auto reach = [this](const std::string& scheme, const std::string& tokens) {
    return run({"map", scheme, "--n", tokens, "--trained-length", "4096"}).out;
  };
  const std::string grouped = "self_extend,window=1024,group=4";
  EXPECT_THAT(reach(grouped, "13312"), HasSubstr("farthest distance among 13312 tokens: 4095\n"));
  EXPECT_THAT(reach(grouped, "13313"), HasSubstr("for up to 13312 tokens"));
  EXPECT_THAT(run_json({"map", grouped, "--n", "8192"})["farthest"], 2815.0);
  EXPECT_THAT(reach("dca", "100000"), HasSubstr("farthest distance among 100000 tokens: 4095\n"));
  EXPECT_THAT(reach("jet_long,window=256", "30000"), HasSubstr("tokens: 3749\n"));
}

TEST_F(Command, MapRefusesALongTextThatDoesNotFit) {
  const auto look = [this](const std::string& scheme, const std::string& tokens) {
    return run({"map", scheme, "--n", tokens, "--trained-length", "4096"});
  };
  for (const char* const scheme : {"rope", "leaky,window=256,divisor=8", "window,size=8192"}) {
    for (const char* const tokens : {"65536", "2000000"}) {
      EXPECT_EQ(look(scheme, tokens).status, 1) << scheme << " " << tokens;
    }
  }
  EXPECT_THAT(look("window,size=8192", "16384").out, HasSubstr("tokens: 8191; below"));
  const RunResult windowed = look("window,size=1024", "2000000");
  EXPECT_EQ(windowed.status, 0);
  EXPECT_THAT(windowed.out, HasSubstr("among 2000000 tokens: 1023\n"));
  const RunResult capped = look("cap,window=256", "2000000");
  EXPECT_EQ(capped.status, 0);
  EXPECT_THAT(capped.out, HasSubstr("longer texts are not looked at"));
}

TEST_F(Command, HelpThatDoesNotComeThroughIsAFailure) {
  for (const char* const words : {"--help", "show --help", "--version"}) {
    const int full = std::system((quoted(kProgram) + " " + words + " >/dev/full 2>&1").c_str());
    EXPECT_NE(full, 0) << words;
    const int whole = std::system((quoted(kProgram) + " " + words + " >/dev/null").c_str());
    EXPECT_EQ(whole, 0) << words;
  }
}

// On a busy machine spinning makes generation a hundred times slower.
TEST_F(Command, WaitingThreadsDoNotSpinUnlessTold) {
  const auto shown = [&](const std::string& environment) {
    const std::string out = file("environment", "");
    const std::string line = environment + " OMP_DISPLAY_ENV=verbose " + quoted(kProgram) +
                             " --version >/dev/null 2>" + quoted(out);
    EXPECT_EQ(std::system(line.c_str()), 0);
    return read_file(out);
  };
  const std::string still = "GOMP_SPINCOUNT = '0'";
  const std::string by_itself = shown("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME");
  if (by_itself.find("GOMP_SPINCOUNT") == std::string::npos) GTEST_SKIP() << "another OpenMP";
  EXPECT_THAT(by_itself, HasSubstr(still));
  EXPECT_THAT(shown("env OMP_WAIT_POLICY=active"), testing::Not(HasSubstr(still)));
  EXPECT_THAT(shown("env -u OMP_WAIT_POLICY KMP_BLOCKTIME=200"), testing::Not(HasSubstr(still)));
}

TEST_F(Command, RunsThroughALoader) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(loader)) GTEST_SKIP() << "no " << loader;
  const RunResult version = run_line("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME " +
                                     loader + " " + quoted(kProgram) + " --version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out, run({"--version"}).out);
}

TEST_F(Command, WhatIsWrongIsSaidInOurWords) {
  const std::string loop = file("loop.gguf", "");
  std::filesystem::remove(loop);
  std::filesystem::create_symlink("loop.gguf", loop);
  for (const char* const command : {"show", "generate"}) {
    std::vector<std::string> words = {command, loop};
    if (std::string(command) == "generate") words.insert(words.end(), {"-p", "x"});
    EXPECT_THAT(complaint(words), HasSubstr(loop + ": must be readable")) << command;
  }
  EXPECT_THAT(complaint({"show", file("big.json", "{\"rope_theta\": 1e999}")}),
              AllOf(HasSubstr("got 1e999"), testing::Not(HasSubstr("json.exception"))));
}

TEST_F(Command, LossesSayTheSchemesOfLayers) {
  const std::string ids = file("few.json", "[1, 5, 6]");
  EXPECT_THAT(run({"losses", tiny_, "--ids", ids, "--layer-scheme", "0:0=cap,window=9"}).out,
              HasSubstr("scheme declared, layers 0:0=cap,window=9;"));
}

TEST_F(Command, ExtendLooksAtSchemesFirst) {
  const std::string study = file("study.db", "");
  std::filesystem::remove(study);
  for (const std::string scheme : {"yarn,factr=3", "proportional,rotating=4000"}) {
    complaint({"extend", tiny_, "--to", "512", "--ids", file("i.json", "[1, 2]"), "--study", study,
               "--scheme", scheme});
    EXPECT_FALSE(std::filesystem::exists(study)) << scheme;
  }
}

TEST_F(Command, MapRefusesATextBeyondItsReach) {
  const auto refused = [this](const std::string& scheme, const std::string& trained,
                              const std::string& tokens) {
    return run({"map", scheme, "--n", tokens, "--trained-length", trained});
  };
  const std::string grouped = "self_extend,window=1024,group=4";
  EXPECT_EQ(refused(grouped, "4096", "13312").status, 0);
  const RunResult beyond = refused(grouped, "4096", "13313");
  EXPECT_EQ(beyond.status, 1);
  EXPECT_THAT(beyond.err, AllOf(HasSubstr("--n: must be at most 13312"), HasSubstr("got 13313")));
  EXPECT_EQ(refused("self_extend,window=1024,group=2", "2048", "3072").status, 0);
  EXPECT_EQ(refused("self_extend,window=1024,group=2", "2048", "3073").status, 1);
  EXPECT_EQ(run({"map", grouped, "--n", "13313"}).status, 0);
}

TEST_F(Command, MapSaysWhatIsWrong) {
  EXPECT_THAT(
      complaint({"map", "string", "--n", "5"}),
      HasSubstr("shift of 1, a third of the trained length, got 128, which is its default"));
  EXPECT_THAT(complaint({"map"}), HasSubstr("SCHEME"));
  EXPECT_THAT(complaint({"map", "cap,window=-1"}), HasSubstr("window"));
  EXPECT_THAT(complaint({"map", "cap,window=5+leaky,window=5,divisor=2"}), HasSubstr("leaky"));
  EXPECT_THAT(complaint({"map", "rope", "--n", "0"}), HasSubstr("--n"));
  EXPECT_THAT(complaint({"map", "rope", "--rotary-dim", "7"}), HasSubstr("must be even"));
}

// ---- check

TEST_F(Command, CheckPassesWholeFiles) {
  for (const std::string& model : {tiny_, tiny_hf_, fixture("tiny_llama_sharded")}) {
    const RunResult result = run({"check", model});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("all finite"), HasSubstr("without --text")));
  }
}

TEST_F(Command, CheckNamesTheTensorThatHoldsNoNumber) {
  const GgufFile gguf = GgufFile::open(tiny_);
  const TensorInfo* const info = gguf.find_tensor("blk.1.ffn_norm.weight");
  ASSERT_NE(info, nullptr);
  ASSERT_EQ(info->type, TensorType::kF32);
  std::string bytes = read_file(tiny_);
  const float wrong = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + info->offset + 4 * sizeof(float), &wrong, sizeof(wrong));
  const RunResult result = run({"check", file("damaged.gguf", bytes)});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("blk.1.ffn_norm.weight"), HasSubstr("nan"), HasSubstr("column 4")));
}

TEST_F(Command, CheckCallsWeightsThatKnowNothingByName) {
  const std::string text =
      file("text", "the heat is on the other side of the island, and the rain is here");
  const RunResult result = run({"check", tiny_, "--text", text});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("do not fit this architecture"));
  const RunResult tiny = run({"check", tiny_, "--text", file("short", "the heat")});
  EXPECT_EQ(tiny.status, 1);
  EXPECT_THAT(tiny.out, AllOf(HasSubstr("too short"), testing::Not(HasSubstr("do not fit"))));
  EXPECT_THAT(run({"check", tiny_, "--text", file("empty", "")}).out,
              HasSubstr("/empty: must give at least two tokens"));
}

TEST_F(Command, CheckTellsTheRightModelFromItsBrokenTwin) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const std::string text =
      file("story",
           "Once upon a time, there was a little girl named Lily. She loved to play outside in the "
           "park. One day, she saw a big, red ball. She wanted to play with it, but it was too "
           "high.\nLily's mom said, \"Lily, let's go to the park.\"\n");
  const RunResult right =
      run({"check", (*shared / "models" / "stories260K.gguf").string(), "--text", text});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("the weights fit this architecture"));
  const RunResult broken =
      run({"check", (*shared / "models" / "broken" / "stories260K-transposed.gguf").string(),
           "--text", text});
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.out, HasSubstr("the weights do not fit this architecture"));
}

// ---- show

TEST_F(Command, ShowDescribesEveryForm) {
  for (const std::string& model :
       {tiny_, tiny_hf_, fixture("tiny_llama_hf/config.json"), fixture("tiny_llama_sharded")}) {
    SCOPED_TRACE(model);
    const json shown = run_json({"show", model});
    EXPECT_EQ(shown["architecture"], "llama");
    EXPECT_EQ(shown["layers"], 2);
    EXPECT_EQ(shown["runs"], true);
    ASSERT_EQ(shown["groups"].size(), 1u);
    EXPECT_EQ(shown["groups"][0]["scheme"], "rope");
    const json& rotary = shown["groups"][0]["rotary"];
    EXPECT_EQ(rotary["trained_length"], 128);
    EXPECT_EQ(rotary["layout"]["order"], model == tiny_ ? "interleaved" : "half");
    const json& pairs = rotary["spectra"][0]["pairs"];
    ASSERT_EQ(pairs.size(), 4u);
    EXPECT_NEAR(pairs[3]["inv_freq"].get<double>(), 0.001, 1e-12);
    EXPECT_THAT(run({"show", model}).out, HasSubstr("trained length L = 128"));
    EXPECT_EQ(run({"show", model, "--pairs"}).status, 0);
  }
}

// ---- the command itself

TEST_F(Command, HelpAndVersion) {
  EXPECT_THAT(run({"--version"}).out, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const RunResult help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const std::string command : {"show", "check", "compare", "losses", "generate", "map"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const RunResult own = run({command, "--help"});
    EXPECT_EQ(own.status, 0);
    EXPECT_THAT(own.out, HasSubstr("--help"));
  }
  EXPECT_THAT(complaint({}), HasSubstr("subcommand"));
  EXPECT_THAT(complaint({"loses"}), Not(IsEmpty()));
}

}  // namespace
}  // namespace ropewalk
