// Distance maps that go by chunks against the shared golden files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::read_json;
using exact_values::shared_folder;
using nlohmann::json;

struct Case {
  const char* file;
  const char* scheme;
  std::vector<const char*> fields;  // the scheme's parameters by the file's names
};

std::string scheme_text(const Case& c, const json& golden) {
  std::string text = c.scheme;
  const char* separator = ",";
  for (const char* field : c.fields) {
    const std::string name = field;
    const std::string parameter = name == "chunk_size"   ? "chunk"
                                  : name == "local_size" ? "local"
                                  : name == "grp_attn_n" ? "group"
                                                         : "window";
    text += separator + parameter + "=" + std::to_string(golden.at(name).get<int64_t>());
  }
  return text;
}

TEST(GoldenDistance, ChunksAreExact) {
  const auto shared = shared_folder();
  if (!shared) GTEST_SKIP() << "no ../shared: the golden values of other projects are not tested";
  const Rotary declared = plain_rotary(
      {.base = 10000.0, .frequency_dim = 8, .trained_length = 4096}, {PairOrder::kHalf, 8, 8});
  for (const Case& c :
       {Case{"dca__c8_l2", "dca", {"chunk_size", "local_size"}},
        Case{"dca__c8_l2", "dca_code", {"chunk_size", "local_size"}},
        Case{"llama_cpp_grp_attn__n2_w4", "group_attention", {"grp_attn_n", "grp_attn_w"}}}) {
    const json golden = read_json(*shared / "golden/given" / (std::string(c.file) + ".json"));
    SCOPED_TRACE(scheme_text(c, golden));
    const DistanceMap map = apply_scheme(scheme_text(c, golden), declared).distance;
    const auto n = golden.at("n").get<int64_t>();
    ASSERT_EQ(std::ssize(golden.at("distance")), n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const auto wanted = golden.at("distance").at(i).at(j).get<int64_t>();
        EXPECT_EQ(map.at(i, j), DoubleDouble(wanted)) << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
