#include "ropewalk/config/portability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

constexpr TargetEngine kEngines[] = {TargetEngine::kLlamaCpp, TargetEngine::kVllm,
                                     TargetEngine::kTransformers};

ModelConfig model(const std::string& architecture = "llama") {
  return plain_gguf(architecture).positions();
}

std::string how(const std::string& scheme, TargetEngine engine,
                const std::string& architecture = "llama") {
  const Portability judged =
      judge_portability(model(architecture), ModelFormat::kGguf, scheme, engine);
  EXPECT_TRUE(judged.portable) << scheme << ": " << judged.why_not;
  EXPECT_EQ(judged.why_not, "");
  return judged.how;
}

std::string why_not(const std::string& scheme, TargetEngine engine,
                    const std::string& architecture = "llama") {
  const Portability judged =
      judge_portability(model(architecture), ModelFormat::kGguf, scheme, engine);
  EXPECT_FALSE(judged.portable) << scheme << ": " << judged.how;
  return judged.why_not;
}

TEST(Portability, NamesOfEnginesGoBothWays) {
  for (const TargetEngine engine : kEngines) {
    EXPECT_EQ(parse_target_engine(to_string(engine)), engine);
  }
  EXPECT_THAT(message_of([] { parse_target_engine("ollama"); }), HasSubstr("got ollama"));
}

TEST(Portability, LlamaCppSaysKeysWhereTheyAreExact) {
  const TargetEngine engine = TargetEngine::kLlamaCpp;
  EXPECT_EQ(how("rope", engine), "rope.scaling.type = none");
  EXPECT_EQ(how("base,factor=4", engine), "rope.freq_base");
  EXPECT_EQ(how("ntk,factor=8", engine), "rope.freq_base");
  EXPECT_EQ(how("linear,factor=8", engine), "rope.scaling.type = linear");
  EXPECT_EQ(how("yarn,factor=8", engine), "rope.scaling.type = yarn");
  EXPECT_EQ(how("yarn,factor=8,attention_factor=1", engine),
            "rope.scaling.type = yarn with rope.scaling.attn_factor");
  EXPECT_EQ(how("declared", engine), "as the file declares it");
}

TEST(Portability, NoEngineHasADecay) {
  for (const TargetEngine engine : kEngines) {
    EXPECT_THAT(why_not("xpos", engine), HasSubstr("must have no decay"));
    EXPECT_THAT(why_not("xpos,scale_base=1e12", engine), HasSubstr("must have no decay"));
  }
}

TEST(Portability, LlamaCppSaysTheRestInDivisors) {
  const TargetEngine engine = TargetEngine::kLlamaCpp;
  EXPECT_EQ(how("ntk_by_parts,factor=8", engine), "rope_freqs.weight");
  EXPECT_EQ(how("ntk_mixed,factor=8", engine), "rope_freqs.weight");
  EXPECT_EQ(how("llama3,factor=8,low=1,high=4", engine), "rope_freqs.weight");
  for (const char* yarn :
       {"yarn,factor=8,ramp=turns", "yarn,factor=8,truncate=false", "yarn,factor=8,beta_fast=16"}) {
    EXPECT_EQ(how(yarn, engine), "rope_freqs.weight with rope.scaling.attn_factor") << yarn;
  }
}

TEST(Portability, DivisorsNeedAnArchitectureThatLoadsThem) {
  for (const char* architecture : {"qwen2", "qwen3", "phi2", "gptneox", "falcon"}) {
    EXPECT_FALSE(llama_cpp_loads_rope_freqs(architecture));
    EXPECT_THAT(why_not("ntk_by_parts,factor=8", TargetEngine::kLlamaCpp, architecture),
                HasSubstr(architecture));
    EXPECT_EQ(how("yarn,factor=8", TargetEngine::kLlamaCpp, architecture),
              "rope.scaling.type = yarn");
  }
  for (const char* architecture : {"llama", "arcee", "granite", "gemma4", "mistral", "mixtral"}) {
    EXPECT_TRUE(llama_cpp_loads_rope_freqs(architecture));
  }
}

TEST(Portability, NoEngineRunsWhatIsNoSpectrum) {
  for (const TargetEngine engine : kEngines) {
    EXPECT_THAT(why_not("cap,window=256", engine), HasSubstr("no key for a distance map"));
    EXPECT_THAT(why_not("full_turn", engine), HasSubstr("no key for a pair mask"));
    EXPECT_THAT(why_not("window,size=256", engine), HasSubstr("no key for a visibility"));
    EXPECT_THAT(why_not("yarn,factor=8+logn", engine), HasSubstr("scheme part logn"));
    EXPECT_NE(why_not("stale_dynamic_ntk", engine), "");
  }
}

