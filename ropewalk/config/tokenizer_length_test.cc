#include "ropewalk/config/tokenizer_length.h"

#include <gmock/gmock.h>

#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// What a model of 2048 tokens makes of a directory with this tokenizer_config.json.
ModelConfig beside(const std::string& tokenizer_config) {
  const TempDirectory folder;
  folder.write("tokenizer_config.json", tokenizer_config);
  ModelConfig config;
  config.usable_length = 2048;
  add_tokenizer_length(folder.path(), config);
  return config;
}

// gpt-j: tokenizer 1024, n_positions 2048.
TEST(TokenizerLength, IsAWarningWhereItDiffers) {
  const ModelConfig config = beside(R"({"model_max_length": 1024})");
  ASSERT_EQ(config.findings.size(), 1u);
  EXPECT_EQ(config.findings[0].severity, Finding::Severity::kWarning);
  EXPECT_THAT(config.findings[0].text, HasSubstr("1024"));
  EXPECT_THAT(config.findings[0].text, HasSubstr("2048"));
  EXPECT_EQ(config.usable_length, 2048);
  ASSERT_NE(find_field(config, "tokenizer_length"), nullptr);
  EXPECT_EQ(find_field(config, "tokenizer_length")->value, "1024");
}

TEST(TokenizerLength, OfTransformersForNoneIsUnset) {
  const ModelConfig config = beside(R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_THAT(config.findings, IsEmpty());
  EXPECT_EQ(find_field(config, "tokenizer_length")->value, "unset");
}

TEST(TokenizerLength, IsNothingWhereNobodySaysIt) {
  EXPECT_THAT(beside(R"({"model_max_length": 2048})").findings, IsEmpty());
  for (const char* silent : {"{}", R"({"model_max_length": null})", "[]"}) {
    EXPECT_THAT(beside(silent).fields, IsEmpty()) << silent;
  }
  ModelConfig config;
  const TempDirectory empty;
  add_tokenizer_length(empty.path(), config);
  EXPECT_THAT(config.fields, IsEmpty());
}

TEST(TokenizerLength, RefusesWhatIsNoLength) {
  EXPECT_THAT(message_of([] { beside(R"({"model_max_length": "long"})"); }),
              HasSubstr("model_max_length"));
  EXPECT_THAT(message_of([] { beside(R"({"model_max_length": 0})"); }), HasSubstr("at least 1"));
  EXPECT_THAT(message_of([] { beside("{"); }), HasSubstr("tokenizer_config.json"));
}

}  // namespace
}  // namespace ropewalk
