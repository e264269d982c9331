#include "ropewalk/engine/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"
#include "ropewalk/engine/embedding.h"
#include "ropewalk/engine/layer_scratch.h"
#include "ropewalk/engine/pass_sizes.h"
#include "ropewalk/engine/rotation_tables.h"
#include "ropewalk/engine/row_blocks.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk {
namespace {

struct Layer {
  Norm attention_norm;  // or none
  Norm ffn_norm;        // or none: of a parallel layer, attention_norm's rows are taken
  Norm attention_post_norm, ffn_post_norm;  // or none
  AttentionPart attention;
  FeedForward feed_forward;
};

// What generation token by token keeps of positions.
struct DecodeState {
  const Positions* positions = nullptr;
  std::vector<std::unique_ptr<DecodeRotations>> schemes;
  DecodeWorkspace workspace;
};

template <typename Element>
struct Cache : KvCache {
  std::vector<KvTiles<Element>> layers;
  DecodeState decoding;
  ScratchPool<LayerScratch> scratch;
  std::unique_ptr<LayerScratch> few;  // for passes of few rows, made by the first
  std::vector<float> bias;            // (n_heads, capacity) by distance, or empty

  explicit Cache(const Blueprint& blueprint)
      : scratch([&blueprint] { return LayerScratch(blueprint, Dense::kBlockRows); }) {}
  int64_t capacity() const override { return layers.empty() ? 0 : layers.front().capacity(); }
};

// What one pass carries from layer to layer; rows padded to whole blocks.
struct State {
  AlignedBuffer<float> residual;                 // (rows, hidden)
  AlignedBuffer<float> q;                        // (rows, n_heads, head_dim)
  AlignedBuffer<float> k;                        // (rows, n_kv_heads, head_dim)
  AlignedBuffer<float> v;                        // (rows, n_kv_heads, head_dim)
  AlignedBuffer<float> attended;                 // (rows, n_heads, head_dim)
  AlignedBuffer<float> log_sum_exp;              // (rows, n_heads), where some layer has sinks
  ScratchPool<LayerScratch>* scratch = nullptr;  // the cache's
  LayerScratch* few = nullptr;                   // the cache's, where there are few rows
  bool decodes = false;                          // the one row goes by the kernels of generation
  // (n_schemes, n_rows), what the logits of each row are multiplied by.
  std::vector<std::vector<float>> row_scale;
};

class Transformer : public Decoder {
 public:
  Transformer(const Blueprint& blueprint, const ModelConfig& config, const TensorSource& source,
              Precision precision, Holding holding)
      : blueprint_(blueprint),
        shape_(blueprint.shape),
        precision_(precision),
        weights_(source, blueprint.names, holding),
        embedding_(weights_, blueprint),
        output_norm_(read_output_norm()),
        head_(weights_, blueprint, precision),
        rotates_(rotated_layers(config, shape_.n_layers)) {
    for (int64_t n = 0; n < shape_.n_layers; ++n) layers_.push_back(read_layer(n));
    if (blueprint.experts && std::ranges::none_of(layers_, [](const Layer& layer) {
          return layer.feed_forward.has_experts();
        })) {
      throw Error(source.name() + ": expert_count",
                  "must be absent or 0 where no layer has ffn_gate_inp",
                  std::to_string(blueprint.experts->count))
          .of(FaultKind::kInconsistent);
    }
    weights_.refuse_unused(blueprint.family);
  }

  int64_t vocabulary() const override { return shape_.vocabulary; }
  const OutputHead& head() const override { return head_; }

  std::unique_ptr<KvCache> make_cache(int64_t capacity) const override {
    if (precision_ == Precision::kBf16) return make_cache_of<Bf16>(capacity);
    return make_cache_of<float>(capacity);
  }

  AlignedBuffer<float> forward(const Pass& pass, KvCache& cache) const override {
    if (precision_ == Precision::kBf16) return forward_with(pass, static_cast<Cache<Bf16>&>(cache));
    return forward_with(pass, static_cast<Cache<float>&>(cache));
  }

