// The command on files of encoders, made here.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "ropewalk/config/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

constexpr uint32_t kHidden = 8, kHeads = 2, kFfn = 12, kVocabulary = 9, kPositions = 6;

class Maker {
 public:
  explicit Maker(const std::string& architecture) {
    file_.set("general.architecture", architecture)
        .set(architecture + ".block_count", uint32_t{1})
        .set(architecture + ".context_length", kPositions)
        .set(architecture + ".embedding_length", kHidden)
        .set(architecture + ".feed_forward_length", kFfn)
        .set(architecture + ".attention.head_count", kHeads)
        .set(architecture + ".attention.layer_norm_epsilon", 1e-6f);
    matrix("token_embd", kVocabulary, kHidden);
  }
  GgufBuilder& file() { return file_; }

  void matrix(const std::string& part, uint64_t outputs, uint64_t inputs) {
    std::normal_distribution<float> normal;
    std::vector<float> values(outputs * inputs);
    for (float& value : values) value = normal(generator_);
    file_.tensor(part + ".weight", values, outputs);
  }
  void norm(const std::string& part) {
    file_.tensor(part + ".weight", std::vector<float>(kHidden, 1));
  }
  void layer(const std::string& layer, const std::string& output) {
    for (const char* part : {"attn_q", "attn_k", "attn_v"}) matrix(layer + part, kHidden, kHidden);
    matrix(layer + output, kHidden, kHidden);
    matrix(layer + "ffn_up", kFfn, kHidden);
    matrix(layer + "ffn_down", kHidden, kFfn);
  }

 private:
  GgufBuilder file_;
  std::mt19937 generator_{3};
};

std::string bert_file() {
  Maker bert("bert");
  bert.file().set("bert.attention.causal", false);
  bert.matrix("position_embd", kPositions, kHidden);
  bert.matrix("token_types", 2, kHidden);
  bert.norm("token_embd_norm");
  bert.layer("blk.0.", "attn_output");
  bert.norm("blk.0.attn_output_norm");
  bert.norm("blk.0.layer_output_norm");
  return bert.file().file();
}

std::string t5_file() {
  Maker t5("t5");
  t5.file().set("t5.attention.relative_buckets_count", uint32_t{8});
  for (const std::string stack : {"enc.", "dec."}) {
    t5.layer(stack + "blk.0.", "attn_o");
    t5.matrix(stack + "blk.0.attn_rel_b", 8, kHeads);
    for (const char* part : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"})
      t5.norm(stack + part);
  }
  for (const char* part : {"cross_attn_q", "cross_attn_k", "cross_attn_v", "cross_attn_o"})
    t5.matrix(std::string("dec.blk.0.") + part, kHidden, kHidden);
  t5.norm("dec.blk.0.cross_attn_norm");
  return t5.file().file();
}

// As transformers saves it: a header of names, then all numbers.
class Safetensors {
 public:
  void add(const std::string& name, const std::vector<uint32_t>& shape) {
    uint32_t count = 1;
    for (const uint32_t length : shape) count *= length;
    std::normal_distribution<float> normal;
    const size_t before = bytes_.size();
    for (uint32_t k = 0; k < count; ++k) {
      const float value = normal(generator_);
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {before, bytes_.size()}}};
  }
  void linear(const std::string& name, uint32_t outputs, uint32_t inputs) {
    add(name + ".weight", {outputs, inputs});
    add(name + ".bias", {outputs});
  }
  void norm(const std::string& name) {
    add(name + ".weight", {kHidden});
    add(name + ".bias", {kHidden});
  }
  std::string file() const {
    const std::string header = header_.dump();
    const uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + header + bytes_;
  }

 private:
  nlohmann::json header_;
  std::string bytes_;
  std::mt19937 generator_{4};
};

