// `ropewalk check` as a user runs it.
#include <cstring>
#include <filesystem>
#include <limits>

#include "ropewalk/config/test_support.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/testing/split_gguf.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

class CheckCommand : public ProgramTest {
 protected:
  static std::vector<std::string> keys(const Json& list) {
    std::vector<std::string> found;
    for (const Json& entry : list) found.push_back(entry["key"]);
    return found;
  }
};

TEST_F(CheckCommand, ACleanFileExitsWithZero) {
  for (const std::string& model :
       {config("clean", small_llama()), fixture("tiny_llama.gguf"), fixture("tiny_llama_hf")}) {
    const RunResult result = run({"check", model, "--strict"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("\nclean\n"));
    EXPECT_LE(longest_line(result.out), 110u + model.size());
  }
}

TEST_F(CheckCommand, EveryFaultIsNamedWithKeyRuleValue) {
  Json document = small_llama();
  document["rope_theta"] = -1;
  document["max_position_embeddings"] = "long";
  document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 0.125}};
  const std::string model = config("wrong", document);
  const Json json = run_json({"check", model}, 1);
  EXPECT_THAT(keys(json["faults"]),
              UnorderedElementsAre("rope_theta", "max_position_embeddings", "rope_scaling.factor"));
  for (const Json& fault : json["faults"]) {
    EXPECT_NE(fault["rule"], "");
    EXPECT_FALSE(fault["value"].is_null()) << fault;
  }
  EXPECT_EQ(json["exit_status"], 1);
  const RunResult text = run({"check", model});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("fault: rope_theta: "), HasSubstr("got \"long\""),
                              HasSubstr("\n3 faults\n")));
}

TEST_F(CheckCommand, OfAGgufFileToo) {
  GgufBuilder builder = plain_gguf();
  builder.set("llama.rope.freq_base", 0.5F).set("llama.rope.scaling.type", std::string("ntk"));
  const Json json = run_json({"check", file("wrong.gguf", builder.file())}, 1);
  EXPECT_THAT(keys(json["faults"]),
              UnorderedElementsAre("llama.rope.freq_base", "llama.rope.scaling.type"));
  EXPECT_EQ(json["tensors"]["not_read"], "the file holds metadata only");
}

// A value that the file does not say: assumed, and refused by --strict alone.
TEST_F(CheckCommand, StrictRefusesWhatIsAssumed) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 2.0}};
  const std::string model = config("assumed", document);
  const Json json = run_json({"check", model});
  EXPECT_EQ(json["assumed"].size(), 1u);
  EXPECT_EQ(json["faults"].size(), 0u);
  EXPECT_EQ(run_json({"check", model, "--strict"}, 1)["exit_status"], 1);
  EXPECT_THAT(run({"check", model, "--strict"}).out, HasSubstr("refused, as --strict says"));
}

