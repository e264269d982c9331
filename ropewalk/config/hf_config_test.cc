#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/config/test_support.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::ordered_json;

// Four pairs.
Json small_config() {
  return Json::parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 32,
                         "num_attention_heads": 4, "num_key_value_heads": 2,
                         "intermediate_size": 24, "vocab_size": 272,
                         "max_position_embeddings": 4096, "rope_theta": 10000.0})");
}

Json with(const std::string& key, const char* value) {
  Json config = small_config();
  config[key] = Json::parse(value);
  return config;
}

ModelConfig positions(const Json& config) { return read_hf_positions(config, "config.json"); }

std::string refusal(const Json& config) {
  return message_of([&] { positions(config); });
}

std::string refusal_to_run(const Json& config) {
  return message_of([&] { read_hf_config(config, "config.json"); });
}

TEST(HfConfig, ReadsAFileThatOthersWrote) {
  const std::string path = fixture("tiny_llama_hf/config.json");
  const ModelConfig config = read_hf_config(load_json(path), path);
  EXPECT_EQ(config.shape.n_layers, 2);
  EXPECT_EQ(config.shape.head_dim, 8);
  EXPECT_EQ(config.shape.n_kv_heads, 2);
  EXPECT_EQ(config.shape.norm_epsilon, 1e-5);
  EXPECT_TRUE(config.shape.tied_output);
  EXPECT_EQ(config.groups[0].scheme, "rope");
  EXPECT_EQ(config.layer(1)->layout.strip(), "01230123");
  EXPECT_THAT(config.findings, IsEmpty());
}

TEST(HfConfig, DeclaresWhatTheGgufOfTheSameModelDeclares) {
  const GgufFile file = GgufFile::open(fixture("tiny_llama.gguf"));
  const ModelConfig gguf = read_gguf_config(file);
  const std::string path = fixture("tiny_llama_hf/config.json");
  const ModelConfig config = read_hf_config(load_json(path), path);
  EXPECT_EQ(spectrum_at(gguf, 1).inv_freq(), spectrum_at(config, 1).inv_freq());
  EXPECT_EQ(trained_length(gguf), trained_length(config));
}

TEST(HfConfig, FamilyDefaults) {
  Json config = small_config();
  for (const char* key : {"num_key_value_heads", "rope_theta", "max_position_embeddings"}) {
    config.erase(key);
  }
  const ModelConfig read = positions(config);
  EXPECT_EQ(read.shape.n_kv_heads, 4);
  EXPECT_EQ(read.layer(0)->source.base.hi, 10000);
  EXPECT_EQ(trained_length(read), 2048);
  EXPECT_EQ(read.shape.norm_epsilon, 1e-6);
  EXPECT_FALSE(read.shape.tied_output);
  EXPECT_EQ(find_field(read, "base")->provenance, Provenance::kFamilyDefault);
}

TEST(HfConfig, HeadDimIsReadBeforeItIsDerived) {
  EXPECT_EQ(positions(with("head_dim", "16")).shape.head_dim, 16);
  EXPECT_EQ(positions(with("head_dim", "null")).shape.head_dim, 8);
  EXPECT_THAT(refusal(with("head_dim", "7")), HasSubstr("head_dim: must be even"));
}

TEST(HfConfig, SchemesOfTypes) {
  const struct {
    const char* block;
    const char* scheme;
  } cases[] = {
      {R"({"rope_type": "default"})", "rope"},
      {R"({"type": "linear", "factor": 4})", "linear,factor=4"},
      {R"({"rope_type": "dynamic", "factor": 2.0})", "dynamic_ntk,factor=2,block=all"},
      {R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 1024})",
       "llama3,factor=8,low=1,high=4,original=1024"},
      {R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024})",
       "yarn,factor=4,original=1024"},
      {R"({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 16,
           "beta_slow": 2, "truncate": false, "attention_factor": 1.5})",
       "yarn,factor=4,beta_fast=16,beta_slow=2,truncate=false,attention_factor=1.5,original=1024"},
      {R"({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "mscale": 1.0,
           "mscale_all_dim": 0.5, "attention_factor": null})",
       "yarn,factor=4,mscale=1,mscale_all_dim=0.5,original=1024"},
      {R"({"type": "su", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4],
           "original_max_position_embeddings": 1024, "attention_factor": 1.25})",
       "longrope,long=1:2:3:4,short=1:1:1:1,amplitude=1.25"},
  };
  for (const auto& [block, scheme] : cases) {
    SCOPED_TRACE(block);
    const ModelConfig legacy = positions(with("rope_scaling", block));
    EXPECT_EQ(legacy.groups[0].scheme, scheme);
    const ModelConfig modern = positions(with("rope_parameters", block));
    EXPECT_EQ(modern.groups[0].scheme, scheme);
    const Rotary& declared = legacy.layer(0).value();
    const Rotary plain = plain_rotary(declared.source, declared.layout);
    for (const int64_t n : {1, 4096, 9000}) {
      EXPECT_EQ(apply_scheme(scheme, plain).spectrum.at(n).inv_freq(),
                declared.spectrum.at(n).inv_freq());
    }
  }
}

