// What `write` says of every scheme, read again: cases CFG-13 and GGU-* of reports, and models whose
// layers differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/hf_test_support.h"
#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using reports::Json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string list(int64_t n_pairs, const std::string& divisor) {
  std::string text = divisor;
  for (int64_t pair = 1; pair < n_pairs; ++pair) text += ":" + divisor;
  return text;
}

Json numbers(size_t n_pairs, double first) {
  std::vector<double> values(n_pairs);
  for (size_t pair = 0; pair < n_pairs; ++pair)
    values[pair] = first + static_cast<double>(pair) / 7;
  return values;
}

class RoundTrip : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  Json write_config(const Json& config, const std::string& scheme, int64_t target = 0,
                    TargetEngine engine = TargetEngine::kTransformers) const {
    folder_.write("config.json", config.dump(1));
    report_ = write_model({.model = path("config.json"),
                           .scheme = scheme,
                           .engine = engine,
                           .target_length = target,
                           .output = path("new.json"),
                           .force = true});
    write_model(
        {.model = path("new.json"), .output = path("old.json"), .force = true, .undo = true});
    EXPECT_EQ(read_file(path("old.json")), config.dump(1));
    Json written = load_json(path("new.json"));
    written.erase("ropewalk_undo");
    return written;
  }
  std::string refusal_of_config(const Json& config, const std::string& scheme,
                                TargetEngine engine = TargetEngine::kTransformers) const {
    return message_of([&] { write_config(config, scheme, 0, engine); });
  }
  // Writes, reads and undoes.
  ModelConfig write_gguf(const GgufBuilder& model, const std::string& scheme,
                         int64_t target = 0) const {
    const std::string bytes = model.file();
    folder_.write("model.gguf", bytes);
    report_ = write_model({.model = path("model.gguf"),
                           .scheme = scheme,
                           .target_length = target,
                           .output = path("new.gguf"),
                           .force = true});
    write_model(
        {.model = path("new.gguf"), .output = path("old.gguf"), .force = true, .undo = true});
    EXPECT_EQ(read_file(path("old.gguf")), bytes);
    return read_gguf_positions(GgufFile::open(path("new.gguf")));
  }
  std::string refusal_of_gguf(const GgufBuilder& model, const std::string& scheme) const {
    return message_of([&] { write_gguf(model, scheme); });
  }

  const TempDirectory folder_;
  mutable WriteReport report_;
};

void expect_same_bits(const ModelConfig& a, const ModelConfig& b, const std::string& what) {
  ASSERT_EQ(a.groups.size(), b.groups.size()) << what;
  for (size_t g = 0; g < a.groups.size(); ++g) {
    for (const int64_t n : {1, 4096, 4097, 30000}) {
      const Spectrum x = a.groups[g].rotary->spectrum.at(n);
      const Spectrum y = b.groups[g].rotary->spectrum.at(n);
      EXPECT_EQ(x.inv_freq(), y.inv_freq()) << what << " at " << n;
      EXPECT_EQ(x.amplitude, y.amplitude) << what << " at " << n;
    }
  }
}

// The first spectrum part of what the leading layers declare.
std::string own_scheme(const ModelConfig& config) {
  return parse_scheme(leading_group(config).scheme).parts.front().text;
}

// ---- CFG-13

struct Block {
  std::string name;
  Json keys;  // with rope_type first
  int64_t positions = 32768;
};

// As they stand in published files: what goes without saying is not said.
std::vector<Block> blocks(size_t n_pairs) {
  return {{"linear", {{"rope_type", "linear"}, {"factor", 8.0}}},
          {"dynamic", {{"rope_type", "dynamic"}, {"factor", 2.0}}, 4096},
          {"yarn",
           {{"rope_type", "yarn"}, {"factor", 8.0}, {"original_max_position_embeddings", 4096}}},
          {"yarn of many keys",
           {{"rope_type", "yarn"},
            {"factor", 8.5},
            {"original_max_position_embeddings", 4096},
            {"beta_fast", 24.0},
            {"beta_slow", 2.0},
            {"truncate", false},
            {"attention_factor", 1.25}}},
          {"longrope",
           {{"rope_type", "longrope"},
            {"long_factor", numbers(n_pairs, 1.5)},
            {"short_factor", numbers(n_pairs, 1)},
            {"original_max_position_embeddings", 4096},
            {"attention_factor", 1.19}}},
          {"llama3",
           {{"rope_type", "llama3"},
            {"factor", 8.0},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 4096}}},
          {"proportional", {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.25}}, 4096}};
}