 private:
  Norm read_output_norm() {
    const std::string part = "output_norm";
    if (blueprint_.bare_norms && !weights_.has(weights_.name_of(part)))
      return Norm::plain(blueprint_.norm, shape_.norm_epsilon, shape_.hidden);
    return Norm::read(weights_, blueprint_, part, -1, shape_.hidden);
  }

  Layer read_layer(int64_t n) {
    const LayerReader reader(weights_, blueprint_, precision_, n);
    Norm attention_norm = reader.residual_norm(blueprint_.attention_norm, blueprint_.bare_norms);
    Norm ffn_norm =
        reader.residual_norm(blueprint_.ffn_norm, blueprint_.bare_norms || blueprint_.parallel);
    // Falcon's name for the norm before attention, where both halves have one.
    if (Norm second = reader.norm_if("attn_norm_2", shape_.hidden); second) {
      ffn_norm = std::move(attention_norm);
      attention_norm = std::move(second);
    }
    if (blueprint_.bare_norms && !attention_norm) {
      attention_norm = ffn_norm = Norm::plain(blueprint_.norm, shape_.norm_epsilon, shape_.hidden);
    }
    return {.attention_norm = std::move(attention_norm),
            .ffn_norm = std::move(ffn_norm),
            .attention_post_norm = reader.residual_norm(blueprint_.attention_post_norm),
            .ffn_post_norm = reader.residual_norm(blueprint_.ffn_post_norm),
            .attention = AttentionPart(reader, rotates_[size(n)]),
            .feed_forward = FeedForward(reader)};
  }

  template <typename Element>
  std::unique_ptr<KvCache> make_cache_of(int64_t capacity) const {
    auto cache = std::make_unique<Cache<Element>>(blueprint_);
    for (int64_t n = 0; n < shape_.n_layers; ++n)
      cache->layers.emplace_back(shape_.n_kv_heads, shape_.head_dim, capacity);
    cache->bias = distance_bias(capacity);
    return cache;
  }

  template <typename Element>
  AlignedBuffer<float> forward_with(const Pass& pass, Cache<Element>& cache) const {
    const auto rows = static_cast<int64_t>(pass.ids.size());
    State state = make_state(rows);
    state.scratch = &cache.scratch;
    embedding_.embed(pass.ids, pass.first_row, state.residual.data());
    if (rows <= Dense::kFewRows) {
      if (cache.few == nullptr)
        cache.few = std::make_unique<LayerScratch>(blueprint_, Dense::kFewRows);
      state.few = cache.few.get();
    }
    // In float32 a row has the bits that it has among others, which decode() does not keep.
    state.decodes =
        precision_ == Precision::kBf16 && rows == 1 && pass.first_row + 1 == pass.length;
    if (state.decodes) stand_at(pass, cache);
    RotationTables tables(*pass.positions, pass.length, pass.first_row, rows, blueprint_.chunk);
    for (size_t scheme = 0; scheme < pass.positions->schemes.size(); ++scheme) {
      state.row_scale.push_back(tables.row_scale(scheme));
      scale(blueprint_.score_factor(), state.row_scale.back());
    }
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      const Layer& layer = layers_[size(n)];
      const Dense::Kept kept = state.few == nullptr ? keep(layer) : Dense::Kept();
      project(layer, rows, state);
      if (pass.observer) show(pass, n, state);
      cache.layers[size(n)].store(pass.first_row, rows, state.k.data(), state.v.data());
      if (state.decodes) {
        decode_row(pass, n, cache, state);
      } else {
        attend_rows(pass, n, tables, cache, state);
      }
      finish(layer, rows, state);
      if (pass.progress)
        pass.progress(static_cast<double>(n + 1) / static_cast<double>(shape_.n_layers));
    }
    output_norm_.apply(state.residual.data(), rows, state.residual.data());
    return std::move(state.residual);
  }

  State make_state(int64_t rows) const {
    const PassSizes sizes(blueprint_, rows);
    return {.residual = AlignedBuffer<float>(size(sizes.residual)),
            .q = AlignedBuffer<float>(size(sizes.q)),
            .k = AlignedBuffer<float>(size(sizes.k)),
            .v = AlignedBuffer<float>(size(sizes.k)),
            .attended = AlignedBuffer<float>(size(sizes.q)),
            .log_sum_exp = AlignedBuffer<float>(size(sizes.log_sum_exp))};
  }