TEST(HfConfig, TrainedLength) {
  const std::string tail = R"("factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                              "original_max_position_embeddings": 1024})";
  const auto length = [&](const std::string& type) {
    const std::string block = R"({"rope_type": ")" + type + R"(", )" + tail;
    return trained_length(positions(with("rope_scaling", block.c_str())));
  };
  EXPECT_EQ(length("yarn"), 1024);
  EXPECT_EQ(length("llama3"), 4096);
  EXPECT_EQ(length("linear"), 4096);
  EXPECT_EQ(length("dynamic"), 4096);
}

TEST(HfConfig, DynamicGrowsAboveTheTrainedLength) {
  const ModelConfig config = positions(with("rope_scaling", R"({"type": "dynamic", "factor": 2})"));
  EXPECT_EQ(spectrum_at(config, 1).inv_freq(), spectrum_at(config, 4096).inv_freq());
  EXPECT_LT(spectrum_at(config, 4097).inv_freq().back(),
            spectrum_at(config, 4096).inv_freq().back());
}

TEST(HfConfig, LongRopeAmplitudeFromLengths) {
  const ModelConfig config =
      positions(with("rope_scaling", R"({"type": "longrope", "short_factor": [1, 1, 1, 1],
                          "long_factor": [1, 2, 3, 4], "original_max_position_embeddings": 1024})"));
  EXPECT_NEAR(spectrum_at(config, 1).amplitude, std::sqrt(1 + std::log(4.0) / std::log(1024.0)),
              1e-15);
  EXPECT_EQ(find_field(config, "amplitude")->provenance, Provenance::kDerived);
}

TEST(HfConfig, OriginalLengthOfTheTopLevel) {
  Json config = with("rope_scaling", R"({"type": "yarn", "factor": 4.0})");
  config["original_max_position_embeddings"] = 512;
  EXPECT_EQ(positions(config).groups[0].scheme, "yarn,factor=4,original=512");
  config["rope_scaling"]["original_max_position_embeddings"] = 512;
  EXPECT_EQ(positions(config).groups[0].scheme, "yarn,factor=4,original=512");
  config["rope_scaling"]["original_max_position_embeddings"] = 1024;
  EXPECT_THAT(refusal(config), HasSubstr("original_max_position_embeddings: must agree"));
}

TEST(HfConfig, TypeSpellings) {
  const auto block = [](const char* text) { return with("rope_scaling", text); };
  EXPECT_EQ(positions(block(R"({"type": "linear", "rope_type": "linear", "factor": 2})"))
                .groups[0]
                .scheme,
            "linear,factor=2");
  EXPECT_THAT(refusal(block(R"({"type": "linear", "rope_type": "dynamic", "factor": 2})")),
              HasSubstr("rope_scaling.rope_type: must agree with rope_scaling.type linear"));
  EXPECT_THAT(refusal(block(R"({"type": "foo"})")),
              HasSubstr("must be one of default, linear, dynamic, yarn, llama3, longrope"));
  EXPECT_EQ(positions(block(R"({"type": null})")).groups[0].scheme, "rope");
  EXPECT_EQ(positions(block(R"({"type": "none"})")).groups[0].scheme, "rope");
}

TEST(HfConfig, BothFormsMustAgree) {
  Json config = with("rope_scaling", R"({"type": "linear", "factor": 2.0})");
  config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 2}, {"rope_theta", 10000.0}};
  EXPECT_EQ(positions(config).groups[0].scheme, "linear,factor=2");
  config["rope_parameters"]["rope_theta"] = 5000.0;
  EXPECT_THAT(refusal(config), HasSubstr("rope_theta"));
  config["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_THAT(refusal(config), HasSubstr("rope_scaling: must say the same as rope_parameters"));
}