// The three forms that a block can have.
Json legacy_form(const Json& block, int64_t positions) {
  Json config = reports::llama(128, 500000, positions);
  config["rope_scaling"] = block;
  return config;
}

Json flat_form(const Json& block, int64_t positions) {
  Json config = reports::llama(128, 500000, positions);
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config["rope_parameters"] = block.is_null() ? Json{{"rope_type", "default"}} : block;
  config["rope_parameters"]["rope_theta"] = 500000.0;
  return config;
}

Json nested_form(const Json& block, int64_t positions) {
  Json config = reports::gemma3("null");
  for (const char* key : {"rope_scaling", "rope_theta", "rope_local_base_freq"}) config.erase(key);
  config["max_position_embeddings"] = positions;
  config["rope_parameters"] = {
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}},
      {"full_attention", block.is_null() ? Json{{"rope_type", "default"}} : block}};
  config["rope_parameters"]["full_attention"]["rope_theta"] = 1e6;
  return config;
}

struct Form {
  std::string name;
  Json (*config)(const Json& block, int64_t positions);
  size_t n_pairs;
};

const Form kForms[] = {
    {"legacy", legacy_form, 64}, {"flat", flat_form, 64}, {"nested", nested_form, 128}};

TEST_F(RoundTrip, CFG_13_ABlockWrittenOnItselfChangesNothing) {
  for (const Form& form : kForms) {
    for (const Block& block : blocks(form.n_pairs)) {
      const std::string what = form.name + " " + block.name;
      const Json config = form.config(block.keys, block.positions);
      const Json written = write_config(config, own_scheme(reports::read(config)));
      EXPECT_EQ(written, config) << what;
      EXPECT_THAT(report_.keys, IsEmpty()) << what;
      EXPECT_EQ(report_.largest_difference, 0) << what;
    }
  }
}

TEST_F(RoundTrip, CFG_13_APlainModelGetsTheSameBlock) {
  for (const Form& form : kForms) {
    for (const Block& block : blocks(form.n_pairs)) {
      const std::string what = form.name + " " + block.name;
      const Json wanted = form.config(block.keys, block.positions);
      const Json plain = form.config(nullptr, 4096);
      const Json written = write_config(plain, own_scheme(reports::read(wanted)), block.positions);
      EXPECT_EQ(nlohmann::json(written), nlohmann::json(wanted)) << what;
      expect_same_bits(reports::read(written), reports::read(wanted), what);
      EXPECT_EQ(report_.largest_difference, 0) << what;

      // And back to plain; but pairs that stand still are the model's, whatever the scheme.
      if (block.name == "proportional") continue;
      const Json back = write_config(wanted, "rope", 4096);
      EXPECT_EQ(nlohmann::json(back), nlohmann::json(plain)) << what;
    }
  }
}