  // For all blocks of rows; few rows meet each matrix but once.
  static Dense::Kept keep(const Layer& layer) {
    std::vector<const Dense*> matrices = layer.attention.matrices();
    const std::vector<const Dense*> more = layer.feed_forward.matrices();
    matrices.insert(matrices.end(), more.begin(), more.end());
    return Dense::keep(matrices);
  }

  // q, k and v of all rows.
  void project(const Layer& layer, int64_t rows, State& state) const {
    in_blocks(rows, state, [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
      const float* in = state.residual.data() + first * shape_.hidden;
      if (layer.attention_norm) {
        layer.attention_norm.apply(in, block.rows(), scratch.norm.data());
        in = scratch.norm.data();
      }
      const int64_t q = first * shape_.n_heads * shape_.head_dim;
      const int64_t k = first * shape_.n_kv_heads * shape_.head_dim;
      layer.attention.project(block, in, state.q.data() + q, state.k.data() + k, state.v.data() + k,
                              scratch.attention);
    });
  }

  void show(const Pass& pass, int64_t n, const State& state) const {
    pass.observer({.layer = n,
                   .first_row = pass.first_row,
                   .n_rows = static_cast<int64_t>(pass.ids.size()),
                   .q = state.q.data(),
                   .k = state.k.data(),
                   .score_factor = blueprint_.score_factor(),
                   .row_scale = state.row_scale[pass.positions->layers[size(n)]],
                   .softcap = blueprint_.score_softcap,
                   .sinks = layers_[size(n)].attention.sinks(),
                   .chunk = rotates_[size(n)] ? blueprint_.chunk : 0});
  }

  // Output projection, residual, and the feed-forward half.
  void finish(const Layer& layer, int64_t rows, State& state) const {
    in_blocks(rows, state, [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
      float* const residual = state.residual.data() + first * shape_.hidden;
      float* const attended = state.attended.data() + first * shape_.n_heads * shape_.head_dim;
      float* const back = scratch.back.data();
      const size_t count = size(block.rows() * shape_.hidden);
      const auto add_back = [&](const Norm& post_norm, float* rows_back) {
        if (post_norm) post_norm.apply(rows_back, block.rows(), rows_back);
        if (blueprint_.residual_scale == 1) return add({rows_back, count}, {residual, count});
        add_scaled(blueprint_.residual_scale, {rows_back, count}, {residual, count});
      };
      const auto feed = [&](float* out) {
        const float* in = residual;
        const Norm& norm =
            layer.ffn_norm || !blueprint_.parallel ? layer.ffn_norm : layer.attention_norm;
        if (norm) {
          norm.apply(residual, block.rows(), scratch.norm.data());
          in = scratch.norm.data();
        }
        layer.feed_forward.apply(block, in, out, scratch.feed_forward);
      };
      if (blueprint_.parallel) feed(scratch.more.data());
      layer.attention.finish(block, attended, back);
      add_back(layer.attention_post_norm, back);
      if (!blueprint_.parallel) feed(back);
      add_back(layer.ffn_post_norm, blueprint_.parallel ? scratch.more.data() : back);
    });
  }

  // Runs body(first, block, scratch) over all rows.
  template <typename Body>
  void in_blocks(int64_t rows, State& state, const Body& body) const {
    if (state.few == nullptr) return in_row_blocks(rows, *state.scratch, body);
    using Sharing = RowBlock::Sharing;
    const Sharing sharing = state.decodes ? Sharing::kStored : Sharing::kOutputs;
    body(0, RowBlock(rows, sharing, state.few->dense), *state.few);
  }

  // (n_heads, length) of the distances' bias; empty: none.
  std::vector<float> distance_bias(int64_t length) const {
    std::vector<float> bias;
    for (const double slope : blueprint_.alibi_slopes) {
      for (int64_t d = 0; d < length; ++d)
        bias.push_back(static_cast<float>(-slope * static_cast<double>(d)));
    }
    return bias;
  }