std::string bert_weights() {
  Safetensors bert;
  bert.add("bert.embeddings.word_embeddings.weight", {kVocabulary, kHidden});
  bert.add("bert.embeddings.position_embeddings.weight", {kPositions, kHidden});
  bert.add("bert.embeddings.token_type_embeddings.weight", {2, kHidden});
  bert.norm("bert.embeddings.LayerNorm");
  const std::string layer = "bert.encoder.layer.0.";
  for (const char* part : {"attention.self.query", "attention.self.key", "attention.self.value",
                           "attention.output.dense"})
    bert.linear(layer + part, kHidden, kHidden);
  bert.norm(layer + "attention.output.LayerNorm");
  bert.linear(layer + "intermediate.dense", kFfn, kHidden);
  bert.linear(layer + "output.dense", kHidden, kFfn);
  bert.norm(layer + "output.LayerNorm");
  bert.linear("cls.predictions.transform.dense", kHidden, kHidden);
  bert.norm("cls.predictions.transform.LayerNorm");
  bert.add("cls.predictions.bias", {kVocabulary});
  return bert.file();
}

class States : public ProgramTest {
 protected:
  std::string bert_directory() const {
    std::filesystem::create_directories(path("bert"));
    const Json config = {{"model_type", "bert"},
                         {"hidden_size", kHidden},
                         {"num_hidden_layers", 1},
                         {"num_attention_heads", kHeads},
                         {"intermediate_size", kFfn},
                         {"vocab_size", kVocabulary},
                         {"max_position_embeddings", kPositions},
                         {"layer_norm_eps", 1e-6}};
    file("bert/config.json", config.dump());
    file("bert/model.safetensors", bert_weights());
    return path("bert");
  }
  std::string bert() const { return file("bert.gguf", bert_file()); }
  std::string t5() const { return file("t5.gguf", t5_file()); }
  std::string ids(const std::string& list = "[3, 4, 8, 0]") const { return file("ids.json", list); }
};

// The last norm weighs nothing here.
TEST_F(States, EveryTokenHasOne) {
  const Json json = run_json({"states", bert(), "--ids", ids()});
  EXPECT_EQ(json["tokens"], Json({3, 4, 8, 0}));
  ASSERT_EQ(json["states"].size(), 4u);
  for (const Json& row : json["states"]) {
    ASSERT_EQ(row.size(), kHidden);
    double sum = 0, squares = 0;
    for (const double value : row) sum += value, squares += value * value;
    EXPECT_NEAR(sum, 0, 1e-5);
    EXPECT_NEAR(squares, kHidden, 1e-3);
  }
  EXPECT_THAT(run({"states", bert(), "--ids", ids()}).out, HasSubstr("position"));
}

TEST_F(States, NpyHoldsWhatJsonSays) {
  const std::string out = path("states.npy");
  const Json json = run_json({"states", bert(), "--ids", ids(), "--npy", out});
  const std::string bytes = read_file(out);
  EXPECT_THAT(bytes, HasSubstr("(4, 8)"));
  std::vector<double> values(4 * kHidden);
  const size_t count = values.size() * sizeof(double);
  ASSERT_GT(bytes.size(), count);
  std::memcpy(values.data(), bytes.data() + bytes.size() - count, count);
  for (size_t k = 0; k < values.size(); ++k)
    EXPECT_NEAR(values[k], json["states"][k / kHidden][k % kHidden], 1e-6);
}

