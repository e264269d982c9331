#include "ropewalk/formats/json_edit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// `text` after `change`; what it parses to must be what was asked for.
template <typename Change>
std::string edited(const std::string& text, Change change) {
  const Json before = parse_json(text, "test");
  Json after = before;
  change(after);
  const std::string result = edited_json(text, before, after);
  EXPECT_EQ(nlohmann::json::parse(result), nlohmann::json(after)) << result;
  return result;
}

TEST(JsonEdit, KeepsOrderSpacesAndSpelling) {
  EXPECT_EQ(edited("{\n  \"b\": 1E-05,\n\t\"a\" : 10000.0 ,\n  \"c\": [1,2]\n}\n",
                   [](Json& json) { json["a"] = 5; }),
            "{\n  \"b\": 1E-05,\n\t\"a\" : 5,\n  \"c\": [1,2]\n}\n");
  EXPECT_EQ(edited("{\"b\": 1.50}", [](Json&) {}), "{\"b\": 1.50}");
}

TEST(JsonEdit, EqualNumbersKeepTheirSpelling) {
  EXPECT_EQ(edited("{\"a\": 4, \"b\": 1}",
                   [](Json& json) {
                     json["a"] = 4.0;
                     json["b"] = 2;
                   }),
            "{\"a\": 4, \"b\": 2}");
}

TEST(JsonEdit, WhatIsNewComesLastLaidOutAsItsNeighbours) {
  EXPECT_EQ(edited("{\n    \"a\": 1\n}",
                   [](Json& json) {
                     json["b"] = {{"c", 2}};
                   }),
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}");
  EXPECT_EQ(edited("{\"a\": 1}",
                   [](Json& json) {
                     json["b"] = {{"c", 2}};
                   }),
            "{\"a\": 1,\"b\": {\"c\":2}}");
  EXPECT_EQ(edited("{}", [](Json& json) { json["b"] = 1; }), "{\"b\": 1}");
}

TEST(JsonEdit, ChangesInsideObjectsAndRemoves) {
  EXPECT_EQ(edited("{\"x\": {\"p\": 1, \"q\": 2e0, \"r\": \"}\\\"{\"}, \"y\": null}",
                   [](Json& json) {
                     json["x"].erase("p");
                     json["x"]["r"] = true;
                   }),
            "{\"x\": { \"q\": 2e0, \"r\": true}, \"y\": null}");
  EXPECT_EQ(edited("{\"x\": 1}", [](Json& json) { json.erase("x"); }), "{}");
  EXPECT_EQ(edited("{\"x\": {\"p\": 1}, \"y\": 2}", [](Json& json) { json["x"] = nullptr; }),
            "{\"x\": null, \"y\": 2}");
}

}  // namespace
}  // namespace ropewalk
