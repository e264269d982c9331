#include "ropewalk/engine/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/attention_part.h"
#include "ropewalk/engine/feed_forward.h"
#include "ropewalk/engine/rotation_tables.h"
#include "ropewalk/engine/row_blocks.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlock = Dense::kBlockRows;

size_t size(int64_t n) { return static_cast<size_t>(n); }

// Rows that buffers of `rows` rows have.
int64_t padded(int64_t rows) {
  const int64_t block = rows <= kFewRows ? kFewRows : kBlock;
  return (rows + block - 1) / block * block;
}

struct Layer {
  Norm attention_norm;  // or none
  Norm ffn_norm;        // or none: of a parallel layer, attention_norm's rows are taken
  Norm attention_post_norm, ffn_post_norm;  // or none
  AttentionPart attention;
  FeedForward feed_forward;
};

// Buffers of one thread for a block of rows.
struct BlockScratch {
  AlignedBuffer<float> norm;  // (rows, hidden)
  AlignedBuffer<float> back;  // (rows, hidden)
  AlignedBuffer<float> more;  // (rows, hidden), of parallel layers
  AttentionScratch attention;
  FeedForwardScratch feed_forward;
  DenseScratch dense;

  //   rows  kFewRows or kBlock
  BlockScratch(const Blueprint& blueprint, int64_t rows)
      : norm(size(rows * blueprint.shape.hidden)),
        back(size(rows * blueprint.shape.hidden)),
        more(size(blueprint.parallel ? rows * blueprint.shape.hidden : 0)),
        attention(blueprint, rows),
        feed_forward(rows, blueprint.shape.hidden, FeedForward::inner_width(blueprint),
                     FeedForward::n_experts(blueprint)) {}
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
  std::unique_ptr<BlockScratch> few;  // for passes of few rows, made by the first

  int64_t capacity() const override { return layers.empty() ? 0 : layers.front().capacity(); }
};

// What one pass carries from layer to layer; rows padded to whole blocks.
struct State {
  AlignedBuffer<float> residual;     // (rows, hidden)
  AlignedBuffer<float> q;            // (rows, n_heads, head_dim)
  AlignedBuffer<float> k;            // (rows, n_kv_heads, head_dim)
  AlignedBuffer<float> v;            // (rows, n_kv_heads, head_dim)
  AlignedBuffer<float> attended;     // (rows, n_heads, head_dim)
  AlignedBuffer<float> log_sum_exp;  // (rows, n_heads), where some layer has sinks
  std::vector<float> bias;           // (n_heads, length) by distance, or empty
  BlockScratch* few = nullptr;       // the cache's, where there are few rows
};

class Transformer : public Decoder {
 public:
  Transformer(const Blueprint& blueprint, const ModelConfig& config, const TensorSource& source,
              Precision precision)
      : blueprint_(blueprint),
        shape_(blueprint.shape),
        precision_(precision),
        weights_(source, blueprint.names),
        embedding_(
            weights_.tensor(weights_.name_of("token_embd"), shape_.vocabulary, shape_.hidden)),
        embedding_norm_(Norm::read_if(weights_, blueprint, "token_embd_norm", -1, shape_.hidden)),
        output_norm_(read_output_norm()),
        output_(read_output()) {
    read_tables();
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      const size_t group = config.group_of_layer.size() == 1 ? 0 : size(n);
      rotates_.push_back(config.layer(group).has_value());
      layers_.push_back(read_layer(n));
    }
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
  const Dense& output() const override { return *output_.dense; }

