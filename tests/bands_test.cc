// `ropewalk bands` as its user meets it.
#include <cmath>

#include "ropewalk/config/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

class Bands : public ProgramTest {
 protected:
  static std::string model() { return fixture("tiny_llama.gguf"); }
  std::string book() const {
    std::string text;
    for (int k = 0; k < 60; ++k)
      text += "Line " + std::to_string(k * 7919 % 1000) + (k % 7 == 0 ? ".\n\n" : " of a text. ");
    return file("book.txt", text);
  }
};

TEST_F(Bands, TellsAllOfItAsJson) {
  const Json json = run_json({"bands", model(), "--text", book(), "--to", "700"});
  EXPECT_EQ(json["trained_length"], 128);
  EXPECT_EQ(json["target_length"], 700);
  EXPECT_EQ(json["calibration_tokens"],
            127);  // one window of the trained length, less its first token
  EXPECT_EQ(json["queries"], 64);
  const Json& bias = json["bias"];
  EXPECT_EQ(bias["distances"].front(), 0);
  EXPECT_EQ(bias["distances"].back(), 700);
  ASSERT_EQ(bias["layers"].size(), 2u);
  EXPECT_EQ(bias["layers"][0]["kind"], "open");
  ASSERT_EQ(bias["heads"].size(), 8u);
  for (const Json& head : bias["heads"]) {
    EXPECT_EQ(head["weight"].size(), 4u);
    EXPECT_EQ(head["curve"].size(), bias["distances"].size());
    EXPECT_LE(head["lowest_inside"], head["highest_inside"]);
    EXPECT_TRUE(head["collapse"].is_null() || head["collapse"] > 128);
  }
  ASSERT_EQ(json["heads"].size(), 8u);
  for (const Json& head : json["heads"]) {
    double attention = head["own_attention"].get<double>() + head["first_attention"].get<double>();
    double related = attention;
    for (const auto& [name, group] : head["distances"].items()) {
      attention += group["attention"].get<double>();
      double share = 0;
      for (const Json& pair : group["share"]) share += pair.get<double>();
      EXPECT_NEAR(share, 1, 1e-4) << name;
    }
    for (const auto& [name, group] : head["relations"].items())
      related += group["attention"].get<double>();
    EXPECT_NEAR(attention, 1, 1e-4);
    EXPECT_NEAR(related, 1, 1e-4);
  }
  EXPECT_TRUE(json["distances"].contains("10-99"));
  EXPECT_TRUE(json["relations"].contains("same sentence"));
  EXPECT_GT(json["loss"]["declared"]["mean"], 0);
  EXPECT_FALSE(json["verdict"].empty());
}

TEST_F(Bands, DoesNotDependOnThreads) {
  const std::vector<std::string> words = {"bands", model(), "--text", book(), "--queries", "9"};
  const auto with = [&](const std::string& threads) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--threads", threads});
    return run_json(all);
  };
  EXPECT_EQ(with("1"), with("3"));
  std::vector<std::string> other = words;
  other.insert(other.end(), {"--seed", "2"});
  EXPECT_NE(run_json(words)["heads"], run_json(other)["heads"]);
}

TEST_F(Bands, ShowsThePage) {
  const RunResult page = run({"bands", model(), "--text", book()});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("Bias curve B(d), median over 8 heads"));
  EXPECT_THAT(page.out, HasSubstr("L=128"));
  EXPECT_THAT(page.out, HasSubstr("turned before"));
  EXPECT_THAT(page.out, HasSubstr("same paragraph"));
  EXPECT_THAT(page.out, HasSubstr("needed far away"));
}

TEST_F(Bands, IdsWithoutATokenizerHaveNoSentences) {
  std::string ids = "[3";
  for (int id = 4; id < 200; ++id) ids += ", " + std::to_string(id);
  const Json json =
      run_json({"bands", fixture("tiny_llama_hf"), "--ids", file("ids.json", ids + "]")});
  EXPECT_TRUE(json["relations"].empty());
  EXPECT_TRUE(json["distances"].contains("1-9"));
}

TEST_F(Bands, RefusesWhatItCannotDo) {
  const auto said = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bands", model(), "--text", book()};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run(words);
    EXPECT_EQ(result.status, 1);
    return result.err;
  };
  EXPECT_THAT(said({"--length", "129"}),
              HasSubstr("--length: must be at most the trained length of 128"));
  EXPECT_THAT(said({"--to", "128"}), HasSubstr("--to: must be beyond the trained length of 128"));
}

}  // namespace
}  // namespace ropewalk