TEST_F(RoundTrip, FilesOfManySpellingsStayAsTheyAre) {
  Json phi = {
      {"model_type", "phi3"},
      {"hidden_size", 3072},
      {"num_attention_heads", 32},
      {"num_hidden_layers", 2},
      {"rope_theta", 10000.0},
      {"max_position_embeddings", 131072},
      {"original_max_position_embeddings", 4096},
      {"rope_scaling",
       {{"type", "su"}, {"long_factor", numbers(48, 1.5)}, {"short_factor", numbers(48, 1)}}}};
  Json said = reports::llama(128, 10000, 32768,
                             R"({"type": "yarn", "factor": 8, "beta_fast": 32, "mscale": null,
                                 "original_max_position_embeddings": 4096, "finetuned": true})");
  Json wrapped = {{"model_type", "llava"}, {"text_config", reports::llama(128, 10000, 4096)}};
  wrapped["text_config"]["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}};
  Json ministral = {{"model_type", "ministral3"},
                    {"head_dim", 128},
                    {"num_hidden_layers", 2},
                    {"max_position_embeddings", 262144},
                    {"rope_parameters",
                     {{"rope_type", "yarn"},
                      {"rope_theta", 1e6},
                      {"factor", 16.0},
                      {"original_max_position_embeddings", 16384},
                      {"llama_4_scaling_beta", 0.1},
                      {"mscale", 1.0},
                      {"mscale_all_dim", 1.0}}}};
  const Json deepseek = reports::deepseek(R"({"mscale": 1.0, "mscale_all_dim": 1.0})");
  for (const Json& config : {phi, said, wrapped, ministral, deepseek}) {
    EXPECT_EQ(write_config(config, own_scheme(reports::read(config))), config);
    EXPECT_THAT(report_.keys, IsEmpty());
  }
}

TEST_F(RoundTrip, KeysOfOthersAndTheirSpellingStay) {
  const std::string text =
      "{\"model_type\": \"llama\",\t\"head_dim\": 128, \"num_hidden_layers\": 2,\n"
      "   \"eps\": 1E-5, \"rope_theta\": 1e4, \"max_position_embeddings\": 4096,\n"
      "   \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.50, \"mine\": 1.0e0}, \"z\": "
      "[1.50]}\n";
  folder_.write("config.json", text);
  write_model({.model = path("config.json"),
               .scheme = "llama3,factor=8,low=1,high=4",
               .engine = TargetEngine::kTransformers,
               .output = path("new.json")});
  const std::string written = read_file(path("new.json"));
  for (const char* kept :
       {"\"model_type\": \"llama\",\t\"head_dim\"", "\"eps\": 1E-5, \"rope_theta\": 1e4",
        "\"type\": \"llama3\", \"factor\": 8.0, \"mine\": 1.0e0", "\"z\": [1.50]"}) {
    EXPECT_THAT(written, HasSubstr(kept));
  }
}

// ---- forms of one engine or model type

TEST_F(RoundTrip, WhatHasNoKeysIsListsWhereTheyAreExact) {
  const Json config = reports::llama(128, 10000, 4096);
  for (const std::string name :
       {"ntk_fixed", "part_ntk", "ntk_by_parts", "p_rope", "hope", "cope_clip"}) {
    const SchemeInfo& info = *find_scheme(name);
    const std::string text =
        info.candidates != nullptr ? info.candidates(4096, 32768).front() : info.example(64);
    const Json written = write_config(config, text, 32768);
    EXPECT_EQ(written["rope_scaling"]["rope_type"], "longrope") << text;
    EXPECT_EQ(written["rope_scaling"]["long_factor"], written["rope_scaling"]["short_factor"])
        << text;
    EXPECT_LT(report_.largest_difference, 1e-14) << text;
  }
  const Json ntk = write_config(config, "ntk_mixed,factor=4", 0, TargetEngine::kVllm);
  EXPECT_EQ(ntk["rope_scaling"]["rope_type"], "ntk");
  EXPECT_EQ(ntk["rope_scaling"]["mixed_b"], 0.75);
}

TEST_F(RoundTrip, HunyuanHasAlpha) {
  const Json config = {{"model_type", "hunyuan_v1_dense"},
                       {"head_dim", 128},
                       {"num_hidden_layers", 2},
                       {"max_position_embeddings", 32768},
                       {"rope_theta", 10000.0}};
  const Json written = write_config(config, "ntk,factor=1000");
  EXPECT_EQ(written["rope_scaling"]["alpha"], 1000);
  EXPECT_EQ(written["rope_theta"], 10000.0);
  const ModelConfig gguf = write_gguf(plain_gguf("hunyuan-dense"), "ntk,factor=1000");
  EXPECT_EQ(gguf.groups[0].scheme, "ntk,factor=1000");
  EXPECT_EQ(report_.how, "rope.scaling.alpha");
}

