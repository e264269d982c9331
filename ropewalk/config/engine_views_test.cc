#include "ropewalk/config/engine_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/portability.h"
#include "ropewalk/math/alibi.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr TargetEngine kLlamaCpp = TargetEngine::kLlamaCpp;
constexpr TargetEngine kVllm = TargetEngine::kVllm;
constexpr TargetEngine kTransformers = TargetEngine::kTransformers;

// A model as a reader gives it, with one group of layers unless more are added.
class Model {
 public:
  Model(const std::string& architecture, const std::string& scheme, double base = 10000,
        int64_t width = 128, int64_t trained = 4096) {
    config_.architecture = architecture;
    source_ = {.base = base, .frequency_dim = width, .trained_length = trained};
    layout_ = {.order = PairOrder::kHalf, .head_dim = width, .rotary_dim = width};
    config_.usable_length = trained;
    add("", scheme);
  }
  Model& add(const std::string& name, const std::string& scheme) {
    LayerGroup group{.name = name, .scheme = scheme};
    group.rotary = apply_scheme(scheme, plain_rotary(source_, layout_));
    config_.groups.push_back(std::move(group));
    return *this;
  }
  Model& field(const std::string& name, const std::string& value, const std::string& from) {
    config_.fields.push_back({name, value, Provenance::kFile, from});
    return *this;
  }
  Model& usable(int64_t length) {
    config_.usable_length = length;
    return *this;
  }
  Model& context(int64_t length) {
    config_.context_length = length;
    return *this;
  }
  ModelConfig& config() { return config_; }

  std::vector<EngineView> views(TargetEngine engine, ModelFormat format = ModelFormat::kHuggingFace,
                                int64_t context = 0) const {
    return engine_views(config_, format, engine, context);
  }
  // The one view of the rule; one with number 0 where there is none.
  EngineView view(int number, TargetEngine engine, ModelFormat format = ModelFormat::kHuggingFace,
                  int64_t context = 0) const {
    for (const EngineView& view : views(engine, format, context)) {
      if (view.rule.number == number) return view;
    }
    return {};
  }
  bool has(int number, TargetEngine engine, ModelFormat format = ModelFormat::kHuggingFace) const {
    return view(number, engine, format).rule.number == number;
  }

 private:
  FrequencySource source_;
  PairLayout layout_;
  ModelConfig config_;
};

std::string list(double divisor, int n_pairs) {
  return to_text(ParamValue(std::vector<double>(static_cast<size_t>(n_pairs), divisor)));
}

TEST(EngineViews, PlainRopeIsReadAlikeByAll) {
  for (const char* architecture : {"llama", "qwen2", "mistral"}) {
    EXPECT_THAT(engine_views(Model(architecture, "rope").config(), ModelFormat::kHuggingFace),
                IsEmpty());
  }
  EXPECT_THAT(engine_views(Model("llama", "rope").config(), ModelFormat::kGguf), IsEmpty());
}

// gpt-oss: base 150000, 64 coordinates, factor 32: a ramp of 8.09 to 17.40 pairs becomes 8 to 18.
TEST(EngineViews, Row1FractionsOfPairsAreLostInLlamaCpp) {
  const Model model("gpt_oss", "yarn,factor=32,original=4096,truncate=false", 150000, 64);
  const EngineView view = model.view(1, kLlamaCpp);
  ASSERT_EQ(view.rule.number, 1);
  ASSERT_TRUE(view.gap);
  EXPECT_EQ(view.gap->spectrum.first_pair, 9);
  EXPECT_GT(view.gap->spectrum.largest_ratio, 1.05);
  EXPECT_EQ(view.gap->amplitude_ratio, 1);
  EXPECT_FALSE(model.has(1, kVllm));
  EXPECT_FALSE(model.has(1, kTransformers));
  EXPECT_FALSE(Model("gpt_oss", "yarn,factor=32", 150000, 64).has(1, kLlamaCpp));
}

