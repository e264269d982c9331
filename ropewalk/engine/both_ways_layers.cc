#include "ropewalk/engine/both_ways_layers.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"
#include "ropewalk/engine/layer_scratch.h"
#include "ropewalk/engine/row_blocks.h"
#include "ropewalk/kernels/attention_both_ways.h"
#include "ropewalk/kernels/rotate.h"

namespace ropewalk {
namespace {

//   own_window  tokens back that the layers of the scheme see by themselves, the own one included
void refuse_other_than_spectrum(const Rotary& rotary, const Spectrum& spectrum,
                                int64_t own_window) {
  const SpectrumRule::Length length = rotary.spectrum.length();
  const bool one_spectrum =
      length == SpectrumRule::Length::kFixed || length == SpectrumRule::Length::kSequence;
  const bool plain_distance = !rotary.distance.depends_on_length() && rotary.distance.is_identity();
  const Visibility& sight = rotary.visibility;
  if (one_spectrum && plain_distance && rotary.mask.past == PairMask::Past::kHeard &&
      (sight.window == kUnbounded || sight.window == own_window) && sight.sinks == 0 &&
      spectrum.decay.empty())
    return;
  throw Error("scheme", "must be one spectrum for all tokens where tokens see both ways",
              "a distance map, mask, window, decay, or a spectrum for each token",
              "take a scheme of spectra alone");
}

RowTurns turns_of(const Rotary& rotary, AngleMode angles, int64_t n, int64_t own_window) {
  const Spectrum spectrum = rotary.spectrum.at(rotary.spectrum.length_for_row(n - 1, n));
  refuse_other_than_spectrum(rotary, spectrum, own_window);
  std::vector<DoubleDouble> positions;
  RowTurns turns{.layout = rotary.layout,
                 .table = RotationRows<float>(spectrum.n_pairs(), n),
                 .row_scale = {}};
  for (int64_t i = 0; i < n; ++i) {
    positions.emplace_back(static_cast<double>(i));
    turns.row_scale.push_back(
        static_cast<float>(spectrum.logit_multiplier * rotary.temperature.at(i)));
  }
  RotationTable by_pair(spectrum.n_pairs(), n);
  fill_rotation_table(spectrum, angles, positions, 0, by_pair);
  const int64_t stride = turns.table.pair_stride;
  for (int64_t r = 0; r < n; ++r) {
    float* const cos = turns.table.entries.data() + r * 2 * stride;
    std::fill(cos + spectrum.n_pairs(), cos + stride, 1.0f);
    for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
      cos[pair] = by_pair.cos_of(pair)[r];
      cos[stride + pair] = by_pair.sin_of(pair)[r];
    }
  }
  return turns;
}

}  // namespace

std::vector<RowTurns> row_turns(const Positions& positions, int64_t n,
                                std::span<const int64_t> side_window) {
  // Layers of one scheme are of one group, whose sight is the same.
  std::vector<int64_t> windows(positions.schemes.size(), kUnbounded);
  for (size_t layer = 0; layer < std::min(side_window.size(), positions.layers.size()); ++layer) {
    if (side_window[layer] != kUnbounded) windows[positions.layers[layer]] = side_window[layer] + 1;
  }
  std::vector<RowTurns> turns;
  for (size_t s = 0; s < positions.schemes.size(); ++s)
    turns.push_back(turns_of(positions.schemes[s], positions.angles, n, windows[s]));
  return turns;
}