  // Makes each scheme ready for the one row of the pass.
  template <typename Element>
  void stand_at(const Pass& pass, Cache<Element>& cache) const {
    DecodeState& decoding = cache.decoding;
    if (decoding.positions != pass.positions) {
      decoding.positions = pass.positions;
      decoding.schemes.clear();
      for (const Rotary& rotary : pass.positions->schemes) {
        decoding.schemes.push_back(
            std::make_unique<DecodeRotations>(rotary, cache.capacity(), pass.positions->angles));
      }
    }
    for (const auto& scheme : decoding.schemes) scheme->stand_at(pass.first_row);
  }

  template <typename Element>
  void decode_row(const Pass& pass, int64_t n, Cache<Element>& cache, State& state) const {
    const size_t scheme = pass.positions->layers[size(n)];
    const std::vector<float>& sinks = layers_[size(n)].attention.sinks();
    const DecodeStep<Element> step{
        .rotations = cache.decoding.schemes[scheme].get(),
        .kv = &cache.layers[size(n)],
        .queries = state.q.data(),
        .row_scale = state.row_scale[scheme],
        .out = state.attended.data(),
        .first_key = first_key(n, pass.first_row),
        .log_sum_exp = sinks.empty() ? std::span<float>()
                                     : std::span(state.log_sum_exp.data(), size(shape_.n_heads))};
    decode(step, shape_.n_heads, {.softcap = blueprint_.score_softcap, .distance_bias = cache.bias},
           cache.decoding.workspace);
    if (!sinks.empty()) drain(sinks, 1, state);
  }

  // Keys before it are in other chunks than a row.
  int64_t first_key(int64_t n, int64_t row) const {
    const bool chunked = blueprint_.chunk != 0 && rotates_[size(n)];
    return chunked ? row / blueprint_.chunk * blueprint_.chunk : 0;
  }

  template <typename Element>
  void attend_rows(const Pass& pass, int64_t n, RotationTables& tables, const Cache<Element>& cache,
                   State& state) const {
    const size_t scheme = pass.positions->layers[size(n)];
    const std::span<const float> row_scale = state.row_scale[scheme];
    const AttentionOptions options{
        .products = precision_ == Precision::kBf16 ? Products::kBf16 : Products::kFloat,
        .softcap = blueprint_.score_softcap,
        .distance_bias = cache.bias};
    const std::vector<float>& sinks = layers_[size(n)].attention.sinks();
    const std::vector<int64_t>& starts = tables.spans(scheme);
    for (size_t s = 0; s < starts.size(); ++s) {
      const Rotations& rotations = tables.span(scheme, s);
      const int64_t first = starts[s] - pass.first_row, heads = first * shape_.n_heads;
      const AttentionSequence<Element> sequence{
          .rotations = &rotations,
          .kv = &cache.layers[size(n)],
          .queries = state.q.data() + heads * shape_.head_dim,
          .row_scale = row_scale.subspan(size(first), size(rotations.n_rows())),
          .out = state.attended.data() + heads * shape_.head_dim,
          .first_key = first_key(n, starts[s]),
          .log_sum_exp = sinks.empty() ? std::span<float>()
                                       : std::span(state.log_sum_exp.data() + heads,
                                                   size(rotations.n_rows() * shape_.n_heads))};
      attend<Element>(std::span(&sequence, 1), shape_.n_heads, options);
    }
    if (!sinks.empty()) drain(sinks, static_cast<int64_t>(pass.ids.size()), state);
  }

  // What a sink takes of the weights of each row and head.
  void drain(const std::vector<float>& sinks, int64_t rows, State& state) const {
    for (int64_t at = 0; at < rows * shape_.n_heads; ++at) {
      const float sink = sinks[size(at % shape_.n_heads)];
      const float kept = 1.0f / (1.0f + std::exp(sink - state.log_sum_exp[size(at)]));
      scale(kept, {state.attended.data() + at * shape_.head_dim, size(shape_.head_dim)});
    }
  }

  Blueprint blueprint_;
  ModelShape shape_;
  Precision precision_;
  Weights weights_;
  Embedding embedding_;
  Norm output_norm_;
  OutputHead head_;
  std::vector<bool> rotates_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<Decoder> make_transformer(const Blueprint& blueprint, const ModelConfig& config,
                                          const TensorSource& source, Precision precision,
                                          Holding holding) {
  return std::make_unique<Transformer>(blueprint, config, source, precision, holding);
}

}  // namespace ropewalk