// Kimi-K2: base 50000, factor 32, betas 1 and 1: up to 9 times at pairs 9 to 19.
TEST(EngineViews, Row2BetasAreNotLoaded) {
  const std::string scheme = "yarn,factor=32,original=4096,beta_fast=1";
  const EngineView view = Model("kimi_k2", scheme, 50000, 64).view(2, kLlamaCpp);
  ASSERT_TRUE(view.gap);
  EXPECT_EQ(view.gap->spectrum.first_pair, 9);
  EXPECT_EQ(view.gap->spectrum.worst_pair, 19);
  EXPECT_NEAR(view.gap->spectrum.largest_ratio, 9.2, 0.5);
  for (const char* reads_them : {"mistral3", "ministral3", "grok"}) {
    EXPECT_FALSE(Model(reads_them, scheme, 50000, 64).has(2, kLlamaCpp)) << reads_them;
  }
}

TEST(EngineViews, Row3AnExplicitAmplitude) {
  Model model("llama", "yarn,factor=64,attention_factor=1");
  model.field("attention_factor", "1", "rope_scaling.attention_factor");
  const double usual = 1 + 0.1 * std::log(64);  // 1.4159
  for (const TargetEngine engine : {kLlamaCpp, kVllm}) {
    const EngineView view = model.view(3, engine);
    ASSERT_TRUE(view.gap);
    EXPECT_TRUE(view.gap->spectrum.same());
    EXPECT_NEAR(view.gap->amplitude_ratio, usual, 1e-12);
  }
  EXPECT_FALSE(model.has(3, kTransformers));
  // The same number said aloud makes no difference.
  Model same("llama", "yarn,factor=64,attention_factor=" + to_text(usual));
  same.field("attention_factor", to_text(usual), "rope_scaling.attention_factor");
  EXPECT_FALSE(same.has(3, kVllm));
  Model theirs("llama", "yarn,factor=64,attention_factor=1.5");
  theirs.field("attn_factor", "1.06", "rope_scaling.attn_factor");
  EXPECT_FALSE(theirs.has(3, kVllm));
  EXPECT_TRUE(theirs.has(3, kTransformers));
}

TEST(EngineViews, Row4TheRatioOfLengthsInOldTransformers) {
  Model qwen("qwen3", "yarn,factor=4,original=32768", 1e6, 128, 32768);
  qwen.context(40960);
  const EngineView view = qwen.view(4, kTransformers);
  ASSERT_TRUE(view.gap);
  EXPECT_THAT(view.takes, HasSubstr("factor 1.25"));
  EXPECT_NEAR(view.gap->amplitude_ratio, 1.0223143551314209 / 1.1386294361119891, 1e-12);
  EXPECT_FALSE(view.rule.versions.empty());
  Model agrees("qwen3", "yarn,factor=4,original=32768", 1e6, 128, 32768);
  agrees.context(131072);
  EXPECT_FALSE(agrees.has(4, kTransformers));
}

TEST(EngineViews, Row5DynamicIsPlainElsewhere) {
  const Model model("internlm2", "dynamic_ntk,block=all,factor=2");
  for (const TargetEngine engine : {kLlamaCpp, kVllm}) {
    const EngineView view = model.view(5, engine);
    ASSERT_TRUE(view.gap);
    EXPECT_GT(view.gap->length, 4096);
    EXPECT_GT(view.gap->spectrum.largest_ratio, 2);
  }
  EXPECT_FALSE(model.has(5, kTransformers));
  EXPECT_TRUE(model.has(19, kTransformers));
  Model nomic("nomic_bert", "dynamic_ntk,block=all,factor=2");
  nomic.field("trained_length", "2048", "max_trained_positions");
  EXPECT_FALSE(nomic.has(5, kVllm));
  Model trained("internlm2", "dynamic_ntk,block=all,factor=2");
  trained.field("max_trained_positions", "2048", "rope_scaling.max_trained_positions");
  EXPECT_FALSE(trained.has(5, kVllm));
}

