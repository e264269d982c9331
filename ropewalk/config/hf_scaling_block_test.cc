// Both forms in one file: rope_scaling beside rope_parameters.
#include "ropewalk/config/hf_scaling_block.h"

#include <gmock/gmock.h>

#include "ropewalk/config/hf_test_support.h"

namespace ropewalk {
namespace {

using namespace reports;
using testing::HasSubstr;

const Json kFlat = {{"rope_type", "linear"}, {"factor", 8.0}};
const Json kNested = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8}}},
                      {"sliding_attention", {{"rope_type", "default"}}}};

Json both(const Json& legacy, const Json& modern) {
  Json config = gemma3("null");
  config["rope_scaling"] = legacy;
  config["rope_parameters"] = modern;
  for (const char* label : {"full_attention", "sliding_attention"}) {
    for (const char* form : {"rope_scaling", "rope_parameters"}) {
      if (config[form].contains(label)) config[form][label]["rope_theta"] = 1e4;
    }
  }
  return config;
}

TEST(HfScalingBlock, FormsThatSayTheSameAreTaken) {
  for (const auto& [legacy, modern] : {std::pair(kFlat, kNested), std::pair(kNested, kFlat),
                                       std::pair(kNested, kNested), std::pair(kFlat, kFlat)}) {
    const ModelConfig config = read(both(legacy, modern));
    EXPECT_EQ(config.groups[config.group_of_layer[5]].scheme, "linear,factor=8")
        << legacy << modern;
    EXPECT_EQ(config.groups[config.group_of_layer[0]].scheme, "rope+window,size=1024")
        << legacy << modern;
  }
}

TEST(HfScalingBlock, FormsThatDifferAreRefusedByLabel) {
  const std::string same = "rope_scaling: must say the same as rope_parameters";
  Json other = kNested;
  other["full_attention"]["factor"] = 4;
  EXPECT_THAT(refusal(both(kNested, other)), HasSubstr(same + " of full_attention"));
  EXPECT_THAT(refusal(both(other, kNested)), HasSubstr(same + " of full_attention"));
  EXPECT_THAT(refusal(both(kFlat, other)), HasSubstr(same + " of full_attention"));
  EXPECT_THAT(refusal(both(other, kFlat)), HasSubstr(same + " of full_attention"));
  other = kNested;
  other["sliding_attention"] = kFlat;
  EXPECT_THAT(refusal(both(kNested, other)), HasSubstr(same + " of sliding_attention"));
  other.erase("sliding_attention");
  EXPECT_THAT(refusal(both(other, kNested)), HasSubstr(same));
  Json config = both(kNested, kNested);
  config["rope_scaling"]["full_attention"]["rope_theta"] = 2e4;
  EXPECT_THAT(refusal(config), HasSubstr("of full_attention, here rope_theta"));
}

TEST(HfScalingBlock, AFlatFormIsNotLostWithoutFullAttention) {
  Json sliding = kNested;
  sliding.erase("full_attention");
  EXPECT_THAT(refusal(both(kFlat, sliding)), HasSubstr("no block of full_attention holds it"));
}

}  // namespace
}  // namespace ropewalk