// The text model under its own names, a tower beside it.
TEST_F(CheckCommand, TowersForImagesAreCounted) {
  const std::string own = fixture("tiny_llama_hf"), folder = path("wrapped");
  std::filesystem::create_directories(folder);
  const Json text = Json::parse(read_file(own + "/config.json"));
  const Json wrapper = {
      {"model_type", "llava"}, {"text_config", text}, {"vision_config", Json::object()}};
  file("wrapped/config.json", wrapper.dump());
  const std::string weights = read_file(own + "/model.safetensors");
  uint64_t length = 0;
  std::memcpy(&length, weights.data(), sizeof(length));
  Json header = Json::parse(weights.substr(sizeof(length), length));
  const std::string data = weights.substr(sizeof(length) + length) + std::string(4, '\0');
  header["visual.norm"] = {
      {"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {data.size() - 4, data.size()}}};
  const std::string head = header.dump();
  length = head.size();
  file("wrapped/model.safetensors",
       std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + head + data);
  const Json json = run_json({"check", folder});
  EXPECT_EQ(json["runs"], true);
  EXPECT_EQ(json["left_out"], Json({{"count", 1}, {"starts", {"visual."}}}));
  EXPECT_THAT(run({"check", folder}).out, HasSubstr("1 tensor of towers for images or sounds"));
}

TEST_F(CheckCommand, BytesBehindTheTensorsAreTold) {
  const std::string whole = read_file(fixture("tiny_llama.gguf"));
  const std::string model = file("longer.gguf", whole + std::string(500, 'x'));
  const Json json = run_json({"check", model});
  ASSERT_EQ(json["warnings"].size(), 1u) << json;
  EXPECT_THAT(json["warnings"][0]["text"].get<std::string>(),
              HasSubstr("500 bytes follow the last tensor"));
  EXPECT_EQ(run({"check", model, "--strict"}).status, 1);
}

TEST_F(CheckCommand, TensorsThatAreNotDecodedAreNotCalledFinite) {
  const GgufFile tiny = GgufFile::open(fixture("tiny_llama.gguf"));
  std::string bytes = read_file(fixture("tiny_llama.gguf"));
  // blk.1.ffn_norm.weight becomes of an integer type, which no weight has.
  const TensorInfo* const info = tiny.find_tensor("blk.1.ffn_norm.weight");
  ASSERT_NE(info, nullptr);
  const size_t name = bytes.find("blk.1.ffn_norm.weight");
  const size_t type = name + info->name.size() + 4 + 8 * info->shape.size();
  const uint32_t int32 = 26;
  std::memcpy(bytes.data() + type, &int32, sizeof(int32));
  const Json json = run_json({"check", file("integers.gguf", bytes)}, 1);
  EXPECT_EQ(json["tensors"]["not_decodable"].size(), 1u);
  EXPECT_EQ(json["tensors"]["finite"], tiny.tensors().size() - 1);
  EXPECT_EQ(json["tensors"]["count"], tiny.tensors().size());
}

TEST_F(CheckCommand, NamesEveryTensorThatHoldsNoNumber) {
  const GgufFile tiny = GgufFile::open(fixture("tiny_llama.gguf"));
  std::string bytes = read_file(fixture("tiny_llama.gguf"));
  const float wrong = std::numeric_limits<float>::infinity();
  for (const char* name : {"blk.0.ffn_norm.weight", "blk.1.ffn_norm.weight"}) {
    std::memcpy(bytes.data() + tiny.find_tensor(name)->offset, &wrong, sizeof(wrong));
  }
  const Json json = run_json({"check", file("damaged.gguf", bytes)}, 1);
  EXPECT_THAT(keys(json["faults"]),
              UnorderedElementsAre("blk.0.ffn_norm.weight", "blk.1.ffn_norm.weight"));
}

TEST_F(CheckCommand, WhatIsNoModelIsAFaultInJsonToo) {
  const Json json = run_json({"check", file("broken.json", "{\"model_type\": ")}, 1);
  ASSERT_EQ(json["faults"].size(), 1u);
  EXPECT_TRUE(json["format"].is_null());
  EXPECT_THAT(run({"check", path("nothing.gguf")}).out, HasSubstr("nothing.gguf"));
}

TEST_F(CheckCommand, AHeaderAloneIsCheckedAsFarAsItGoesAndACutFileIsNot) {
  const std::string whole = read_file(fixture("tiny_llama.gguf"));
  const uint64_t header = GgufFile::open(fixture("tiny_llama.gguf")).data_offset();
  const RunResult alone = run({"check", file("header.gguf", whole.substr(0, header))});
  EXPECT_EQ(alone.status, 0) << alone.out;
  EXPECT_THAT(alone.out, HasSubstr("a header alone"));
  const RunResult cut = run({"check", file("cut.gguf", whole.substr(0, header + 1000))});
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.out, AllOf(HasSubstr("must hold all its tensors"),
                             HasSubstr("the first " + std::to_string(header) + " bytes")));
}

// A part that lies alone lacks the tensors of the others, which is no fault of it.
TEST_F(CheckCommand, AFirstPartIsNotJudgedByWhatOtherPartsHold) {
  const std::vector<float> values(32, 1.0F);
  const auto part = [&](uint32_t number, uint32_t total) {
    GgufBuilder builder = plain_gguf();
    builder.set("split.no", number).set("split.count", uint32_t{2});
    builder.set("split.tensors.count", total).set("llama.feed_forward_length", uint32_t{64});
    builder.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    return builder.tensor("blk." + std::to_string(number) + ".attn_norm.weight", values).file();
  };
  const std::string first = file("m-00001-of-00002.gguf", part(0, 2));
  const Json alone = run_json({"check", first}, 1);
  EXPECT_THAT(keys(alone["faults"]), UnorderedElementsAre(path("m-00002-of-00002.gguf")));
  file("m-00002-of-00002.gguf", part(1, 2));
  EXPECT_EQ(run({"check", first}).status, 0);

  // The two parts hold two tensors.
  const Json more = run_json({"check", file("m-00001-of-00002.gguf", part(0, 3))}, 1);
  EXPECT_THAT(keys(more["faults"]), UnorderedElementsAre("split.tensors.count"));
  EXPECT_EQ(more["faults"][0]["kind"], "sum_mismatch");
  const Json fewer = run_json({"check", file("n-00001-of-00002.gguf", part(0, 0))}, 1);
  EXPECT_THAT(keys(fewer["faults"]), UnorderedElementsAre("split.tensors.count"));
}

TEST_F(CheckCommand, AllPartsAreLookedAtWhereTheyAreThere) {
  const GgufFile tiny = GgufFile::open(fixture("tiny_llama.gguf"));
  const std::vector<std::string> parts = split_gguf(tiny, 2);
  const std::string first = file(part_name("m", 0, 2), parts[0]);
  const std::string second = part_name("m", 1, 2);
  const Json alone = run_json({"check", first}, 1);
  EXPECT_FALSE(alone["runs"]);
  EXPECT_THAT(keys(alone["faults"]), UnorderedElementsAre(path(second)));
  EXPECT_THAT(run({"show", first}).out, HasSubstr(second + ": must be there"));

  file(second, parts[1]);
  const Json whole = run_json({"check", first});
  EXPECT_TRUE(whole["runs"]) << whole;
  EXPECT_EQ(run({"check", first, "--strict"}).status, 0);  // nothing is said of tensors elsewhere
  EXPECT_THAT(run({"show", first}).out, Not(HasSubstr("must be")));
  EXPECT_EQ(whole["tensors"]["count"], tiny.tensors().size());
  EXPECT_EQ(whole["tensors"]["finite"], tiny.tensors().size());

  file(second, parts[1].substr(0, parts[1].size() - 32));
  const Json cut = run_json({"check", first}, 1);
  ASSERT_EQ(cut["faults"].size(), 1u) << cut;
  EXPECT_THAT(cut["faults"][0]["key"].get<std::string>(), HasSubstr(second + ": tensor "));
}

// All that are missing at once; a header that was saved alone is not meant to run.
TEST_F(CheckCommand, EveryPartThatIsMissingIsNamed) {
  const std::vector<std::string> parts = split_gguf(GgufFile::open(fixture("tiny_llama.gguf")), 3);
  const std::string first = file(part_name("m", 0, 3), parts[0]);
  const Json alone = run_json({"check", first}, 1);
  ASSERT_EQ(alone["faults"].size(), 1u) << alone;
  EXPECT_EQ(alone["faults"][0]["key"], path(part_name("m", 1, 3)));
  EXPECT_EQ(alone["faults"][0]["kind"], "missing_key");
  EXPECT_THAT(alone["faults"][0]["value"].get<std::string>(), HasSubstr(part_name("m", 2, 3)));
  const uint64_t header = GgufFile::open(first).data_offset();
  EXPECT_EQ(run({"check", file(part_name("n", 0, 3), parts[0].substr(0, header))}).status, 0);
}

TEST_F(CheckCommand, EveryShardThatIsMissingIsNamed) {
  const std::string folder = config("shards", small_llama());
  file("shards/model.safetensors.index.json", R"({"weight_map": {"a": "one", "b": "two"}})");
  const Json json = run_json({"check", folder}, 1);
  EXPECT_THAT(keys(json["faults"]), UnorderedElementsAre(folder + "/one"));
  EXPECT_EQ(json["faults"][0]["value"], "neither it nor two");
}

TEST_F(CheckCommand, WeightsThatAreNotReadAreNotCalledClean) {
  const std::string sharded = config("sharded", small_llama());
  file("sharded/model-00001-of-00002.safetensors", "");
  file("sharded/model-00002-of-00002.safetensors", "");
  const Json json = run_json({"check", sharded}, 1);
  EXPECT_THAT(keys(json["faults"]), UnorderedElementsAre("model.safetensors.index.json"));

  const std::string pytorch = config("pytorch", small_llama());
  file("pytorch/pytorch_model.bin", "");
  const Json warned = run_json({"check", pytorch});
  EXPECT_THAT(keys(warned["warnings"]), UnorderedElementsAre("model.safetensors"));
  EXPECT_THAT(warned["warnings"][0]["text"].get<std::string>(), HasSubstr("pytorch_model.bin"));
}

TEST_F(CheckCommand, ATextThatCannotBeScoredIsAFault) {
  const std::string text = file("text.txt", "abcabc");
  const Json json = run_json({"check", config("bare", small_llama()), "--text", text}, 1);
  EXPECT_THAT(keys(json["faults"]), UnorderedElementsAre("--text"));
  EXPECT_THAT(json["faults"][0]["value"].get<std::string>(), HasSubstr("no model.safetensors"));
}

// Sizes decide what memory is asked for, so that they are looked at before it is foretold.
TEST_F(CheckCommand, SizesThatTheTensorsDoNotHaveAreFaults) {
  const std::string own = fixture("tiny_llama_hf"), folder = path("absurd");
  std::filesystem::create_directories(folder);
  file("absurd/model.safetensors", read_file(own + "/model.safetensors"));
  const std::vector<std::pair<std::string, int64_t>> sizes = {
      {"num_attention_heads", int64_t{1} << 29},
      {"num_attention_heads", 1 << 14},
      {"num_hidden_layers", 4096},
      {"intermediate_size", 1 << 22},
      {"num_key_value_heads", 4},
      {"head_dim", 4096}};
  for (const auto& [key, value] : sizes) {
    Json document = Json::parse(read_file(own + "/config.json"));
    document[key] = value;
    file("absurd/config.json", document.dump());
    const Json json = run_json({"check", folder}, 1);
    ASSERT_EQ(json["faults"].size(), 1u) << json;
    // The number of heads and their width are one size of a tensor.
    EXPECT_EQ(json["faults"][0]["key"], key == "head_dim" ? "num_attention_heads" : key);
    EXPECT_FALSE(json["faults"][0]["mend"].is_null());
    EXPECT_TRUE(json["obstacle"].is_null()) << json;
  }
}

TEST_F(CheckCommand, ATextThatIsTooShortIsNotCalledMissing) {
  const RunResult result =
      run({"check", fixture("tiny_llama.gguf"), "--text", file("short.txt", "abcabc")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("fault: --text: must have at least 32 tokens"),
                                HasSubstr("the text that was given does not tell"),
                                Not(HasSubstr("without --text"))));
}

// What engines do all the same with a file that is refused here.
TEST_F(CheckCommand, AConflictSaysWhatEnginesDo) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2.0}};
  const Json json = run_json({"check", config("conflict", document)}, 1);
  ASSERT_GE(json["faults"].size(), 1u);
  EXPECT_EQ(json["faults"][0]["kind"], "conflict");
  EXPECT_EQ(json["faults"][0]["engines"].size(), 3u);
}

}  // namespace
}  // namespace ropewalk