TEST(EngineViews, Row6TheListGoesByTheContext) {
  const std::string scheme =
      "longrope,long=" + list(8, 48) + ",short=" + list(1, 48) + ",amplitude=1.19";
  Model phi("phi3", scheme, 10000, 96, 4096);
  phi.usable(131072);
  const EngineView view = phi.view(6, kLlamaCpp);
  ASSERT_TRUE(view.gap);
  EXPECT_LE(view.gap->length, 4096);  // short sequences are the ones that suffer
  EXPECT_NEAR(view.gap->spectrum.largest_ratio, 8, 1e-9);
  EXPECT_EQ(phi.view(6, kVllm).rule.number, 6);
  EXPECT_EQ(phi.view(6, kLlamaCpp, ModelFormat::kGguf, 4096).rule.number, 0);
  EXPECT_FALSE(Model("phi3", "longrope,long=" + list(2, 48) + ",short=" + list(2, 48), 10000, 96)
                   .usable(8192)
                   .has(6, kLlamaCpp));
  // No lists are loaded under qwen2: plain RoPE.
  EXPECT_THAT(Model("qwen2", scheme, 10000, 96).usable(8192).view(6, kLlamaCpp).takes,
              HasSubstr("plain"));
}

TEST(EngineViews, Row7DeepSeekV2Logits) {
  const Model model("deepseek_v2",
                    "yarn,factor=40,original=4096,mscale=0.707,mscale_all_dim=0.707,"
                    "mscale_logits=true",
                    10000, 64);
  const EngineView view = model.view(7, kTransformers);
  ASSERT_TRUE(view.gap);
  EXPECT_NEAR(1 / view.gap->multiplier_ratio, 1.589626, 1e-6);
  EXPECT_FALSE(model.has(7, kVllm));
  EXPECT_FALSE(model.has(7, kLlamaCpp));
}

TEST(EngineViews, Row8Olmo3SlidingLayers) {
  Model olmo("olmo3", "yarn,factor=8,original=8192", 500000, 128, 8192);
  olmo.add("sliding_attention", "rope");
  const EngineView view = olmo.view(8, kTransformers);
  EXPECT_EQ(view.group, 1u);
  ASSERT_TRUE(view.gap);
  EXPECT_NEAR(view.gap->spectrum.largest_ratio, 8, 1e-9);
  EXPECT_FALSE(olmo.has(8, kVllm));
}

TEST(EngineViews, Row9PairsThatInterleavedSectionsLeaveOver) {
  Model qwen("qwen3_vl", "rope", 5e6, 128, 262144);
  Spectrum spectrum = qwen.config().groups[0].rotary->spectrum.at(1);
  spectrum.axis = std::vector<uint8_t>(64, 0);
  for (size_t p = 1; p < 60; p += 3) spectrum.axis[p] = 1;
  for (size_t p = 2; p < 60; p += 3) spectrum.axis[p] = 2;
  qwen.config().groups[0].rotary->spectrum = SpectrumRule(spectrum);
  const EngineView view = qwen.view(9, kLlamaCpp);
  ASSERT_TRUE(view.gap);
  EXPECT_THAT(view.says, HasSubstr("pairs 61, 62"));
  EXPECT_EQ(view.gap->spectrum.first_pair, 61);
  EXPECT_TRUE(std::isinf(view.gap->spectrum.largest_ratio));
  EXPECT_FALSE(qwen.has(9, kTransformers));
}

TEST(EngineViews, Row10HunyuanPastItsLength) {
  const Model model("hunyuan_v1_dense", "ntk,factor=1000", 10000, 128, 32768);
  const EngineView view = model.view(10, kTransformers);
  ASSERT_TRUE(view.gap);
  EXPECT_GT(view.gap->spectrum.largest_ratio, 100);
  EXPECT_THAT(model.view(10, kLlamaCpp).takes, HasSubstr("262144"));
  EXPECT_FALSE(model.has(10, kVllm));
}

TEST(EngineViews, Row11LengthInsideTheLlama3Block) {
  const std::string scheme = "llama3,factor=16,low=1,high=1,original=4096";
  Model inside("exaone4", scheme, 1e6);
  inside.field("original_length", "4096", "rope_scaling.original_max_position_embeddings");
  ASSERT_TRUE(inside.view(11, kLlamaCpp).gap);
  EXPECT_NEAR(inside.view(11, kLlamaCpp).gap->spectrum.largest_ratio, 16, 1e-9);
  Model on_top("exaone4", scheme, 1e6);
  on_top.field("original_length", "4096", "original_max_position_embeddings");
  EXPECT_FALSE(on_top.has(11, kLlamaCpp));
  Model nested("exaone4", scheme, 1e6);
  nested.field("original_length", "4096", "text_config.original_max_position_embeddings");
  EXPECT_FALSE(nested.has(11, kLlamaCpp));
  Model deeper("exaone4", scheme, 1e6);
  deeper.field("original_length", "4096",
               "text_config.rope_parameters.original_max_position_embeddings");
  EXPECT_TRUE(deeper.has(11, kLlamaCpp));
  EXPECT_FALSE(inside.has(11, kVllm));
}

