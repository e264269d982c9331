#include "ropewalk/formats/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  return message_of([&] { parse_json(text, "config.json"); });
}

TEST(JsonFile, ReadsAConfiguration) {
  const nlohmann::ordered_json config = load_json(fixture("tiny_llama_hf/config.json"));
  EXPECT_EQ(config.at("hidden_size"), 32);
  EXPECT_EQ(config.at("rope_theta"), 10000.0);
  EXPECT_TRUE(config.at("rope_scaling").is_null());
  EXPECT_EQ(config.begin().key(), "architectures");
}

TEST(JsonFile, BuildsWhatTheLibraryBuilds) {
  for (const std::string_view text :
       {"null", "true", "-1", "1.5", "\"\\u2581x\"", "[]", "{}", "[[1, [2]], {}]",
        "\xef\xbb\xbf[1]",
        R"({"b": [1, -2, {"x": {"y": [[], {}]}, "z": null}], "a": "s", "": {"b": 1}})"}) {
    EXPECT_EQ(parse_json(text, "t").dump(), nlohmann::ordered_json::parse(text).dump()) << text;
  }
}

TEST(JsonFile, KeepsIntegersExact) {
  const auto numbers = parse_json("[18446744073709551615, -9223372036854775808, 1.0]", "t");
  EXPECT_TRUE(numbers[0].is_number_unsigned());
  EXPECT_EQ(numbers[0].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(numbers[1].get<int64_t>(), INT64_MIN);
  EXPECT_TRUE(numbers[2].is_number_float());
  // Tokenizers write their missing length limit so.
  EXPECT_EQ(parse_json("1000000000000000019884624838656", "t").get<double>(), 1e30);
}

TEST(JsonFile, RefusesWhatIsNotJson) {
  EXPECT_THAT(refusal(""), HasSubstr("config.json: line 1, column 1: must be JSON"));
  EXPECT_THAT(refusal("{\n  \"a\": 1,\n  \"b\" 2}"), HasSubstr("line 3, column 7"));
  EXPECT_THAT(refusal("{} x"), HasSubstr("must be JSON"));
  EXPECT_THAT(refusal("1e999"), HasSubstr("must be JSON"));
  EXPECT_THAT(refusal("\"\xff\""), HasSubstr("must be JSON"));
  EXPECT_THAT(refusal("[1,]"), HasSubstr("must be JSON"));
}

TEST(JsonFile, NamesPythonsNumbers) {
  EXPECT_THAT(refusal("{\"a\": NaN}"),
              AllOf(HasSubstr("line 1, column 7"), HasSubstr("no NaN and no Infinity, got NaN")));
  EXPECT_THAT(refusal("[Infinity]"), HasSubstr("got Infinity"));
  EXPECT_THAT(refusal("[-Infinity]"), HasSubstr("got Infinity"));
  EXPECT_THAT(refusal("[Nope]"), HasSubstr("must be JSON, got"));
}

TEST(JsonFile, RefusesAKeyThatComesTwice) {
  EXPECT_THAT(refusal(R"({"rope": {"theta": 1, "x": 2, "theta": 3}})"),
              HasSubstr("key \"theta\": must come once"));
  EXPECT_NO_THROW(parse_json(R"([{"a": 1}, {"a": 2}, {"b": {"a": 1}, "a": 1}])", "t"));
}

TEST(JsonFile, BoundsDepthAndSize) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "t"));
  EXPECT_THAT(refusal(nested(kMaxJsonDepth + 1)), HasSubstr("must nest at most 64 levels"));
  EXPECT_THAT(refusal(std::string(10'000'000, '[')), HasSubstr("must nest at most 64 levels"));
  EXPECT_THAT(message_of([] { parse_json("[1, 2]", "t", 5); }),
              HasSubstr("at most 5 bytes, got 6"));
}

TEST(JsonFile, TakesManyKeysInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  text.back() = '}';
  EXPECT_EQ(parse_json(text, "t").size(), 200'000u);
}

}  // namespace
}  // namespace ropewalk