TEST_F(RoundTrip, VllmReadsChunksOfQwen2Alone) {
  const Json config = {{"model_type", "qwen2"},
                       {"head_dim", 128},
                       {"num_hidden_layers", 2},
                       {"max_position_embeddings", 32768},
                       {"rope_theta", 1e6}};
  const std::string scheme = "dca,chunk=8192,local=1024+length_temperature";
  const Json written = write_config(config, scheme, 131072, TargetEngine::kVllm);
  EXPECT_EQ(written["dual_chunk_attention_config"],
            (Json{{"chunk_size", 8192},
                  {"local_size", 1024},
                  {"original_max_position_embeddings", 32768}}));
  // Without numbers it is the paper's: they are the model's own.
  const Json papers = write_config(config, "dca+length_temperature", 131072, TargetEngine::kVllm);
  EXPECT_EQ(papers["dual_chunk_attention_config"]["chunk_size"], 32767);
  EXPECT_EQ(papers["dual_chunk_attention_config"]["local_size"], 32767 - 24576);
  EXPECT_THAT(refusal_of_config(config, "dca,pairs=0:3+length_temperature", TargetEngine::kVllm),
              HasSubstr("every pair"));
  EXPECT_THAT(refusal_of_config(config, scheme), HasSubstr("no key for a distance map"));
  EXPECT_THAT(refusal_of_config(config, "dca,chunk=8192,local=1024", TargetEngine::kVllm),
              HasSubstr("length_temperature"));
  EXPECT_THAT(refusal_of_config(reports::llama(128, 1e4, 4096), scheme, TargetEngine::kVllm),
              HasSubstr("no key"));
  EXPECT_THAT(refusal_of_config(config, "logn", TargetEngine::kVllm), HasSubstr("multiplier"));
}

TEST_F(RoundTrip, StepsOfMinistral) {
  const Json config = {{"model_type", "ministral3"},
                       {"head_dim", 128},
                       {"num_hidden_layers", 2},
                       {"max_position_embeddings", 16384},
                       {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e6}}}};
  const Json written =
      write_config(config, "yarn,factor=4+step_temperature,scale=0.1,length=16384", 65536);
  EXPECT_EQ(written["rope_parameters"]["llama_4_scaling_beta"], 0.1);
  EXPECT_THAT(
      refusal_of_config(reports::llama(128, 1e4, 4096), "step_temperature,scale=0.1,length=4096"),
      HasSubstr("no key for a multiplier"));

  const ModelConfig gguf =
      write_gguf(plain_gguf("mistral3"), "yarn,factor=4+step_temperature,scale=0.1,length=4096");
  EXPECT_EQ(gguf.groups[0].rotary->temperature.step_length, 4096);
  EXPECT_THAT(refusal_of_gguf(plain_gguf(), "step_temperature,scale=0.1,length=4096"),
              HasSubstr("mistral3"));
}

TEST_F(RoundTrip, AnAmplitudeIsSaidAsTheEngineReadsIt) {
  const Json config = reports::llama(128, 10000, 4096);
  const std::string scheme = "yarn,factor=8,mscale=0.7,mscale_all_dim=1.2";
  const Json ours = write_config(config, scheme, 32768)["rope_scaling"];
  EXPECT_EQ(ours["mscale"], 0.7);
  const Json theirs = write_config(config, scheme, 32768, TargetEngine::kVllm)["rope_scaling"];
  EXPECT_FALSE(theirs.contains("mscale"));
  EXPECT_TRUE(theirs.contains("attn_factor"));
  EXPECT_THAT(refusal_of_config(config, scheme + ",mscale_logits=true"), HasSubstr("logits"));
}

// ---- layers that differ