TEST(EngineTable, KnowsModelTypesByTheirArchitecture) {
  EXPECT_EQ(llama_cpp_architecture("mistral"), "llama");
  EXPECT_EQ(llama_cpp_architecture("gemma3_text"), "gemma3");
  EXPECT_EQ(llama_cpp_architecture("llama4_text"), "llama4");
  EXPECT_EQ(llama_cpp_architecture("qwen3_vl_text"), "qwen3vl");
  EXPECT_EQ(llama_cpp_architecture("llama"), "llama");
  EXPECT_TRUE(llama_cpp_loads_rope_freqs("llama4_text"));
  EXPECT_EQ(llama_cpp_architecture("glm4_moe_lite"), "deepseek2");
  EXPECT_EQ(llama_cpp_architecture("bailing_moe"), "bailingmoe");
  EXPECT_EQ(llama_cpp_architecture("gpt_bigcode"), "starcoder");
  EXPECT_EQ(llama_cpp_architecture("glm4v_moe"), "glm4moe");
  EXPECT_EQ(llama_cpp_architecture("qwen2_5_omni"), "qwen2vl");
  EXPECT_EQ(llama_cpp_architecture("qwen3_omni_moe"), "qwen3vlmoe");
}

TEST(EngineTable, AnArchitectureIsItsOwnName) {
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    EXPECT_EQ(llama_cpp_architecture(architecture.name), architecture.name);
  }
}

// The atlas has older names for two: DeepSeek-V3.2 has had an architecture of its own since, and
// HunyuanVL's is spelt with a line below.
TEST(EngineTable, ArchitecturesAreThoseOfTheAtlas) {
  const auto shared = exact_values::shared_folder();
  if (!shared) GTEST_SKIP() << "no ../shared: names are not held to the atlas";
  const nlohmann::json atlas = exact_values::read_json(*shared / "golden" / "atlas.json");
  size_t n_compared = 0;
  for (const nlohmann::json& entry : atlas) {
    const std::string type = entry["config"].value("model_type", "");
    const nlohmann::json gguf = entry.value("gguf", nlohmann::json());
    if (type.empty() || !gguf.is_object() || !gguf.contains("arch") || !gguf["arch"].is_string())
      continue;
    if (type == "deepseek_v32" || type == "hunyuan_vl") continue;
    EXPECT_EQ(llama_cpp_architecture(type), gguf["arch"].get<std::string>()) << entry["name"];
    ++n_compared;
  }
  EXPECT_GT(n_compared, 100u);
}

// Minitron-8B: hidden 4096, 48 heads of 128, half of them rotated.
TEST(EngineViews, Row12NemotronWidth) {
  Model model("nemotron", "rope");
  Rotary& rotary = *model.config().groups[0].rotary;
  rotary.layout.rotary_dim = rotary.source.frequency_dim = 64;
  rotary.spectrum = SpectrumRule(rope_spectrum(10000, 64, 32));
  model.config().shape = {.hidden = 4096, .n_heads = 48, .head_dim = 128};
  const EngineView view = model.view(12, kLlamaCpp);
  ASSERT_TRUE(view.gap);
  EXPECT_THAT(view.says, HasSubstr("64"));
  EXPECT_THAT(view.takes, HasSubstr("42"));
  EXPECT_EQ(view.gap->spectrum.first_pair, 1);
}