int64_t row_turns_bytes(const Positions& positions, int64_t n) {
  int64_t floats = 0;
  for (const Rotary& rotary : positions.schemes) {
    const int64_t pairs = rotary.spectrum.at(rotary.spectrum.length_for_row(n - 1, n)).n_pairs();
    floats += n * (2 * RotationRows<float>(pairs, 1).pair_stride + 1);
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

// Of a pass; rows padded to whole blocks.
struct BothWaysLayers::Buffers {
  AlignedBuffer<float> q;         // (rows, n_heads, head_dim)
  AlignedBuffer<float> attended;  // (rows, n_heads, head_dim)
  AlignedBuffer<float> k;         // (the longer of both sequences' rows, n_kv_heads, head_dim)
  AlignedBuffer<float> v;         // (the same)
  ScratchPool<LayerScratch> scratch;

  Buffers(const Blueprint& blueprint, int64_t rows, int64_t keys)
      : q(size(whole_blocks(rows) * blueprint.shape.n_heads * blueprint.shape.head_dim)),
        attended(q.size()),
        k(size(whole_blocks(keys) * blueprint.shape.n_kv_heads * blueprint.shape.head_dim)),
        v(k.size()),
        scratch([&blueprint] { return LayerScratch(blueprint, Dense::kBlockRows); }) {}
};

BothWaysLayers::BothWaysLayers(Weights& weights, const Blueprint& blueprint,
                               const std::vector<bool>& rotates, Weights* cross,
                               Precision precision)
    : blueprint_(blueprint), shape_(blueprint.shape), rotates_(rotates), causal_(cross != nullptr) {
  for (int64_t n = 0; n < shape_.n_layers; ++n)
    layers_.push_back(read_layer(weights, n, cross, precision));
}

BothWaysLayers::Layer BothWaysLayers::read_layer(Weights& weights, int64_t n, Weights* cross,
                                                 Precision precision) const {
  const LayerReader reader(weights, blueprint_, precision, n);
  Layer layer{.attention_norm =
                  reader.residual_norm(blueprint_.attention_norm, blueprint_.bare_first && n == 0),
              .cross_norm = {},
              .ffn_norm = reader.residual_norm(blueprint_.ffn_norm),
              .attention_post_norm = reader.residual_norm(blueprint_.attention_post_norm),
              .ffn_post_norm = reader.residual_norm(blueprint_.ffn_post_norm),
              .attention = AttentionPart(reader, rotates_[size(n)]),
              .cross = {},
              .feed_forward = FeedForward(reader),
              .buckets = read_buckets(reader)};
  if (cross != nullptr) {
    const LayerReader across(*cross, blueprint_, precision, n);
    layer.cross_norm = across.norm("attn_norm", shape_.hidden);
    layer.cross = AttentionPart(across, false);
    cross->expect(across.name("attn_rel_b"));  // some files have it; nobody's forward pass does
  }
  return layer;
}

// Layers without a table of their own take the first one's.
std::vector<float> BothWaysLayers::read_buckets(const LayerReader& reader) const {
  if (!blueprint_.buckets) return {};
  if (reader.layer() > 0 && !reader.has("attn_rel_b")) return layers_.front().buckets;
  return reader.weights().vector(reader.name("attn_rel_b"),
                                 blueprint_.buckets->n_buckets * shape_.n_heads);
}

void BothWaysLayers::run(States& states, const Positions* positions, const States* encoded,
                         const Progress& progress) const {
  const std::vector<RowTurns> turns = positions == nullptr
                                          ? std::vector<RowTurns>()
                                          : row_turns(*positions, states.n, blueprint_.side_window);
  Buffers buffers(blueprint_, states.n, std::max(states.n, encoded == nullptr ? 0 : encoded->n));
  for (int64_t n = 0; n < shape_.n_layers; ++n) {
    const Layer& layer = layers_[size(n)];
    attend(n, positions == nullptr ? nullptr : &turns[positions->layers[size(n)]], states, buffers);
    if (layer.cross) attend_across(layer, *encoded, states, buffers);
    feed(layer, states, buffers);
    if (progress) progress(static_cast<double>(n + 1) / static_cast<double>(shape_.n_layers));
  }
}

void BothWaysLayers::attend(int64_t n, const RowTurns* turns, States& states,
                            Buffers& buffers) const {
  const Layer& layer = layers_[size(n)];
  const int64_t width = shape_.n_heads * shape_.head_dim;
  const int64_t kv_width = shape_.n_kv_heads * shape_.head_dim;
  in_row_blocks(states.n, buffers.scratch,
                [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
                  const float* in = states.values.data() + first * shape_.hidden;
                  if (layer.attention_norm) {
                    layer.attention_norm.apply(in, block.rows(), scratch.norm.data());
                    in = scratch.norm.data();
                  }
                  layer.attention.project(block, in, buffers.q.data() + first * width,
                                          buffers.k.data() + first * kv_width,
                                          buffers.v.data() + first * kv_width, scratch.attention);
                });
  if (turns != nullptr && rotates_[size(n)]) {
    const auto heads = [&](AlignedBuffer<float>& of, int64_t count) {
      return in_place(HeadsView<float>{.data = of.data(),
                                       .n_tokens = states.n,
                                       .n_heads = count,
                                       .token_stride = count * shape_.head_dim,
                                       .head_stride = shape_.head_dim});
    };
    rotate<float>({.layout = turns->layout, .table = turns->table},
                  {heads(buffers.q, shape_.n_heads), heads(buffers.k, shape_.n_kv_heads)});
  }
  std::vector<float> row_scale =
      turns == nullptr ? std::vector<float>(size(states.n), 1.0f) : turns->row_scale;
  scale(blueprint_.score_factor(), row_scale);
  const std::vector<float> bias = distance_bias(layer.buckets, states.n);
  const int64_t side =
      blueprint_.side_window.empty() ? kUnbounded : blueprint_.side_window[size(n)];
  attend_both_ways({.n_queries = states.n,
                    .n_keys = states.n,
                    .n_heads = shape_.n_heads,
                    .n_kv_heads = shape_.n_kv_heads,
                    .head_dim = shape_.head_dim,
                    .queries = buffers.q.data(),
                    .keys = buffers.k.data(),
                    .values = buffers.v.data(),
                    .row_scale = row_scale,
                    .before = side,
                    .after = causal_ ? 0 : side,
                    .bias = bias,
                    .out = buffers.attended.data()});
  finish_attention(layer.attention, layer.attention_post_norm, states, buffers);
}

// Every row sees all that was encoded, wherever it stands.
void BothWaysLayers::attend_across(const Layer& layer, const States& encoded, States& states,
                                   Buffers& buffers) const {
  const int64_t width = shape_.n_heads * shape_.head_dim;
  const int64_t kv_width = shape_.n_kv_heads * shape_.head_dim;
  in_row_blocks(
      states.n, buffers.scratch, [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
        layer.cross_norm.apply(states.values.data() + first * shape_.hidden, block.rows(),
                               scratch.norm.data());
        layer.cross->project_queries(block, scratch.norm.data(), buffers.q.data() + first * width);
      });
  in_row_blocks(encoded.n, buffers.scratch,
                [&](int64_t first, const RowBlock& block, LayerScratch&) {
                  layer.cross->project_keys(block, encoded.values.data() + first * shape_.hidden,
                                            buffers.k.data() + first * kv_width,
                                            buffers.v.data() + first * kv_width);
                });
  const std::vector<float> row_scale(size(states.n), blueprint_.score_factor());
  attend_both_ways({.n_queries = states.n,
                    .n_keys = encoded.n,
                    .n_heads = shape_.n_heads,
                    .n_kv_heads = shape_.n_kv_heads,
                    .head_dim = shape_.head_dim,
                    .queries = buffers.q.data(),
                    .keys = buffers.k.data(),
                    .values = buffers.v.data(),
                    .row_scale = row_scale,
                    .out = buffers.attended.data()});
  finish_attention(*layer.cross, {}, states, buffers);
}

void BothWaysLayers::finish_attention(const AttentionPart& part, const Norm& post_norm,
                                      States& states, Buffers& buffers) const {
  in_row_blocks(
      states.n, buffers.scratch, [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
        part.finish(block, buffers.attended.data() + first * shape_.n_heads * shape_.head_dim,
                    scratch.back.data());
        add_back(post_norm, block.rows(), scratch.back.data(),
                 states.values.data() + first * shape_.hidden);
      });
}

void BothWaysLayers::feed(const Layer& layer, States& states, Buffers& buffers) const {
  in_row_blocks(states.n, buffers.scratch,
                [&](int64_t first, const RowBlock& block, LayerScratch& scratch) {
                  float* const residual = states.values.data() + first * shape_.hidden;
                  const float* in = residual;
                  if (layer.ffn_norm) {
                    layer.ffn_norm.apply(residual, block.rows(), scratch.norm.data());
                    in = scratch.norm.data();
                  }
                  layer.feed_forward.apply(block, in, scratch.back.data(), scratch.feed_forward);
                  add_back(layer.ffn_post_norm, block.rows(), scratch.back.data(), residual);
                });
}

void BothWaysLayers::add_back(const Norm& post_norm, int64_t rows, float* back,
                              float* residual) const {
  const size_t count = size(rows * shape_.hidden);
  if (post_norm && !blueprint_.norms_sums) post_norm.apply(back, rows, back);
  add({back, count}, {residual, count});
  if (post_norm && blueprint_.norms_sums) post_norm.apply(residual, rows, residual);
}

// (n_heads, 2 n - 1), of j - i from 1 - n on; empty without buckets.
std::vector<float> BothWaysLayers::distance_bias(const std::vector<float>& buckets,
                                                 int64_t n) const {
  std::vector<float> bias;
  if (buckets.empty()) return bias;
  bias.reserve(size(shape_.n_heads * (2 * n - 1)));
  std::vector<int64_t> bucket;
  for (int64_t d = 1 - n; d < n; ++d) bucket.push_back(blueprint_.buckets->bucket(d));
  for (int64_t head = 0; head < shape_.n_heads; ++head) {
    for (const int64_t row : bucket) bias.push_back(buckets[size(row * shape_.n_heads + head)]);
  }
  return bias;
}

}  // namespace ropewalk