TEST(HfConfig, BaseInsideTheBlock) {
  Json config = with("rope_parameters", R"({"rope_type": "default", "rope_theta": 500000.0})");
  EXPECT_THAT(refusal(config), HasSubstr("rope_theta: must agree"));
  config.erase("rope_theta");
  const ModelConfig read = positions(config);
  EXPECT_EQ(read.layer(0)->source.base.hi, 500000);
  EXPECT_EQ(find_field(read, "base")->from, "rope_parameters.rope_theta");
  config["rope_parameters"].erase("rope_type");
  EXPECT_EQ(positions(config).groups[0].scheme, "rope");
}

TEST(HfConfig, TeleChatGrowsFromItsTrainedLength) {
  Json config = small_config();
  config["model_type"] = "telechat";
  config.erase("rope_theta");
  config["base_seqlen"] = 1024;
  config["training_seqlen"] = 2048;
  const ModelConfig read = positions(config);
  EXPECT_EQ(trained_length(read), 2048);
  EXPECT_EQ(read.groups[0].scheme, "");
  // One doubling of 1024 makes alpha 3 at 2048 tokens, and for all that are fewer.
  const double base = 10000 * std::pow(3, 8.0 / 6);
  EXPECT_NEAR(spectrum_at(read, 1).inv_freq()[3] * std::pow(base, 0.75), 1, 1e-14);
  EXPECT_EQ(spectrum_at(read, 1).inv_freq(), spectrum_at(read, 2048).inv_freq());
  EXPECT_EQ(spectrum_at(read, 2048).amplitude, 1);
  EXPECT_NEAR(spectrum_at(read, 4096).amplitude, 1 + 0.1 * std::log(2), 1e-15);
  config.erase("training_seqlen");
  EXPECT_THAT(refusal(config), HasSubstr("training_seqlen"));
}

TEST(HfConfig, WrappedTextModels) {
  Json config = {{"model_type", "gemma3"}, {"rope_theta", 5.0}};
  config["vision_config"] = {{"hidden_size", 1152}};
  config["text_config"] = Json::parse(R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
      "rope_theta": 1000000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})");
  const ModelConfig read = positions(config);
  EXPECT_EQ(read.architecture, "gemma3_text");
  EXPECT_EQ(read.layer(5)->source.base.hi, 1e6);
  EXPECT_EQ(find_field(read, "layers")->from, "text_config.num_hidden_layers");
  EXPECT_TRUE(notes_mention(read, "vision_config is there"));
  EXPECT_TRUE(notes_mention(read, "the text model's own counts"));
  config["text_config"]["rope_scaling"]["factor"] = 0.5;
  EXPECT_THAT(refusal(config), HasSubstr("text_config.rope_scaling.factor"));
}

TEST(HfConfig, ModelTypesWithABlockOfTheirOwn) {
  const ModelConfig read = positions({{"model_type", "gpt_oss"}, {"num_hidden_layers", 2}});
  EXPECT_EQ(read.layer(1)->source.base.hi, 150000);
  EXPECT_EQ(read.groups[1].scheme, "yarn,factor=32,truncate=false,original=4096");
  EXPECT_TRUE(notes_mention(read, "the model type's own block is taken"));
  for (const DeclaredField& field : read.groups[1].fields) {
    if (field.name != "factor") continue;
    EXPECT_EQ(field.provenance, Provenance::kFamilyDefault);
  }
  const ModelConfig gemma = positions({{"model_type", "gemma4_text"}, {"num_hidden_layers", 6}});
  EXPECT_EQ(gemma.layer(5)->layout.head_dim, 512);
  EXPECT_EQ(gemma.groups[1].scheme, "proportional,rotating=64");
}

TEST(HfConfig, BasesByLayer) {
  Json config = Json::parse(R"({"model_type": "step3p5", "num_hidden_layers": 2, "head_dim": 128,
      "sliding_window": 512, "layer_types": ["full_attention", "sliding_attention"],
      "rope_theta": [5000000.0, 10000.0], "partial_rotary_factors": [0.5, 1.0]})");
  const ModelConfig read = positions(config);
  EXPECT_EQ(read.layer(0)->source.base.hi, 5e6);
  EXPECT_EQ(read.layer(1)->source.base.hi, 1e4);
  EXPECT_EQ(read.layer(0)->layout.rotary_dim, 64);
  EXPECT_EQ(read.layer(1)->layout.rotary_dim, 128);
  config["rope_theta"] = {5e6, 1e4, 1e4};
  EXPECT_EQ(positions(config).layer(1)->source.base.hi, 1e4);
  config["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_THAT(refusal(config), HasSubstr("rope_theta[1]"));
}