TEST(EngineViews, Row13TheTypeCalledNtk) {
  const Model model("llama", "ntk_fixed,factor=8");
  EXPECT_THAT(model.view(13, kTransformers).takes, HasSubstr("refuses"));
  ASSERT_TRUE(model.view(13, kLlamaCpp).gap);
  EXPECT_NEAR(model.view(13, kLlamaCpp).gap->spectrum.largest_ratio, 8, 1e-9);
  EXPECT_FALSE(model.has(13, kVllm));
}

TEST(EngineViews, Row14TheFactorOfProportional) {
  const Model model("gemma4", "proportional,rotating=64,factor=8", 1e6, 512);
  for (const TargetEngine engine : {kLlamaCpp, kVllm}) {
    ASSERT_TRUE(model.view(14, engine).gap);
    EXPECT_NEAR(model.view(14, engine).gap->spectrum.largest_ratio, 8, 1e-9);
  }
  EXPECT_FALSE(model.has(14, kTransformers));
}

TEST(EngineViews, Row15TypesThatDiffer) {
  const Error fault =
      Error("config.json: rope_scaling.rope_type", "must agree with type").of(FaultKind::kConflict);
  EXPECT_EQ(engine_views_of(fault).size(), 3u);
  EXPECT_THAT(engine_views_of(Error("config.json: rope_theta", "must be above 1")), IsEmpty());
}

TEST(EngineViews, Row16MapsAndRow24LogN) {
  const Model mapped("qwen2", "rope+cap,window=256");
  EXPECT_TRUE(mapped.has(16, kLlamaCpp));
  EXPECT_TRUE(mapped.has(16, kTransformers));
  EXPECT_FALSE(mapped.has(16, kVllm));
  const Model scaled("qwen", "rope+logn");
  EXPECT_TRUE(scaled.has(24, kLlamaCpp));
  EXPECT_TRUE(scaled.has(24, kVllm));
  EXPECT_FALSE(scaled.has(24, kTransformers));
}

TEST(EngineViews, Row17FalconSlopes) {
  Model model("falcon", "rope");
  model.config().groups[0].rotary.reset();
  model.config().groups[0].scheme.clear();
  model.config().mechanisms = {AlibiBias{alibi_slopes(71)}};
  EXPECT_TRUE(model.has(17, kTransformers));
  model.config().mechanisms = {AlibiBias{alibi_slopes(64)}};  // 2^(-k / 8): not all exact
  EXPECT_TRUE(model.has(17, kTransformers));
  model.config().mechanisms = {AlibiBias{alibi_slopes(8)}};  // powers of two
  EXPECT_FALSE(model.has(17, kTransformers));
}

TEST(EngineViews, Row18BlocksByLayerType) {
  Model model("llama", "rope");
  model.config().groups.clear();
  model.add("full_attention", "yarn,factor=4").add("sliding_attention", "linear,factor=2");
  for (LayerGroup& group : model.config().groups) {
    group.fields = {
        {"base", "10000", Provenance::kFile, "rope_parameters." + group.name + ".rope_theta"}};
  }
  EXPECT_TRUE(model.has(18, kTransformers));
  EXPECT_EQ(model.view(18, kLlamaCpp).group, 1u);
  model.config().architecture = "gemma3_text";
  EXPECT_FALSE(model.has(18, kTransformers));
}

TEST(EngineViews, Row20TransformersReadsTheBaseOfAGguf) {
  const Model scaled("llama", "yarn,factor=4");
  for (const TargetEngine engine : {kVllm, kTransformers}) {
    ASSERT_TRUE(scaled.view(20, engine, ModelFormat::kGguf).gap);
    EXPECT_FALSE(scaled.has(20, engine, ModelFormat::kHuggingFace));
  }
  EXPECT_FALSE(Model("llama", "rope").has(20, kTransformers, ModelFormat::kGguf));
  EXPECT_THAT(Model("command-r", "rope").view(20, kTransformers, ModelFormat::kGguf).takes,
              HasSubstr("refuses"));
}

