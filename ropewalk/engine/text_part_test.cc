#include "ropewalk/engine/text_part.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Renaming = std::function<std::string(const std::string& name)>;

MemorySource named(const std::vector<std::string>& names) {
  std::map<std::string, MemorySource::Tensor> tensors;
  for (const std::string& name : names) tensors[name] = {{1}, {0}};
  return MemorySource(tensors);
}

TEST(TextPart, NamesOfEveryVersionAreFound) {
  struct {
    const char *body, *head, *tower;
  } const versions[] = {
      {"model.", "lm_head", "visual."},
      {"model.language_model.", "lm_head", "model.visual."},
      {"model.language_model.", "lm_head", "model.vision_tower."},
      {"language_model.model.", "language_model.lm_head", "vision_tower."},
      {"language_model.", "lm_head", "vision_tower."},
      {"model.text_model.", "lm_head", "model.vision_model."},
  };
  for (const auto& [body, head, tower] : versions) {
    const TextPart part = find_text_part(
        named({std::string(body) + "layers.0.mlp.up_proj.weight", std::string(head) + ".weight",
               std::string(tower) + "layers.0.weight", std::string(tower) + "norm.bias"}));
    EXPECT_EQ(part.body, body);
    EXPECT_EQ(part.head, head);
    EXPECT_EQ(part.left_out, 2) << tower;
    EXPECT_THAT(part.towers, ElementsAre(tower));
    TensorNames names = usual_hf_names();
    move_names(part, names);
    const MemorySource source = named({});
    const Weights weights(source, names);
    EXPECT_EQ(weights.name_of("attn_q", 3), std::string(body) + "layers.3.self_attn.q_proj.weight");
    EXPECT_EQ(weights.name_of("output"), std::string(head) + ".weight");
    EXPECT_EQ(weights.name_of("token_embd"), std::string(body) + "embed_tokens.weight");
  }
}

TEST(TextPart, NoneAndTwoAreRefused) {
  EXPECT_THAT(
      message_of([] { find_text_part(named({"visual.layers.0.weight"})); }),
      AllOf(HasSubstr("must hold a text model"), HasSubstr("language_model.model.layers.")));
  EXPECT_THAT(message_of([] {
                find_text_part(named({"model.layers.0.a", "language_model.model.layers.0.a"}));
              }),
              AllOf(HasSubstr("must hold one text model"),
                    HasSubstr("model.layers. and language_model.model.layers.")));
}

// The committed directory, wrapped: its tensors renamed, a tower beside them.
class Wrapped {
 public:
  explicit Wrapped(const std::string& wrapper, const Renaming& rename, const std::string& tower)
      : header_(Json::object()) {
    const std::string own = fixture("tiny_llama_hf");
    Json config = {{"model_type", wrapper}, {"vision_config", Json::object()}};
    config["text_config"] = Json::parse(read_file(own + "/config.json"));
    config["text_config"].erase("tie_word_embeddings");
    const std::string weights = read_file(own + "/model.safetensors");
    uint64_t length = 0;
    std::memcpy(&length, weights.data(), sizeof(length));
    data_ = weights.substr(sizeof(length) + length);
    const Json tensors = Json::parse(weights.substr(sizeof(length), length));
    for (const auto& [name, tensor] : tensors.items()) {
      if (name != "__metadata__") header_[rename(name)] = tensor;
    }
    add(tower);
    folder_.write("config.json", config.dump());
  }

  void add(const std::string& name) {
    header_[name] = {{"dtype", "F32"},
                     {"shape", {2}},
                     {"data_offsets", {data_.size(), data_.size() + 2 * sizeof(float)}}};
    data_.resize(data_.size() + 2 * sizeof(float));
  }

  ModelFile open() const {
    const std::string header = header_.dump();
    const uint64_t length = header.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    folder_.write("model.safetensors", bytes + header + data_);
    return open_model(folder_.path());
  }
  Model load() const { return Model(open(), Precision::kF32); }

 private:
  TempDirectory folder_;
  Json header_;
  std::string data_;
};

Renaming below(const std::string& body, const std::string& before_rest) {
  return [=](const std::string& name) {
    const std::string own = "model.";
    return name.starts_with(own) ? body + name.substr(own.size()) : before_rest + name;
  };
}

TEST(TextPart, AWrappedModelLosesWhatItsTextModelAloneDoes) {
  const std::string own = fixture("tiny_llama_hf");
  const std::vector<int32_t> ids = some_tokens(40);
  const auto losses_of = [&](const Model& model) {
    return model.losses(ids, make_positions(model.config(), {}));
  };
  const std::vector<double> wanted = losses_of(Model::load(own, Precision::kF32));
  const Wrapped older("llava", below("language_model.model.", "language_model."), "image_newline");
  EXPECT_EQ(older.open().text_part->left_out, 1);
  EXPECT_EQ(losses_of(older.load()), wanted);
  const Wrapped newer("llava", below("model.language_model.", ""), "model.vision_tower.norm");
  EXPECT_EQ(losses_of(newer.load()), wanted);
  const auto weights_of = [](const ModelFile& file) {
    return estimate_memory(file, MemoryRun::losses(Precision::kF32, 40, nullptr)).weights;
  };
  EXPECT_EQ(weights_of(newer.open()), weights_of(open_model(own)));
}

// A part that the engine does not know could be the text model's: it is named, not passed over.
TEST(TextPart, OtherTensorsAreRefused) {
  Wrapped wrapped("llava", below("language_model.model.", "language_model."), "vision_tower.norm");
  wrapped.add("language_model.model.layers.0.self_attn.q_proj.bias");
  EXPECT_THAT(message_of([&] { wrapped.load(); }), HasSubstr("q_proj.bias: must have shape"));
  const Wrapped other("llava", below("language_model.model.", "language_model."), "gates.norm");
  EXPECT_THAT(message_of([&] { other.load(); }),
              AllOf(HasSubstr("gates.norm"), HasSubstr("Llama family does not have")));
}

TEST(TextPart, OtherWrappersAreRefused) {
  EXPECT_THAT(
      message_of([] {
        Wrapped("paligemma", below("language_model.model.", "language_model."), "visual.a").open();
      }),
      AllOf(HasSubstr("config.json: model_type: must be one of"), HasSubstr("paligemma")));
}

}  // namespace
}  // namespace ropewalk