TEST(HfConfig, PartOfAHead) {
  const ModelConfig config = positions(with("partial_rotary_factor", "0.5"));
  EXPECT_EQ(config.layer(0)->layout.strip(), "0101----");
  EXPECT_THAT(refusal(with("partial_rotary_factor", "1.5")), HasSubstr("partial_rotary_factor"));
}

TEST(HfConfig, WindowOfMistral) {
  Json config = small_config();
  config["model_type"] = "mistral";
  EXPECT_EQ(positions(config).layer(0)->visibility.window, 4096);
  EXPECT_EQ(find_field(positions(config), "window")->provenance, Provenance::kFamilyDefault);
  config["sliding_window"] = 128;
  EXPECT_EQ(positions(config).groups[0].scheme, "rope+window,size=128");
  config["sliding_window"] = nullptr;
  EXPECT_EQ(positions(config).layer(0)->visibility.window, kUnbounded);
  // Llama's code does not look at the key.
  const ModelConfig llama = positions(with("sliding_window", "128"));
  EXPECT_EQ(llama.layer(0)->visibility.window, kUnbounded);
  EXPECT_TRUE(notes_mention(llama, "sliding_window = 128 is not used"));
}

TEST(HfConfig, SwitchedWindow) {
  Json config = small_config();
  config["model_type"] = "qwen2";
  config["sliding_window"] = 128;
  config["use_sliding_window"] = false;
  EXPECT_EQ(positions(config).layer(0)->visibility.window, kUnbounded);
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 1;
  EXPECT_EQ(positions(config).layer(0)->visibility.window, kUnbounded);
  EXPECT_EQ(positions(config).layer(1)->visibility.window, 128);
}

TEST(HfConfig, KeysNobodyUsesAreNamed) {
  Json config = with("rope_scaling", R"({"type": "linear", "factor": 2, "beta_fast": 32})");
  config["rotary_scaling"] = 4;
  config["seq_length"] = 16384;
  const ModelConfig read = positions(config);
  EXPECT_TRUE(notes_mention(read, "rope_scaling.beta_fast = 32 is not used"));
  EXPECT_TRUE(notes_mention(read, "rotary_scaling = 4 is not used"));
  EXPECT_TRUE(notes_mention(read, "seq_length = 16384 is not used"));
}

TEST(HfConfig, ImpliedFactorIsNoted) {
  const ModelConfig config = positions(
      with("rope_scaling",
           R"({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048})"));
  EXPECT_EQ(config.groups[0].scheme, "yarn,factor=4,original=2048");
  EXPECT_TRUE(notes_mention(config, "is 4, but max_position_embeddings / original_length is 2"));
}

TEST(HfConfig, WhatDoesNotRunIsRefusedByName) {
  EXPECT_EQ(read_hf_config(small_config(), "config.json").group_of_layer.size(), 2U);
  EXPECT_THAT(refusal(with("model_type", "\"lama\"")),
              AllOf(HasSubstr("model_type"), HasSubstr("did you mean llama?")));
  EXPECT_THAT(refusal(with("model_type", "\"pixtral\"")), HasSubstr("images"));
  Json config = small_config();
  config.erase("intermediate_size");
  EXPECT_THAT(refusal_to_run(config), HasSubstr("intermediate_size: must be present"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("must hold a JSON object"));
}

TEST(HfConfig, SizesUnderTheNamesOfTheModelType) {
  const auto run = [](const char* text) {
    return read_hf_config(Json::parse(text), "config.json").shape;
  };
  const ModelShape gpt2 = run(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 32, "n_head": 4,
      "n_inner": null, "vocab_size": 99, "layer_norm_epsilon": 1e-5, "num_key_value_heads": 2})");
  EXPECT_EQ(gpt2.ffn, 128);
  EXPECT_EQ(gpt2.n_kv_heads, 4);
  EXPECT_EQ(gpt2.head_dim, 8);
  EXPECT_EQ(gpt2.norm_epsilon, 1e-5);
  Json falcon = Json::parse(R"({"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": 32,
      "num_attention_heads": 4, "num_kv_heads": 2, "vocab_size": 99, "layer_norm_epsilon": 1e-5})");
  EXPECT_EQ(read_hf_config(falcon, "config.json").shape.n_kv_heads, 1);
  falcon["multi_query"] = false;
  EXPECT_EQ(read_hf_config(falcon, "config.json").shape.n_kv_heads, 4);
  falcon["new_decoder_architecture"] = true;
  EXPECT_EQ(read_hf_config(falcon, "config.json").shape.n_kv_heads, 2);
  falcon.erase("layer_norm_epsilon");
  EXPECT_THAT(refusal_to_run(falcon), HasSubstr("layer_norm_epsilon: must be present"));
}

