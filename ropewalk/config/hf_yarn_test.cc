// Magnitudes of YaRN that only vLLM's keys change.
#include "ropewalk/config/hf_test_support.h"

namespace ropewalk {
namespace {

using namespace reports;

double amplitude(Json keys) {
  keys.update({{"factor", 4}, {"original_max_position_embeddings", 4096}});
  return spectrum_at(read(llama(64, 10000, 16384, keys.dump().c_str())), 1).amplitude;
}

double magnitude(double k, double coefficient = 0.1) { return 1 + coefficient * k * std::log(4); }

TEST(HfYarn, AttnFactorMultipliesTheMagnitude) {
  EXPECT_NEAR(amplitude({{"type", "yarn"}, {"attn_factor", 1.5}}), 1.5 * magnitude(1), 1e-14);
  EXPECT_NEAR(amplitude({{"type", "telechat3-yarn"}, {"attn_factor", 1.5}}),
              1.5 * magnitude(1, 0.07), 1e-14);
  for (const char* type : {"yarn", "deepseek_yarn"}) {
    EXPECT_NEAR(
        amplitude(
            {{"type", type}, {"attn_factor", 1.5}, {"mscale", 0.707}, {"mscale_all_dim", 0.5}}),
        1.5 * magnitude(0.707) / magnitude(0.5), 1e-14)
        << type;
    EXPECT_NEAR(amplitude({{"type", type}, {"attn_factor", 1.5}, {"mscale", 1}}),
                1.5 * magnitude(1), 1e-14)
        << type;
  }
}

TEST(HfYarn, WithoutYarnScalingAttnFactorIsAll) {
  const Json plain = {{"type", "yarn"}, {"apply_yarn_scaling", false}};
  EXPECT_EQ(amplitude(plain), 1);
  Json keys = plain;
  keys["attn_factor"] = 1.5;
  EXPECT_EQ(amplitude(keys), 1.5);
  keys["apply_yarn_scaling"] = true;
  EXPECT_NEAR(amplitude(keys), 1.5 * magnitude(1), 1e-14);
  keys["attention_factor"] = 1.25;
  EXPECT_EQ(amplitude(keys), 1.25);
}

TEST(HfYarn, TheAmplitudeTellsItsKey) {
  const ModelConfig config = read(llama(64, 10000, 16384, R"({"type": "yarn", "factor": 4,
      "original_max_position_embeddings": 4096, "attn_factor": 2})"));
  ASSERT_NE(find_field(config, "attention_factor"), nullptr);
  EXPECT_NE(find_field(config, "attention_factor")->from.find("rope_scaling.attn_factor"),
            std::string::npos);
}

}  // namespace
}  // namespace ropewalk