TEST_F(RoundTrip, Gemma3SlidingLayersStay) {
  for (const std::string scheme : {"linear,factor=8", "yarn,factor=8", "ntk,factor=3"}) {
    const Json config = reports::gemma3("null");
    const Json written = write_config(config, scheme, 1048576);
    EXPECT_EQ(written["rope_local_base_freq"], 1e4);
    EXPECT_THAT(report_.layers,
                ElementsAre("sliding_attention (layers 0, 1, 2, 3, 4, 6, ...): as before",
                            "full_attention (layers 5, 11, 17, 23, 29): the scheme"))
        << scheme;
    const ModelConfig read = reports::read(written);
    EXPECT_EQ(find_group(read, "sliding_attention")->rotary->source.base, 1e4);

    GgufBuilder model = plain_gguf("gemma3");
    model.set("gemma3.block_count", uint32_t{12})
        .set("gemma3.rope.freq_base", 1e6F)
        .set("gemma3.attention.sliding_window", uint32_t{1024});
    const ModelConfig gguf = write_gguf(model, scheme, 32768);
    EXPECT_THAT(report_.layers,
                ElementsAre("sliding_attention (layers 0, 1, 2, 3, 4, 6, ...): as before",
                            "full_attention (layers 5, 11): the scheme"))
        << scheme;
    EXPECT_EQ(find_group(gguf, "sliding_attention")->rotary->source.base, 1e4);
    EXPECT_THAT(refusal_of_gguf(model, "ntk_by_parts,factor=8"), HasSubstr("rope_freqs.weight"));
    EXPECT_THAT(refusal_of_gguf(model, "yarn,factor=8,attention_factor=1"),
                HasSubstr("sliding_attention"));
  }
}

// A flat block of these model types is every layer's.
TEST_F(RoundTrip, Gemma2HasOneScalingForAllLayers) {
  const Json config = {{"model_type", "gemma2"},
                       {"head_dim", 256},
                       {"num_hidden_layers", 4},
                       {"sliding_window", 4096},
                       {"max_position_embeddings", 8192}};
  write_config(config, "linear,factor=2", 16384);
  EXPECT_THAT(report_.layers, ElementsAre("sliding_attention (layers 0, 2): the scheme",
                                          "full_attention (layers 1, 3): the scheme"));
}

// Without a block the model type would take its own yarn.
TEST_F(RoundTrip, PlainRopeOfGptOssIsSaid) {
  const Json config = {{"model_type", "gpt_oss"},
                       {"num_hidden_layers", 4},
                       {"max_position_embeddings", 131072},
                       {"rope_theta", 150000}};
  for (const Json& block : {Json(), Json{{"rope_type", "linear"}, {"factor", 4}}}) {
    Json model = config;
    if (!block.is_null()) model["rope_scaling"] = block;
    const Json written = write_config(model, "rope");
    const char* const key = block.is_null() ? "rope_parameters" : "rope_scaling";
    EXPECT_EQ(written[key], (Json{{"rope_type", "default"}}));
  }
}

TEST_F(RoundTrip, TheBaseOfChatGlmIsARatio) {
  const Json config = {{"model_type", "chatglm"},
                       {"kv_channels", 128},
                       {"num_layers", 2},
                       {"seq_length", 8192},
                       {"rope_ratio", 50}};
  const Json written = write_config(config, "base,factor=2");
  EXPECT_EQ(written["rope_ratio"], 100);
  EXPECT_FALSE(written.contains("rope_theta"));
}

TEST_F(RoundTrip, NestedBlocksKeepTheOthers) {
  const Json config = nested_form(nullptr, 4096);
  const Json written = write_config(config, "ntk,factor=3");
  EXPECT_EQ(written["rope_parameters"]["sliding_attention"],
            config["rope_parameters"]["sliding_attention"]);
  EXPECT_FALSE(written.contains("rope_theta"));
  EXPECT_GT(written["rope_parameters"]["full_attention"]["rope_theta"], 2e6);
}