// As Gemma 3 of 4 B is published: what is as in the class is left out.
TEST(HfConfig, AWrappedTextModelHasTheSizesOfItsClass) {
  Json config = {{"model_type", "gemma3"}, {"tie_word_embeddings", true}};
  config["text_config"] = Json::parse(R"({"model_type": "gemma3_text", "num_hidden_layers": 34,
      "hidden_size": 2560, "intermediate_size": 10240, "sliding_window": 1024,
      "rope_scaling": {"rope_type": "linear", "factor": 8.0}})");
  const ModelConfig read = read_hf_config(config, "config.json");
  EXPECT_EQ(read.shape.n_layers, 34);
  EXPECT_EQ(read.shape.hidden, 2560);
  EXPECT_EQ(read.shape.n_heads, 8);
  EXPECT_EQ(read.shape.n_kv_heads, 4);
  EXPECT_EQ(read.shape.head_dim, 256);
  EXPECT_EQ(read.shape.vocabulary, 262208);
  EXPECT_EQ(read.shape.norm_epsilon, 1e-6);
  EXPECT_EQ(find_field(read, "heads")->provenance, Provenance::kFamilyDefault);

  // LLaVA 1.5, whose text model says next to nothing.
  Json llava = {{"model_type", "llava"}, {"vision_config", Json::object()}};
  llava["text_config"] = {{"model_type", "llama"}, {"vocab_size", 32064}, {"rms_norm_eps", 1e-5}};
  const ModelConfig vicuna = read_hf_config(llava, "config.json");
  EXPECT_EQ(vicuna.shape.n_layers, 32);
  EXPECT_EQ(vicuna.shape.n_kv_heads, 32);
  EXPECT_EQ(vicuna.shape.head_dim, 128);
  EXPECT_EQ(vicuna.shape.ffn, 11008);
  EXPECT_EQ(vicuna.shape.vocabulary, 32064);
  EXPECT_EQ(vicuna.shape.norm_epsilon, 1e-5);

  config["text_config"]["num_attention_heads"] = 3;
  EXPECT_THAT(refusal_to_run(config), HasSubstr("text_config.num_key_value_heads: must divide"));
}

TEST(HfConfig, AModelOfItsOwnSaysItsSizes) {
  EXPECT_THAT(refusal_to_run({{"model_type", "gemma3_text"}, {"num_hidden_layers", 6}}),
              HasSubstr("hidden_size: must be present"));
}

// Its prompt is looked at both ways, so that losses of a causal text model are not its own.
TEST(HfConfig, WrappersThatChangeTheirTextModelAreNotRun) {
  Json config = {{"model_type", "paligemma"}};
  config["text_config"] = small_config();
  EXPECT_THAT(refusal_to_run(config),
              AllOf(HasSubstr("model_type: must be one of those"),
                    HasSubstr("got paligemma; it reads a prompt both ways")));
  config["model_type"] = "mllama";
  EXPECT_THAT(refusal_to_run(config), HasSubstr("got mllama; it leaves out layers"));
  config["model_type"] = "another";
  EXPECT_THAT(refusal_to_run(config), HasSubstr("got another"));
}

TEST(HfConfig, FlagsAreTrueOrFalse) {
  for (const char* key : {"attention_bias", "mlp_bias", "tie_word_embeddings", "use_sliding_window",
                          "is_encoder_decoder"}) {
    for (const char* value : {"1.5", "1", "0", "\"true\"", "[]"}) {
      EXPECT_THAT(refusal(with(key, value)),
                  HasSubstr(std::string(key) + ": must be true or false, got " + value +
                            "; write it without quotes, and as no number"));
    }
    for (const char* value : {"true", "false", "null"})
      EXPECT_NO_THROW(positions(with(key, value)));
  }
  // Llama-4's first files.
  EXPECT_NO_THROW(positions(with("attn_temperature_tuning", "4")));
  EXPECT_THAT(refusal(with("attn_temperature_tuning", "\"on\"")),
              HasSubstr("must be true, false or a whole number"));
}