TEST_F(States, DirectoriesHaveThemAndLogitsOfMaskedTokens) {
  const std::string directory = bert_directory();
  EXPECT_EQ(run_json({"states", directory, "--ids", ids()})["states"].size(), 4u);
  const Json json = run_json({"states", directory, "--ids", ids(), "--logits-at", "1,3"});
  EXPECT_EQ(json["at"], Json({1, 3}));
  ASSERT_EQ(json["logits"].size(), 2u);
  EXPECT_EQ(json["logits"][1].size(), kVocabulary);
  const Json last = run_json({"states", directory, "--ids", ids(), "--logits-at", "3"});
  EXPECT_EQ(last["logits"][0], json["logits"][1]);
  EXPECT_NE(last["logits"][0], json["logits"][0]);
  EXPECT_THAT(run({"states", directory, "--ids", ids(), "--logits-at", "1"}).out,
              HasSubstr("probability"));
  const std::string out = path("logits.npy");
  run({"states", directory, "--ids", ids(), "--logits-at", "1,3", "--npy", out});
  EXPECT_THAT(read_file(out), HasSubstr("(2, 9)"));
  EXPECT_THAT(run({"states", directory, "--ids", ids(), "--logits-at", "4"}).err,
              HasSubstr("0 to 3"));
  EXPECT_THAT(run({"states", bert(), "--ids", ids(), "--logits-at", "1"}).err,
              HasSubstr("guesses masked tokens"));
  const RunResult checked = run({"check", directory});
  EXPECT_EQ(checked.status, 0) << checked.out;
}

TEST_F(States, LaterTokensMatterToo) {
  const Json one = run_json({"states", bert(), "--ids", ids("[3, 4, 8]")});
  const Json other = run_json({"states", bert(), "--ids", ids("[3, 4, 7]")});
  EXPECT_NE(one["states"][0], other["states"][0]);
}

TEST_F(States, DecodersBehindAnEncoderHaveLosses) {
  const std::string read = file("read.json", "[1, 2, 3, 4, 5]");
  const Json json = run_json({"losses", t5(), "--ids", ids(), "--encoder-ids", read});
  EXPECT_EQ(json["losses"].size(), 3u);
  const Json other =
      run_json({"losses", t5(), "--ids", ids(), "--encoder-ids", file("other.json", "[1, 2]")});
  EXPECT_NE(json["losses"][0], other["losses"][0]);
  EXPECT_EQ(run_json({"states", t5(), "--ids", ids()})["states"].size(), 4u);
}

TEST_F(States, WhatDoesNotApplyIsRefusedByName) {
  const auto refusal = [&](const std::vector<std::string>& words) {
    const RunResult result = run(words);
    EXPECT_EQ(result.status, 1) << words[0];
    return result.err;
  };
  const std::string llama = fixture("tiny_llama.gguf");
  EXPECT_THAT(refusal({"losses", bert(), "--ids", ids()}), HasSubstr("ropewalk states"));
  EXPECT_THAT(refusal({"extend", bert(), "--ids", ids(), "--to", "64"}),
              HasSubstr("ropewalk states"));
  EXPECT_THAT(refusal({"bands", bert(), "--ids", ids()}), HasSubstr("ropewalk states"));
  EXPECT_THAT(refusal({"losses", bert(), "--ids", ids(), "--encoder-ids", ids()}),
              HasSubstr("no next token"));
  EXPECT_THAT(refusal({"losses", t5(), "--ids", ids()}), HasSubstr("--encoder-ids"));
  EXPECT_THAT(refusal({"losses", llama, "--ids", ids(), "--encoder-ids", ids()}),
              HasSubstr("modern-bert"));
  EXPECT_THAT(refusal({"states", llama, "--ids", ids()}), HasSubstr("llama"));
  EXPECT_THAT(refusal({"states", fixture("tiny_llama_hf"), "--ids", ids()}),
              HasSubstr("modernbert"));
  EXPECT_THAT(refusal({"states", bert(), "--ids", ids("[3, 9]")}), HasSubstr("0 to 8"));
  EXPECT_THAT(refusal({"states", bert(), "--ids", ids("[]")}), HasSubstr("at least one"));
  EXPECT_THAT(refusal({"states", bert(), "--ids", ids("[1, 1, 1, 1, 1, 1, 1]")}),
              HasSubstr("learned row"));
}

TEST_F(States, CheckKnowsEncoders) {
  const RunResult result = run({"check", bert()});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("all where the bert architecture expects them"));
  const RunResult scored = run({"check", bert(), "--text", file("text", "words")});
  EXPECT_EQ(scored.status, 1);
  EXPECT_THAT(scored.out, HasSubstr("only losses of a text tell"));
}

}  // namespace
}  // namespace ropewalk