TEST(Portability, DynamicIsTransformersAlone) {
  EXPECT_THAT(why_not("dynamic_ntk", TargetEngine::kLlamaCpp), HasSubstr("once"));
  EXPECT_THAT(why_not("dynamic_ntk,block=all", TargetEngine::kVllm), HasSubstr("once"));
  EXPECT_THAT(why_not("dynamic_ntk", TargetEngine::kTransformers), HasSubstr("block=all"));
  EXPECT_EQ(how("dynamic_ntk,block=all", TargetEngine::kTransformers), "rope_type = dynamic");
}

TEST(Portability, ConfigJsonHasATypeForMost) {
  for (const TargetEngine engine : {TargetEngine::kVllm, TargetEngine::kTransformers}) {
    EXPECT_EQ(how("rope", engine), "no rope_scaling");
    EXPECT_EQ(how("ntk,factor=8", engine), "rope_theta");
    EXPECT_EQ(how("linear,factor=8", engine), "rope_type = linear");
    EXPECT_EQ(how("yarn,factor=8", engine), "rope_type = yarn");
    EXPECT_EQ(how("llama3,factor=8,low=1,high=4", engine), "rope_type = llama3");
    EXPECT_EQ(how("yarn,factor=8,ramp=turns", engine), "rope_type = longrope with equal lists");
  }
}

// Two lists are chosen between by other rules than the scheme's, but in transformers.
TEST(Portability, LongRopeOfTwoListsIsTransformersAlone) {
  const auto scheme = [](const std::string& longer, const std::string& shorter) {
    const auto list = [](const std::string& divisor) {
      std::string text = divisor;
      for (int pair = 1; pair < 64; ++pair) text += ":" + divisor;
      return text;
    };
    return "longrope,long=" + list(longer) + ",short=" + list(shorter) + ",amplitude=1.25";
  };
  EXPECT_EQ(how(scheme("4", "1"), TargetEngine::kTransformers), "rope_type = longrope");
  EXPECT_THAT(why_not(scheme("4", "1"), TargetEngine::kVllm), HasSubstr("equal lists"));
  EXPECT_THAT(why_not(scheme("4", "1"), TargetEngine::kLlamaCpp), HasSubstr("equal lists"));
  EXPECT_EQ(how(scheme("4", "4"), TargetEngine::kLlamaCpp),
            "rope.scaling.type = linear with rope.scaling.attn_factor");
}

TEST(Portability, ThrowsWhatIsWrongWithTheSchemeItself) {
  EXPECT_THAT(message_of([] { how("yarn", TargetEngine::kLlamaCpp); }), HasSubstr("factor"));
  EXPECT_THAT(message_of([] { how("longrope,long=1,short=1", TargetEngine::kLlamaCpp); }),
              HasSubstr("one number for each"));
}

TEST(GgufForm, RoundsToFloat32AndTellsTheLengthCountedFrom) {
  const GgufForm base = gguf_form(model(), "ntk,factor=3.3");
  EXPECT_NEAR(base.freq_base, 33631.351, 0.002);  // 10000 * 3.3^(128 / 126)
  EXPECT_TRUE(base.divisors.empty());

  const GgufForm yarn = gguf_form(model(), "yarn,factor=4,original=1024");
  EXPECT_EQ(yarn.original_length, 1024);
  EXPECT_EQ(yarn.factor, 4.0F);
  EXPECT_EQ(yarn.amplitude, std::nullopt);

  const GgufForm parts = gguf_form(model(), "ntk_by_parts,factor=4");
  EXPECT_EQ(parts.original_length, 4096);
  ASSERT_EQ(parts.divisors.size(), 64u);
  EXPECT_EQ(parts.divisors.front(), 1.0F);
  EXPECT_EQ(parts.divisors.back(), 4.0F);
}

TEST(HfForm, SaysAnAmplitudeAsEachEngineReadsIt) {
  const std::string scheme = "yarn,factor=8,attention_factor=1.5";
  const auto ours = hf_form(model(), scheme, TargetEngine::kTransformers).block;
  EXPECT_EQ(ours["attention_factor"], 1.5);
  EXPECT_EQ(ours["original_max_position_embeddings"], 4096);
  const auto theirs = hf_form(model(), scheme, TargetEngine::kVllm).block;
  EXPECT_FALSE(theirs.contains("attention_factor"));
  EXPECT_NEAR(theirs["attn_factor"].get<double>(), 1.5 / 1.2079441541679836, 1e-12);
}

}  // namespace
}  // namespace ropewalk
