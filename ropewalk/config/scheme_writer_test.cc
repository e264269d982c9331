#include "ropewalk/config/scheme_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/config/test_support.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// What any test needs: a model of 64 pairs and L = 4096, a place for it and for what is written.
class SchemeWriter : public testing::Test {
 protected:
  std::string gguf(const std::string& architecture = "llama") const {
    return folder_.write("model.gguf",
                         plain_gguf(architecture).tensor("weights", {1, 2, 3}).file());
  }
  std::string out(const std::string& name = "out.gguf") const {
    return (std::filesystem::path(folder_.path()) / name).string();
  }
  WriteReport write(const std::string& model, const std::string& scheme,
                    int64_t target_length = 0) const {
    return write_model(
        {.model = model, .scheme = scheme, .target_length = target_length, .output = out()});
  }
  WriteReport undo(const std::string& model) const {
    return write_model({.model = model, .output = out("undone"), .undo = true});
  }
  std::string refusal(const WriteRequest& request) const {
    const std::string message = message_of([&] { write_model(request); });
    EXPECT_FALSE(std::filesystem::exists(request.output) && request.output != request.model)
        << message;
    return message;
  }

  const TempDirectory folder_;
};

auto is_change(const std::string& key, const std::string& before, const std::string& after) {
  return AllOf(Field(&KeyChange::key, key), Field(&KeyChange::before, before),
               Field(&KeyChange::after, after));
}

TEST_F(SchemeWriter, EveryFixedSpectrumReadsBackAndIsUndone) {
  const std::string model = gguf();
  const std::string original = sha256_hex(as_bytes(read_file(model)));
  for (const std::string scheme :
       {"rope", "declared", "linear,factor=8", "base,factor=4.7", "ntk,factor=3.3",
        "ntk_by_parts,factor=8", "ntk_mixed,factor=8", "yarn,factor=8", "yarn,factor=2.1",
        "yarn,factor=8,ramp=turns", "yarn,factor=8,attention_factor=1",
        "llama3,factor=8,low=1,high=4"}) {
    const WriteReport report = write(model, scheme, 32768);
    EXPECT_EQ(report.original, original) << scheme;
    EXPECT_EQ(report.data_before, report.data_after) << scheme;
    EXPECT_NE(report.data_before, "") << scheme;
    EXPECT_LT(report.largest_difference, 2e-7) << scheme;
    EXPECT_THAT(report.keys, Contains(is_change("llama.context_length", "4096", "32768")));

    const WriteReport undone = undo(out());
    EXPECT_EQ(undone.written, original) << scheme;
    EXPECT_EQ(undone.restored, original) << scheme;
    EXPECT_EQ(read_file(out("undone")), read_file(model)) << scheme;
  }
  EXPECT_EQ(sha256_hex(as_bytes(read_file(model))), original);
}

// Front ends allow what the file says: by the bare keys, not by our reading of the model.
TEST_F(SchemeWriter, EXT_08_TheFileAllowsTheLengthThatWasAskedFor) {
  for (const std::string scheme : {"linear,factor=8", "yarn,factor=8", "yarn,factor=8,ramp=turns",
                                   "llama3,factor=8,low=1,high=4"}) {
    write(gguf(), scheme, 32768);
    const GgufFile written = GgufFile::open(out(), GgufData::kOptional);
    EXPECT_EQ(written.metadata().get_i64("llama.context_length"), 32768) << scheme;
  }
}

TEST_F(SchemeWriter, SaysWhatItChanged) {
  const WriteReport report = write(gguf(), "yarn,factor=8,ramp=turns", 32768);
  EXPECT_EQ(report.how, "rope_freqs.weight with rope.scaling.attn_factor");
  EXPECT_THAT(report.keys,
              ElementsAre(is_change("llama.context_length", "4096", "32768"),
                          is_change("llama.rope.scaling.type", "", "none"),
                          is_change("llama.rope.scaling.original_context_length", "", "4096"),
                          is_change("llama.rope.scaling.attn_factor", "", "1.2079442")));
  EXPECT_THAT(report.added, ElementsAre("rope_freqs.weight"));
  EXPECT_THAT(report.removed, IsEmpty());
}