TEST(EngineViews, Rows21To25) {
  const Model ministral("ministral3", "yarn,factor=16,original=16384,mscale=1,mscale_all_dim=1");
  ASSERT_TRUE(ministral.view(21, kVllm).gap);
  EXPECT_NEAR(ministral.view(21, kVllm).gap->amplitude_ratio, 1.2772588722239781, 1e-12);
  EXPECT_FALSE(Model("deepseek_v3", "yarn,factor=40,mscale=1,mscale_all_dim=1").has(21, kVllm));

  const std::string lists = "longrope,long=" + list(8, 48) + ",short=" + list(1, 48);
  Model phi("phi3", lists + ",amplitude=2", 10000, 96, 4096);
  phi.context(131072);
  EXPECT_NEAR(phi.view(22, kVllm).gap->amplitude_ratio, 1.1902380714238083 / 2, 1e-12);
  Model usual("phi3", lists + ",amplitude=1.1902380714238083", 10000, 96, 4096);
  usual.context(131072);
  EXPECT_FALSE(usual.has(22, kVllm));

  EXPECT_TRUE(Model("qwen2", "llama3,factor=8,low=1,high=4").has(23, kLlamaCpp));
  EXPECT_FALSE(Model("llama", "llama3,factor=8,low=1,high=4").has(23, kLlamaCpp));

  Model t5("t5", "rope");
  t5.config().groups[0].rotary.reset();
  t5.config().groups[0].scheme.clear();
  t5.config().mechanisms = {T5Buckets{.max_distance = 256}};
  EXPECT_TRUE(t5.has(25, kLlamaCpp));
}

TEST(EngineViews, Row26) {
  for (const TargetEngine engine : kTargetEngines) {
    const EngineView view = Model("nomic_bert", "xpos").view(26, engine);
    ASSERT_TRUE(view.gap);
    EXPECT_EQ(to_text(*view.gap), "pairs from 0 on decay otherwise");
    EXPECT_FALSE(judge_portability(Model("nomic_bert", "xpos").config(), ModelFormat::kHuggingFace,
                                   "declared", engine)
                     .portable);
  }
}

TEST(EngineViews, EveryRuleHasARowInTheDocument) {
  std::ifstream file(std::string(ROPEWALK_SOURCE_DIR) + "/docs/engines.md");
  std::stringstream text;
  text << file.rdbuf();
  std::set<int> numbers;
  for (const EngineRule& rule : engine_rules()) {
    EXPECT_THAT(text.str(), HasSubstr("\n| " + std::to_string(rule.number) + " |")) << rule.name;
    numbers.insert(rule.number);
  }
  for (int number = 1; number <= 19; ++number) EXPECT_EQ(numbers.count(number), 1u) << number;
}

// What `write` and `extend` call portable goes by the same rules.
TEST(Portability, OfWhatAFileDeclaresGoesByTheEngine) {
  const auto portable = [](Model model, TargetEngine engine) {
    const ModelFormat format = engine == kLlamaCpp ? ModelFormat::kGguf : ModelFormat::kHuggingFace;
    return judge_portability(model.config(), format, "declared", engine).portable;
  };
  const Model oss("gpt-oss", "yarn,factor=32,truncate=false", 150000, 64);
  EXPECT_FALSE(portable(oss, kLlamaCpp));
  EXPECT_TRUE(portable(oss, kVllm));
  const Model dynamic("llama", "dynamic_ntk,block=all,factor=2");
  EXPECT_FALSE(portable(dynamic, kLlamaCpp));
  EXPECT_FALSE(portable(dynamic, kVllm));
  EXPECT_TRUE(portable(dynamic, kTransformers));
  for (const TargetEngine engine : kTargetEngines) {
    EXPECT_TRUE(portable(Model("llama", "linear,factor=4"), engine));
  }
  // transformers' GGUF reader, which vLLM uses too, takes no scaling from the file.
  Model scaled("llama", "linear,factor=4");
  EXPECT_FALSE(
      judge_portability(scaled.config(), ModelFormat::kGguf, "declared", kTransformers).portable);
}

TEST(EngineGap, IsOneLine) {
  EXPECT_EQ(
      to_text(EngineGap{.spectrum = {.first_pair = 9, .largest_ratio = 9.2, .worst_pair = 19}}),
      "pairs from 9 on turn otherwise, by up to 9.2 times at pair 19");
  EXPECT_EQ(to_text(EngineGap{.amplitude_ratio = 1.25}), "amplitude 1.25 times the file's");
}

}  // namespace
}  // namespace ropewalk
