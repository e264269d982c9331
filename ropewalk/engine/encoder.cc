#include "ropewalk/engine/encoder.h"

#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/both_ways_layers.h"
#include "ropewalk/engine/row_blocks.h"

namespace ropewalk {
namespace {

size_t size(int64_t n) { return static_cast<size_t>(n); }

// The rows that tokens begin as.
class Embedding {
 public:
  Embedding(Weights& weights, const Blueprint& blueprint)
      : source_(weights.source()),
        shape_(blueprint.shape),
        tokens_(weights.tensor(weights.name_of("token_embd"), shape_.vocabulary, shape_.hidden)),
        norm_(Norm::read_if(weights, blueprint, "token_embd_norm", -1, shape_.hidden)) {
    if (blueprint.token_types) read_first_type(weights);
    if (blueprint.position_table) {
      offset_ = blueprint.position_table->offset;
      const std::string name = weights.name_of("position_embd");
      positions_ = weights.vector(name, weights.count_of(name) / shape_.hidden * shape_.hidden);
    }
  }

  States operator()(std::span<const int32_t> ids) const {
    const auto n = static_cast<int64_t>(ids.size());
    States states{.n = n,
                  .hidden = shape_.hidden,
                  .values = AlignedBuffer<float>(size(whole_blocks(n) * shape_.hidden))};
    for (int64_t r = 0; r < n; ++r) {
      const std::span<float> row(states.values.data() + r * shape_.hidden, size(shape_.hidden));
      source_.read_rows(tokens_, static_cast<uint64_t>(ids[size(r)]), 1, row);
      if (!first_type_.empty()) add(first_type_, row);
      if (!positions_.empty()) add(position_row(r), row);
      if (norm_) norm_.apply(row.data(), 1, row.data());
    }
    return states;
  }

 private:
  // Text is of type 0, as llama.cpp has it.
  void read_first_type(Weights& weights) {
    const std::string name = weights.name_of("token_types");
    const int64_t rows = weights.count_of(name) / shape_.hidden;
    if (rows == 0) return;
    first_type_.resize(size(shape_.hidden));
    source_.read_rows(weights.tensor(name, rows, shape_.hidden), 0, 1, first_type_);
  }

  std::span<const float> position_row(int64_t position) const {
    const int64_t row = position + offset_;
    const int64_t rows = static_cast<int64_t>(positions_.size()) / shape_.hidden;
    if (row >= rows) {
      throw Error("position " + std::to_string(position),
                  "must be one of the " + std::to_string(rows - offset_) +
                      " that the model has a learned row for",
                  std::to_string(position), "learned positions do not stretch: shorten the text");
    }
    return std::span(positions_).subspan(size(row * shape_.hidden), size(shape_.hidden));
  }

  const TensorSource& source_;
  ModelShape shape_;
  const TensorInfo& tokens_;
  Norm norm_;                      // or none
  std::vector<float> first_type_;  // (hidden), or empty
  std::vector<float> positions_;   // (rows, hidden), or empty
  int64_t offset_ = 0;
};

std::vector<bool> rotated_layers(const ModelConfig& config, int64_t n_layers) {
  std::vector<bool> rotates;
  for (int64_t n = 0; n < n_layers; ++n) {
    const bool alike = config.group_of_layer.size() == 1;
    rotates.push_back(config.layer(alike ? 0 : size(n)).has_value());
  }
  return rotates;
}

class LayeredEncoder : public Encoder {
 public:
  LayeredEncoder(Weights& weights, const Blueprint& blueprint, const ModelConfig& config,
                 Precision precision)
      : vocabulary_(blueprint.shape.vocabulary),
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
    States states = embedding_(ids);
    layers_.run(states, &positions, nullptr, progress);
    if (output_norm_) output_norm_.apply(states.values.data(), states.n, states.values.data());
    return states;
  }

 private:
  int64_t vocabulary_;
  Embedding embedding_;
  BothWaysLayers layers_;
  Norm output_norm_;  // or none
};

class LayeredCrossDecoder : public CrossDecoder {
 public:
  LayeredCrossDecoder(Weights& weights, Weights& cross, const Blueprint& blueprint,
                      Precision precision)
      : vocabulary_(blueprint.shape.vocabulary),
        logit_scale_(blueprint.logit_scale),
        embedding_(weights, blueprint),
        layers_(weights, blueprint, std::vector<bool>(size(blueprint.shape.n_layers), false),
                &cross, precision),
        output_norm_(Norm::read(weights, blueprint, "output_norm", -1, blueprint.shape.hidden)),
        output_(
            weights.matrix(weights.name_of(blueprint.shape.tied_output ? "token_embd" : "output"),
                           vocabulary_, blueprint.shape.hidden),
            precision) {}

  States decode(std::span<const int32_t> ids, const States& encoded) const override {
    States states = embedding_(ids);
    layers_.run(states, nullptr, &encoded, {});
    output_norm_.apply(states.values.data(), states.n, states.values.data());
    return states;
  }

  const Dense& output() const override { return output_; }

  void finish_logits(float* logits, int64_t rows) const override {
    if (logit_scale_ != 1) scale(logit_scale_, {logits, size(rows * vocabulary_)});
  }

 private:
  int64_t vocabulary_;
  float logit_scale_;
  Embedding embedding_;
  BothWaysLayers layers_;
  Norm output_norm_;
  Dense output_;
};

}  // namespace

EncoderParts make_encoder(const EncoderBlueprints& blueprints, const ModelConfig& config,
                          const TensorSource& source, Precision precision) {
  const Blueprint& blueprint = blueprints.encoder;
  Weights weights(source, blueprint.names);
  // What a file may have behind the states that are given here.
  for (const char* head : {"cls", "cls.output", "cls.norm"}) {
    for (const char* kind : {"weight", "bias"}) weights.expect(weights.name_of(head, -1, kind));
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
  weights.refuse_unused(blueprint.family);
  return parts;
}

}  // namespace ropewalk