TEST_F(SchemeWriter, ReplacesADeclaredScalingWhole) {
  const std::string model = folder_.write(
      "scaled.gguf", plain_gguf()
                         .set("llama.rope.scaling.type", "yarn")
                         .set("llama.rope.scaling.factor", 2.0F)
                         .set("llama.rope.scaling.original_context_length", uint32_t{2048})
                         .set("llama.rope.scaling.attn_factor", 1.5F)
                         .set("llama.rope.scaling.yarn_beta_fast", 16.0F)
                         .tensor("rope_freqs.weight", std::vector<float>(64, 3))
                         .tensor("weights", {1, 2, 3})
                         .file());
  const WriteReport report = write(model, "ntk,factor=4", 8192);
  EXPECT_THAT(report.removed, ElementsAre("rope_freqs.weight"));
  EXPECT_THAT(report.keys, Contains(is_change("llama.rope.scaling.factor", "2", "")));
  EXPECT_THAT(report.keys, Contains(is_change("llama.rope.scaling.attn_factor", "1.5", "")));
  undo(out());
  EXPECT_EQ(read_file(out("undone")), read_file(model));
}

TEST_F(SchemeWriter, ALongerContextLeavesADeclaredScalingAlone) {
  const std::string model = folder_.write("yarn.gguf", plain_gguf()
                                                           .set("llama.rope.scaling.type", "yarn")
                                                           .set("llama.rope.scaling.factor", 4.0F)
                                                           .file());
  const WriteReport report = write(model, "declared", 16384);
  EXPECT_THAT(report.keys,
              ElementsAre(is_change("llama.context_length", "4096", "16384"),
                          is_change("llama.rope.scaling.original_context_length", "", "4096")));
}