  void finish_logits(float* logits, int64_t rows) const override {
    const Blueprint& knobs = blueprint_;
    if (output_.bias.empty() && knobs.logit_scale == 1 && knobs.logit_softcap == 0) return;
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<float> row(logits + r * shape_.vocabulary, size(shape_.vocabulary));
      if (!output_.bias.empty()) add(output_.bias, row);
      if (knobs.logit_scale != 1) scale(knobs.logit_scale, row);
      if (knobs.logit_softcap == 0) continue;
      for (float& logit : row) logit = knobs.logit_softcap * std::tanh(logit / knobs.logit_softcap);
    }
  }

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

  Linear read_output() {
    const std::string own = weights_.name_of("output");
    const bool tied = shape_.tied_output || !weights_.has(own);
    const std::string name = tied ? weights_.name_of("token_embd") : own;
    weights_.expect(own);
    return {Dense(weights_.matrix(name, shape_.vocabulary, shape_.hidden), precision_),
            weights_.vector_if(weights_.name_of("output", -1, "bias"), shape_.vocabulary)};
  }

  void read_tables() {
    if (!blueprint_.position_table) return;
    const std::string name = weights_.name_of("position_embd");
    position_rows_ = weights_.count_of(name) / shape_.hidden;
    positions_ = weights_.vector(name, position_rows_ * shape_.hidden);
  }

  Norm read_norm(const LayerReader& reader, const std::string& part, bool optional) const {
    if (part.empty()) return {};
    return optional ? reader.norm_if(part, shape_.hidden) : reader.norm(part, shape_.hidden);
  }

  Layer read_layer(int64_t n) {
    const LayerReader reader(weights_, blueprint_, precision_, n);
    Norm attention_norm = read_norm(reader, blueprint_.attention_norm, blueprint_.bare_norms);
    Norm ffn_norm =
        read_norm(reader, blueprint_.ffn_norm, blueprint_.bare_norms || blueprint_.parallel);
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
            .attention_post_norm = read_norm(reader, blueprint_.attention_post_norm, false),
            .ffn_post_norm = read_norm(reader, blueprint_.ffn_post_norm, false),
            .attention = AttentionPart(reader, rotates_[size(n)]),
            .feed_forward = FeedForward(reader)};
  }

  template <typename Element>
  std::unique_ptr<KvCache> make_cache_of(int64_t capacity) const {
    auto cache = std::make_unique<Cache<Element>>();
    for (int64_t n = 0; n < shape_.n_layers; ++n)
      cache->layers.emplace_back(shape_.n_kv_heads, shape_.head_dim, capacity);
    return cache;
  }

  template <typename Element>
  AlignedBuffer<float> forward_with(const Pass& pass, Cache<Element>& cache) const {
    const auto rows = static_cast<int64_t>(pass.ids.size());
    State state = embed(pass);
    if (rows <= kFewRows) {
      if (cache.few == nullptr) cache.few = std::make_unique<BlockScratch>(blueprint_, kFewRows);
      state.few = cache.few.get();
    }
    // In float32 a row has the bits that it has among others, which decode() does not keep.
    const bool decodes =
        precision_ == Precision::kBf16 && rows == 1 && pass.first_row + 1 == pass.length;
    if (decodes) stand_at(pass, cache);
    RotationTables tables(*pass.positions, pass.length, pass.first_row, rows, blueprint_.chunk);
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      const Layer& layer = layers_[size(n)];
      project(layer, rows, state);
      cache.layers[size(n)].store(pass.first_row, rows, state.k.data(), state.v.data());
      if (decodes) {
        decode_row(pass, n, tables, cache, state);
      } else {
        attend_rows(pass, n, tables, cache.layers[size(n)], state);
      }
      finish(layer, rows, state);
      if (pass.progress)
        pass.progress(static_cast<double>(n + 1) / static_cast<double>(shape_.n_layers));
    }
    output_norm_.apply(state.residual.data(), rows, state.residual.data());
    return std::move(state.residual);
  }

  State embed(const Pass& pass) const {
    const auto rows = static_cast<int64_t>(pass.ids.size());
    const int64_t n = padded(rows), hidden = shape_.hidden;
    const int64_t heads = shape_.n_heads * shape_.head_dim;
    const int64_t kv_heads = shape_.n_kv_heads * shape_.head_dim;
    const bool sinks = std::ranges::any_of(
        layers_, [](const Layer& layer) { return !layer.attention.sinks().empty(); });
    State state{.residual = AlignedBuffer<float>(size(n * hidden)),
                .q = AlignedBuffer<float>(size(n * heads)),
                .k = AlignedBuffer<float>(size(n * kv_heads)),
                .v = AlignedBuffer<float>(size(n * kv_heads)),
                .attended = AlignedBuffer<float>(size(n * heads)),
                .log_sum_exp = AlignedBuffer<float>(size(sinks ? n * shape_.n_heads : 0)),
                .bias = distance_bias(pass.length)};
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<float> row(state.residual.data() + r * hidden, size(hidden));
      weights_.source().read_rows(embedding_, static_cast<uint64_t>(pass.ids[size(r)]), 1, row);
      if (blueprint_.embedding_scale != 1) scale(blueprint_.embedding_scale, row);
      if (blueprint_.position_table) add(position_row(pass.first_row + r), row);
      if (embedding_norm_) embedding_norm_.apply(row.data(), 1, row.data());
    }
    return state;
  }

  std::span<const float> position_row(int64_t position) const {
    const int64_t row = position + blueprint_.position_table->offset;
    if (row >= position_rows_) {
      throw Error("position " + std::to_string(position),
                  "must be one of the " +
                      std::to_string(position_rows_ - blueprint_.position_table->offset) +
                      " that the model has a learned row for",
                  std::to_string(position), "learned positions do not stretch: shorten the text");
    }
    return std::span(positions_).subspan(size(row * shape_.hidden), size(shape_.hidden));
  }

  // q, k and v of all rows.
  void project(const Layer& layer, int64_t rows, State& state) const {
    in_blocks(rows, state, [&](int64_t first, const RowBlock& block, BlockScratch& scratch) {
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

  // Output projection, residual, and the feed-forward half.
  void finish(const Layer& layer, int64_t rows, State& state) const {
    in_blocks(rows, state, [&](int64_t first, const RowBlock& block, BlockScratch& scratch) {
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
    if (rows <= kFewRows) return body(0, RowBlock(rows, true, state.few->dense), *state.few);
    in_row_blocks(
        rows, [&] { return BlockScratch(blueprint_, kBlock); }, body);
  }

  // (n_rows), what the logits of each row are multiplied by.
  std::vector<float> row_scale(size_t scheme, const RotationTables& tables) const {
    std::vector<float> scale = tables.row_scale(scheme);
    const float of_heads = blueprint_.score_scale != 0
                               ? blueprint_.score_scale
                               : 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    for (float& row : scale) row *= of_heads;
    return scale;
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
  void decode_row(const Pass& pass, int64_t n, const RotationTables& tables, Cache<Element>& cache,
                  State& state) const {
    const size_t scheme = pass.positions->layers[size(n)];
    const std::vector<float> scale = row_scale(scheme, tables);
    const std::vector<float>& sinks = layers_[size(n)].attention.sinks();
    const DecodeStep<Element> step{
        .rotations = cache.decoding.schemes[scheme].get(),
        .kv = &cache.layers[size(n)],
        .queries = state.q.data(),
        .row_scale = scale,
        .out = state.attended.data(),
        .first_key = first_key(n, pass.first_row),
        .log_sum_exp = sinks.empty() ? std::span<float>()
                                     : std::span(state.log_sum_exp.data(), size(shape_.n_heads))};
    decode(step, shape_.n_heads, {.softcap = blueprint_.score_softcap, .distance_bias = state.bias},
           cache.decoding.workspace);
    if (!sinks.empty()) drain(sinks, 1, state);
  }

  // Keys before it are in other chunks than a row.
  int64_t first_key(int64_t n, int64_t row) const {
    const bool chunked = blueprint_.chunk != 0 && rotates_[size(n)];
    return chunked ? row / blueprint_.chunk * blueprint_.chunk : 0;
  }

  template <typename Element>
  void attend_rows(const Pass& pass, int64_t n, RotationTables& tables, const KvTiles<Element>& kv,
                   State& state) const {
    const size_t scheme = pass.positions->layers[size(n)];
    const std::vector<float> scale = row_scale(scheme, tables);
    const AttentionOptions options{
        .products = precision_ == Precision::kBf16 ? Products::kBf16 : Products::kFloat,
        .softcap = blueprint_.score_softcap,
        .distance_bias = state.bias};
    const std::vector<float>& sinks = layers_[size(n)].attention.sinks();
    const std::vector<int64_t>& starts = tables.spans(scheme);
    for (size_t s = 0; s < starts.size(); ++s) {
      const Rotations& rotations = tables.span(scheme, s);
      const int64_t first = starts[s] - pass.first_row, heads = first * shape_.n_heads;
      const AttentionSequence<Element> sequence{
          .rotations = &rotations,
          .kv = &kv,
          .queries = state.q.data() + heads * shape_.head_dim,
          .row_scale = std::span(scale).subspan(size(first), size(rotations.n_rows())),
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
  const TensorInfo& embedding_;
  Norm embedding_norm_;  // or none
  Norm output_norm_;
  Linear output_;
  std::vector<float> positions_;  // (position_rows_, hidden), or empty
  int64_t position_rows_ = 0;
  std::vector<bool> rotates_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<Decoder> make_transformer(const Blueprint& blueprint, const ModelConfig& config,
                                          const TensorSource& source, Precision precision) {
  return std::make_unique<Transformer>(blueprint, config, source, precision);
}

}  // namespace ropewalk