TEST_F(RoundTrip, PairsThatStandStillStaySo) {
  std::vector<float> divisors(64, 1e30F);
  std::fill(divisors.begin(), divisors.begin() + 16, 1.0F);
  GgufBuilder model = plain_gguf("llama");
  model.tensor("rope_freqs.weight", divisors);
  const ModelConfig linear = write_gguf(model, "linear,factor=4");
  EXPECT_EQ(report_.how,
            "rope.scaling.type = linear, rope_freqs.weight for pairs that stand still");
  const std::vector<double> turning = spectrum_at(linear, 1).inv_freq();
  EXPECT_EQ(turning[0], 0.25);
  EXPECT_LT(turning[16], 1e-24);
  write_gguf(plain_gguf(), "proportional,rotating=16,factor=2");
  EXPECT_EQ(report_.how, "rope_freqs.weight");
  EXPECT_THAT(refusal_of_gguf(plain_gguf("qwen3"), "proportional,rotating=16"),
              HasSubstr("got qwen3"));
}

TEST_F(RoundTrip, ListsWhereTheArchitectureLoadsThem) {
  const ModelConfig phi = write_gguf(plain_gguf("phi3"), "ntk_by_parts,factor=8", 32768);
  EXPECT_THAT(report_.added, ElementsAre("rope_factors_long.weight", "rope_factors_short.weight"));
  EXPECT_EQ(phi.groups[0].rotary->source.trained_length, 4096);

  const std::string two = "longrope,long=" + list(64, "4") + ",short=" + list(64, "1");
  const ModelConfig llama = write_gguf(plain_gguf(), two + ",amplitude=1.25", 16384);
  EXPECT_THAT(report_.notes, Contains(HasSubstr("by the size of its context")));
  EXPECT_EQ(spectrum_at(llama, 4096).inv_freq()[0], 1);
  EXPECT_EQ(spectrum_at(llama, 4097).inv_freq()[0], 0.25);
  EXPECT_THAT(refusal_of_gguf(plain_gguf("qwen3"), two), HasSubstr("got qwen3"));
}

// ---- GGU

TEST(WriteReports, GGU_01_LinearOfAConfigIsLinearInGguf) {
  const ModelConfig config =
      reports::read(reports::llama(128, 10000, 16384, R"({"type": "linear", "factor": 4})"));
  const GgufForm form = gguf_form(config, own_scheme(config));
  EXPECT_EQ(form.scaling_type, "linear");
  EXPECT_EQ(form.factor, 4.0F);
}

TEST(WriteReports, GGU_02_ExpertsGetTheKeysThatTheDenseModelGets) {
  const auto of = [](const char* model_type) {
    return reports::read({{"model_type", model_type},
                          {"head_dim", 128},
                          {"num_hidden_layers", 2},
                          {"max_position_embeddings", 32768},
                          {"rope_theta", 1e6}});
  };
  const std::string scheme = "yarn,factor=4";
  const GgufForm dense = gguf_form(of("qwen3"), scheme);
  const GgufForm experts = gguf_form(of("qwen3_moe"), scheme);
  EXPECT_EQ(dense.scaling_type, "yarn");
  EXPECT_EQ(dense.scaling_type, experts.scaling_type);
  EXPECT_EQ(dense.factor, experts.factor);
  EXPECT_EQ(dense.original_length, experts.original_length);
  EXPECT_EQ(hf_form(of("qwen3"), scheme, TargetEngine::kVllm).block,
            hf_form(of("qwen3_moe"), scheme, TargetEngine::kVllm).block);
}

TEST_F(RoundTrip, GGU_05_07_KeysOfTheArchitectureChangeTogether) {
  for (const std::string architecture : {"qwen2", "qwen3", "gptneox"}) {
    GgufBuilder model = plain_gguf(architecture);
    model.set(architecture + ".context_length", uint32_t{262144});
    write_gguf(model, "yarn,factor=4", 1048576);
    std::vector<std::string> keys;
    for (const KeyChange& change : report_.keys) keys.push_back(change.key + " " + change.after);
    EXPECT_THAT(
        keys, testing::UnorderedElementsAre(
                  architecture + ".context_length 1048576",
                  architecture + ".rope.scaling.type yarn", architecture + ".rope.scaling.factor 4",
                  architecture + ".rope.scaling.original_context_length 262144"));
  }
}

}  // namespace
}  // namespace ropewalk