TEST_F(SchemeWriter, RefusesByNameAndLeavesNothing) {
  const std::string model = gguf("qwen2");
  EXPECT_THAT(refusal({.model = model, .scheme = "cap,window=256", .output = out()}),
              HasSubstr("scheme part cap,window=256"));
  EXPECT_THAT(refusal({.model = model, .scheme = "ntk_by_parts,factor=8", .output = out()}),
              HasSubstr("got qwen2"));
  EXPECT_THAT(refusal({.model = model, .scheme = "dynamic_ntk", .output = out()}),
              HasSubstr("length of the sequence"));
  EXPECT_THAT(refusal({.model = model, .engine = TargetEngine::kVllm, .output = out()}),
              HasSubstr("must be llama.cpp for a GGUF file"));
  EXPECT_THAT(refusal({.model = model, .output = model}), HasSubstr("never modified"));
  EXPECT_THAT(refusal({.model = model, .output = out(), .undo = true}),
              HasSubstr("must be present to undo"));
  EXPECT_THAT(refusal({.model = model, .target_length = int64_t{1} << 33, .output = out()}),
              HasSubstr("32 bits"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(SchemeWriter, WritesAgainFromTheModelAsItWasTrained) {
  const std::string model = gguf();
  write(model, "linear,factor=2", 8192);
  const std::string direct = read_file(out());
  write(model, "ntk_by_parts,factor=8", 32768);
  const WriteReport again = write_model({.model = out(),
                                         .scheme = "linear,factor=2",
                                         .target_length = 8192,
                                         .output = out("more.gguf")});
  EXPECT_THAT(again.notes, Contains(HasSubstr("had been written before")));
  EXPECT_EQ(again.original, sha256_hex(as_bytes(read_file(model))));
  EXPECT_EQ(read_file(out("more.gguf")), direct);
  undo(out("more.gguf"));
  EXPECT_EQ(read_file(out("undone")), read_file(model));
}

// Where llama.cpp looks for frequency factors that may be in another part.
TEST_F(SchemeWriter, APartIsWrittenWhereItsFactorsAreKnown) {
  const auto part = [&](const std::string& architecture) {
    return plain_gguf(architecture)
        .set("split.no", uint32_t{0})
        .set("split.count", uint32_t{3})
        .tensor("weights", {1, 2, 3});
  };
  const auto file = [&](const GgufBuilder& builder) {
    return folder_.write("part.gguf", builder.file());
  };
  for (const char* architecture : {"llama", "phi3"}) {
    const std::string model = file(part(architecture));
    EXPECT_THAT(refusal({.model = model, .scheme = "linear,factor=2", .output = out()}),
                AllOf(HasSubstr("may be in another part"), HasSubstr("--merge")))
        << architecture;
    EXPECT_NO_THROW(write_model({.model = model, .target_length = 8192, .output = out()}));
    std::filesystem::remove(out());
  }
  EXPECT_NO_THROW(write(file(part("qwen2")), "linear,factor=2"));
  std::filesystem::remove(out());
  GgufBuilder with = part("llama");
  with.tensor("rope_freqs.weight", std::vector<float>(64, 2.0F));
  EXPECT_NO_THROW(write(file(with), "ntk_by_parts,factor=8"));
}

// ---- config.json

class ConfigWriter : public SchemeWriter {
 protected:
  std::string config(const nlohmann::ordered_json& more = nlohmann::ordered_json::object()) const {
    nlohmann::ordered_json document = {
        {"model_type", "llama"},           {"hidden_size", 4096},   {"num_attention_heads", 32},
        {"max_position_embeddings", 4096}, {"rms_norm_eps", 1e-05}, {"rope_theta", 10000.0}};
    document.update(more);
    return folder_.write("config.json", document.dump(4));
  }
  nlohmann::ordered_json write_config(const std::string& model, const std::string& scheme,
                                      TargetEngine engine = TargetEngine::kTransformers) const {
    report_ = write_model({.model = model,
                           .scheme = scheme,
                           .engine = engine,
                           .target_length = 32768,
                           .output = out("new")});
    return load_json(out("new/config.json"));
  }

  mutable WriteReport report_;
};

TEST_F(ConfigWriter, EveryTypeReadsBackAndIsUndone) {
  const std::string model = config();
  for (const TargetEngine engine : {TargetEngine::kTransformers, TargetEngine::kVllm}) {
    for (const std::string scheme : {"rope", "linear,factor=8", "ntk,factor=3.3", "yarn,factor=8",
                                     "yarn,factor=8,truncate=false", "yarn,factor=8,ramp=turns",
                                     "llama3,factor=8,low=1,high=4", "ntk_by_parts,factor=8"}) {
      const auto written = write_config(model, scheme, engine);
      EXPECT_EQ(written["max_position_embeddings"], 32768) << scheme;
      EXPECT_EQ(written["rms_norm_eps"], 1e-05) << scheme;
      EXPECT_LT(report_.largest_difference, 1e-14) << scheme;
      EXPECT_EQ(undo(out("new")).output, out("undone/config.json"));
      EXPECT_EQ(read_file(out("undone/config.json")), read_file(model)) << scheme;
    }
  }
}

TEST_F(ConfigWriter, DynamicKeepsTheLengthThatItCountsFrom) {
  const auto written = write_config(config(), "dynamic_ntk,block=all,factor=2");
  EXPECT_EQ(written["max_position_embeddings"], 4096);
  EXPECT_EQ(written["rope_scaling"]["rope_type"], "dynamic");
  EXPECT_THAT(report_.notes, Contains(HasSubstr("stays the trained length")));
}

TEST_F(ConfigWriter, WritesTheFormThatTheFileHas) {
  const auto written = write_config(
      config({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}}),
      "linear,factor=8");
  EXPECT_EQ(
      written["rope_parameters"],
      (nlohmann::ordered_json{{"rope_type", "linear"}, {"rope_theta", 10000.0}, {"factor", 8.0}}));
  EXPECT_FALSE(written.contains("rope_scaling"));
}

TEST_F(ConfigWriter, WritesAgainFromTheModelAsItWasTrained) {
  const std::string model = config();
  const auto direct = write_config(model, "linear,factor=8");
  write_config(model, "yarn,factor=8");
  std::filesystem::rename(out("new/config.json"), out("first.json"));
  const auto again = write_config(out("first.json"), "linear,factor=8");
  EXPECT_EQ(again, direct);
  EXPECT_THAT(report_.notes, Contains(HasSubstr("had been written before")));
}

TEST_F(ConfigWriter, UndoNamesWhatWasChangedSince) {
  auto written = write_config(config(), "linear,factor=8");
  written["hidden_size"] = 2048;
  written["added"] = true;
  const std::string changed = folder_.write("changed.json", written.dump());
  EXPECT_THAT(
      message_of([&] { undo(changed); }),
      AllOf(HasSubstr("hidden_size was 4096 when written, is 2048"),
            HasSubstr("added was absent when written, is true"), HasSubstr("set that back")));
  EXPECT_THAT(
      message_of([&] { write_config(changed, "yarn,factor=8"); }),
      AllOf(HasSubstr("hidden_size was 4096 when written, is 2048"),
            HasSubstr("in the original config.json and write from that"), Not(HasSubstr("undo,"))));
  written["hidden_size"] = 4096;
  written.erase("added");
  folder_.write("changed.json", written.dump());
  EXPECT_EQ(undo(changed).output, out("undone/config.json"));
}

// What cannot be written, why, and what can.
TEST_F(ConfigWriter, RefusalsSayWhatStandsInTheWay) {
  const auto refused = [&](const nlohmann::ordered_json& more, const std::string& scheme) {
    return message_of([&] { write_config(config(more), scheme); });
  };
  EXPECT_THAT(refused({{"model_type", "qwen"}, {"seq_length", 4096}, {"use_dynamic_ntk", true}},
                      "base,factor=2"),
              AllOf(HasSubstr("still be read as qwen_dynamic_ntk"), HasSubstr("false or null")));
  EXPECT_THAT(refused({{"model_type", "qwen"}, {"seq_length", 4096}, {"use_dynamic_ntk", true}},
                      "qwen_dynamic_ntk"),
              HasSubstr("--scheme declared leaves it"));
  EXPECT_THAT(refused({{"model_type", "qwen2"},
                       {"dual_chunk_attention_config",
                        {{"chunk_size", 2048},
                         {"local_size", 512},
                         {"original_max_position_embeddings", 4096}}}},
                      "linear,factor=2"),
              HasSubstr("set dual_chunk_attention_config to null"));
  EXPECT_THAT(refused({{"model_type", "modernbert"},
                       {"num_hidden_layers", 6},
                       {"rope_theta", 160000.0},
                       {"global_rope_theta", 160000.0},
                       {"local_rope_theta", 10000.0},
                       {"global_attn_every_n_layers", 3},
                       {"local_attention", 128}},
                      "ntk_by_parts,factor=2"),
              AllOf(HasSubstr("in layers sliding_attention"), HasSubstr("of their own"),
                    HasSubstr("yarn,factor=F")));
}

TEST_F(ConfigWriter, RefusesByName) {
  const std::string model = config();
  EXPECT_THAT(refusal({.model = model, .engine = TargetEngine::kLlamaCpp, .output = out("new")}),
              HasSubstr("must be transformers or vllm"));
  EXPECT_THAT(refusal({.model = model,
                       .engine = TargetEngine::kTransformers,
                       .type = WriteType::kF32,
                       .output = out("new")}),
              HasSubstr("must be same"));
  EXPECT_THAT(message_of([&] {
                write_model({.model = folder_.path(),
                             .scheme = "linear,factor=2",
                             .engine = TargetEngine::kVllm,
                             .output = folder_.path()});
              }),
              HasSubstr("never modified"));
}

}  // namespace
}  // namespace ropewalk
