#include "ropewalk/engine/encoder.h"

#include <string>

#include "ropewalk/base/size.h"
#include "ropewalk/engine/both_ways_layers.h"
#include "ropewalk/engine/embedding.h"
#include "ropewalk/engine/row_blocks.h"

namespace ropewalk {
namespace {

States embedded(const Embedding& embedding, std::span<const int32_t> ids, int64_t hidden) {
  const auto n = static_cast<int64_t>(ids.size());
  States states{
      .n = n, .hidden = hidden, .values = AlignedBuffer<float>(size(whole_blocks(n) * hidden))};
  embedding.embed(ids, 0, states.values.data());
  return states;
}

class LayeredEncoder : public Encoder {
 public:
  LayeredEncoder(Weights& weights, const Blueprint& blueprint, const ModelConfig& config,
                 Precision precision)
      : vocabulary_(blueprint.shape.vocabulary),
        hidden_(blueprint.shape.hidden),
        embedding_(weights, blueprint),
        layers_(weights, blueprint, rotated_layers(config, blueprint.shape.n_layers), nullptr,
                precision),
        // Of BERT's layers, whose own norm comes last, none.
        output_norm_(blueprint.norms_sums ? Norm()
                                          : Norm::read(weights, blueprint, "output_norm", -1,
                                                       blueprint.shape.hidden)) {}

  int64_t vocabulary() const override { return vocabulary_; }

  States encode(std::span<const int32_t> ids, const Positions& positions,
                const Progress& progress) const override {
    States states = embedded(embedding_, ids, hidden_);
    layers_.run(states, &positions, nullptr, progress);
    if (output_norm_) output_norm_.apply(states.values.data(), states.n, states.values.data());
    return states;
  }

 private:
  int64_t vocabulary_;
  int64_t hidden_;
  Embedding embedding_;
  BothWaysLayers layers_;
  Norm output_norm_;  // or none
};

class LayeredCrossDecoder : public CrossDecoder {
 public:
  LayeredCrossDecoder(Weights& weights, Weights& cross, const Blueprint& blueprint,
                      Precision precision)
      : hidden_(blueprint.shape.hidden),
        embedding_(weights, blueprint),
        layers_(weights, blueprint, std::vector<bool>(size(blueprint.shape.n_layers), false),
                &cross, precision),
        output_norm_(Norm::read(weights, blueprint, "output_norm", -1, blueprint.shape.hidden)),
        head_(weights, blueprint, precision) {}

  States decode(std::span<const int32_t> ids, const States& encoded) const override {
    States states = embedded(embedding_, ids, hidden_);
    layers_.run(states, nullptr, &encoded, {});
    output_norm_.apply(states.values.data(), states.n, states.values.data());
    return states;
  }

  const OutputHead& head() const override { return head_; }

 private:
  int64_t hidden_;
  Embedding embedding_;
  BothWaysLayers layers_;
  Norm output_norm_;
  OutputHead head_;
};

}  // namespace

EncoderParts make_encoder(const EncoderBlueprints& blueprints, const ModelConfig& config,
                          const TensorSource& source, Precision precision, WithMaskedHead head) {
  const Blueprint& blueprint = blueprints.encoder;
  Weights weights(source, blueprint.names);
  // What a file may have behind the states that are given here.
  for (const char* part : {"cls", "cls.output", "cls.norm"}) {
    for (const char* kind : {"weight", "bias"}) weights.expect(weights.name_of(part, -1, kind));
  }
  if (!blueprints.decoder) weights.expect(weights.name_of("output"));
  EncoderParts parts;
  parts.encoder = std::make_unique<LayeredEncoder>(weights, blueprint, config, precision);
  if (blueprints.decoder) {
    Weights own = weights.renamed(blueprints.decoder->names);
    Weights cross = weights.renamed(blueprints.cross);
    parts.decoder =
        std::make_unique<LayeredCrossDecoder>(own, cross, *blueprints.decoder, precision);
  }
  if (head == WithMaskedHead::kYes)
    parts.masked_head = std::make_unique<MaskedHead>(weights, blueprint, precision);
  weights.refuse_unused(blueprint.family);
  return parts;
}

}  // namespace ropewalk