TEST(HfConfig, FlagsOfAWrappersTextModelAreTrueOrFalse) {
  Json config = {{"model_type", "llava"}, {"text_config", small_config()}};
  config["text_config"]["attention_bias"] = 1;
  EXPECT_THAT(refusal(config), HasSubstr("text_config.attention_bias: must be true or false"));
  config["text_config"].erase("attention_bias");
  config["tie_word_embeddings"] = "false";
  EXPECT_THAT(refusal(config), HasSubstr("json: tie_word_embeddings: must be true or false"));
}

TEST(HfConfig, SizesThatNoModelHasAreRefused) {
  EXPECT_THAT(refusal(with("num_attention_heads", "536870912")),
              HasSubstr("num_attention_heads: must not exceed 16384, which no known model comes "
                        "near, got 536870912; the file is damaged: fetch or convert it anew"));
  EXPECT_THAT(refusal(with("num_key_value_heads", "536870912")), HasSubstr("num_key_value_heads"));
  EXPECT_THAT(refusal(with("hidden_size", "536870912")), HasSubstr("hidden_size: must not exceed"));
  EXPECT_THAT(refusal(with("intermediate_size", "536870912")),
              HasSubstr("intermediate_size: must not exceed"));
  EXPECT_THAT(refusal(with("vocab_size", "536870912")), HasSubstr("vocab_size: must not exceed"));
}

TEST(HfConfig, WrongTypesAreRefused) {
  EXPECT_THAT(refusal(with("num_attention_heads", "4.0")), HasSubstr("must be an integer"));
  EXPECT_THAT(refusal(with("num_hidden_layers", "9007199254740992")),
              HasSubstr("num_hidden_layers"));
  EXPECT_THAT(refusal(with("head_dim", "9007199254740992")), HasSubstr("head_dim"));
  EXPECT_THAT(refusal(with("max_position_embeddings", "1e30")), HasSubstr("must be an integer"));
  EXPECT_THAT(refusal(with("rope_theta", "\"10000\"")), HasSubstr("must be a number"));
  EXPECT_THAT(refusal(with("rope_theta", "true")), HasSubstr("must be a number"));
  EXPECT_THAT(refusal(with("rope_scaling", "\"dynamic\"")),
              HasSubstr("rope_scaling: must be an object"));
  EXPECT_THAT(refusal(with("layer_types", "[\"full_attention\"]")), HasSubstr("layer_types"));
}

TEST(HfConfig, SwappedBetasAreRefused) {
  EXPECT_THAT(refusal(with("rope_scaling", R"({"type": "yarn", "factor": 4, "beta_fast": 1,
                          "beta_slow": 32, "original_max_position_embeddings": 1024})")),
              HasSubstr("are the two swapped?"));
}

TEST(HfConfig, MultipliersWithoutMeasureAreRefused) {
  for (const char* key :
       {"beta_fast", "attention_factor", "attn_factor", "mscale", "mscale_all_dim"}) {
    const std::string block = R"({"type": "yarn", "factor": 4, ")" + std::string(key) +
                              R"(": 1e308, "original_max_position_embeddings": 1024})";
    EXPECT_THAT(refusal(with("rope_scaling", block.c_str())),
                HasSubstr("rope_scaling." + std::string(key) + ": must be"));
  }
}

TEST(HfConfig, AStrangersTextNeitherFloodsNorGarblesTheTerminal) {
  const Json bad = "\x1b[31m" + std::string(10000, 'x');
  Json config = with("model_type", "\"llama\"");
  config["model_type"] = bad;
  const std::string model = refusal(config);
  EXPECT_THAT(model, HasSubstr("got \\x1b[31mxxx"));
  config = with("rope_scaling", R"({"type": "linear", "factor": 2})");
  config["rope_scaling"]["type"] = bad;
  const std::string type = refusal(config);
  EXPECT_THAT(type, HasSubstr("got \\x1b[31mxxx"));
  for (const std::string& said : {model, type}) {
    EXPECT_THAT(said, Not(HasSubstr(std::string(61, 'x'))));
    EXPECT_EQ(said.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace ropewalk
