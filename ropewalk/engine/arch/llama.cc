#include "ropewalk/engine/arch/llama.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/engine/rotation_tables.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/vector_ops.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlock = Dense::kBlockRows;
constexpr int64_t kFewRows =
    16;  // up to here threads share a product's outputs instead of its rows

int64_t whole_blocks(int64_t rows) { return (rows + kBlock - 1) / kBlock * kBlock; }

// Tensor names of both worlds.
struct Names {
  std::string embedding, output_norm, output;
  std::string layer, attention_norm, q, k, v, o, ffn_norm, gate, up, down;

  std::string of(int64_t n, const std::string& part) const {
    return layer + std::to_string(n) + "." + part + ".weight";
  }
};

const Names kGgufNames = {"token_embd.weight",
                          "output_norm.weight",
                          "output.weight",
                          "blk.",
                          "attn_norm",
                          "attn_q",
                          "attn_k",
                          "attn_v",
                          "attn_output",
                          "ffn_norm",
                          "ffn_gate",
                          "ffn_up",
                          "ffn_down"};
const Names kHfNames = {"model.embed_tokens.weight",
                        "model.norm.weight",
                        "lm_head.weight",
                        "model.layers.",
                        "input_layernorm",
                        "self_attn.q_proj",
                        "self_attn.k_proj",
                        "self_attn.v_proj",
                        "self_attn.o_proj",
                        "post_attention_layernorm",
                        "mlp.gate_proj",
                        "mlp.up_proj",
                        "mlp.down_proj"};

struct Layer {
  std::vector<float> attention_norm;  // (hidden)
  Dense q;                            // hidden -> n_heads * head_dim
  Dense k;                            // hidden -> n_kv_heads * head_dim
  Dense v;
  Dense o;  // n_heads * head_dim -> hidden
  std::vector<float> ffn_norm;
  Dense gate;  // hidden -> ffn
  Dense up;
  Dense down;  // ffn -> hidden
};

template <typename Element>
struct LlamaCache : KvCache {
  std::vector<KvTiles<Element>> layers;

  int64_t capacity() const override { return layers.empty() ? 0 : layers.front().capacity(); }
};

// Buffers of one thread for a block of rows.
struct BlockScratch {
  AlignedBuffer<float> norm;  // (kBlock, hidden)
  AlignedBuffer<float> gate;  // (kBlock, ffn)
  AlignedBuffer<float> up;
  AlignedBuffer<float> back;  // (kBlock, hidden)
  DenseScratch dense;

  explicit BlockScratch(const ModelShape& shape)
      : norm(static_cast<size_t>(kBlock * shape.hidden)),
        gate(static_cast<size_t>(kBlock * shape.ffn)),
        up(static_cast<size_t>(kBlock * shape.ffn)),
        back(static_cast<size_t>(kBlock * shape.hidden)) {}
};

// What one pass carries from layer to layer; rows padded to whole blocks.
struct State {
  AlignedBuffer<float> residual;  // (rows, hidden)
  AlignedBuffer<float> q;         // (rows, n_heads, head_dim); attention's result takes its place
  AlignedBuffer<float> k;         // (rows, n_kv_heads, head_dim)
  AlignedBuffer<float> v;
  AlignedBuffer<float> attended;  // (rows, n_heads, head_dim)
};

class Llama : public Decoder {
 public:
  Llama(const ModelConfig& config, const TensorSource& source, bool is_gguf, Precision precision)
      : shape_(config.shape),
        precision_(precision),
        names_(is_gguf ? kGgufNames : kHfNames),
        source_(source),
        embedding_(expect_tensor(source, names_.embedding,
                                 {size(shape_.vocabulary), size(shape_.hidden)})),
        output_norm_(read_vector(source, names_.output_norm, size(shape_.hidden))),
        output_(source, shape_.tied_output ? names_.embedding : names_.output, shape_.vocabulary,
                shape_.hidden, precision) {
    for (int64_t n = 0; n < shape_.n_layers; ++n) layers_.push_back(read_layer(n));
    refuse_others();
  }

  int64_t vocabulary() const override { return shape_.vocabulary; }
  const Dense& output() const override { return output_; }

  std::unique_ptr<KvCache> make_cache(int64_t capacity) const override {
    if (precision_ == Precision::kBf16) return make_cache_of<Bf16>(capacity);
    return make_cache_of<float>(capacity);
  }

  AlignedBuffer<float> forward(const Pass& pass, KvCache& cache) const override {
    if (precision_ == Precision::kBf16)
      return forward_with(pass, static_cast<LlamaCache<Bf16>&>(cache));
    return forward_with(pass, static_cast<LlamaCache<float>&>(cache));
  }

 private:
  static uint64_t size(int64_t n) { return static_cast<uint64_t>(n); }

  // A tensor that nothing here multiplies, a bias say, would make every answer wrong without a word.
  void refuse_others() const {
    std::set<std::string> used = {names_.embedding, names_.output_norm, names_.output};
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      for (const std::string* part :
           {&names_.attention_norm, &names_.q, &names_.k, &names_.v, &names_.o, &names_.ffn_norm,
            &names_.gate, &names_.up, &names_.down}) {
        used.insert(names_.of(n, *part));
      }
    }
    for (const TensorInfo& info : source_.tensors()) {
      // Frequencies are the configuration's business: it has read them, or refused them.
      const bool frequencies = info.name.find("rope_f") != std::string::npos ||
                               info.name.ends_with("rotary_emb.inv_freq");
      if (frequencies || used.count(info.name) != 0) continue;
      throw Error(info.name, "a tensor that the Llama family does not have", shape_text(info.shape),
                  "the model is of another family, or a variant that is not run yet");
    }
  }

  Layer read_layer(int64_t n) const {
    const int64_t heads = shape_.n_heads * shape_.head_dim;
    const int64_t kv_heads = shape_.n_kv_heads * shape_.head_dim;
    const auto norm = [&](const std::string& part) {
      return read_vector(source_, names_.of(n, part), size(shape_.hidden));
    };
    const auto dense = [&](const std::string& part, int64_t outputs, int64_t inputs) {
      return Dense(source_, names_.of(n, part), outputs, inputs, precision_);
    };
    return {
        .attention_norm = norm(names_.attention_norm),
        .q = dense(names_.q, heads, shape_.hidden),
        .k = dense(names_.k, kv_heads, shape_.hidden),
        .v = dense(names_.v, kv_heads, shape_.hidden),
        .o = dense(names_.o, shape_.hidden, heads),
        .ffn_norm = norm(names_.ffn_norm),
        .gate = dense(names_.gate, shape_.ffn, shape_.hidden),
        .up = dense(names_.up, shape_.ffn, shape_.hidden),
        .down = dense(names_.down, shape_.hidden, shape_.ffn),
    };
  }

  template <typename Element>
  std::unique_ptr<KvCache> make_cache_of(int64_t capacity) const {
    auto cache = std::make_unique<LlamaCache<Element>>();
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      cache->layers.emplace_back(shape_.n_kv_heads, shape_.head_dim, capacity);
    }
    return cache;
  }

  template <typename Element>
  AlignedBuffer<float> forward_with(const Pass& pass, LlamaCache<Element>& cache) const {
    const auto rows = static_cast<int64_t>(pass.ids.size());
    State state = embed(pass.ids);
    RotationTables tables(*pass.positions, pass.length, pass.first_row, rows);
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      const Layer& layer = layers_[n];
      project(layer, rows, state);
      cache.layers[n].store(pass.first_row, rows, state.k.data(), state.v.data());
      attend_rows(pass, n, tables, cache.layers[n], state);
      finish(layer, rows, state);
      if (pass.progress)
        pass.progress(static_cast<double>(n + 1) / static_cast<double>(shape_.n_layers));
    }
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<float> row(state.residual.data() + r * shape_.hidden, size(shape_.hidden));
      rms_norm(row, output_norm_, shape_.norm_epsilon, row);
    }
    return std::move(state.residual);
  }

  State embed(std::span<const int32_t> ids) const {
    const auto rows = static_cast<int64_t>(ids.size());
    const int64_t padded = whole_blocks(rows);
    const int64_t heads = shape_.n_heads * shape_.head_dim;
    const int64_t kv_heads = shape_.n_kv_heads * shape_.head_dim;
    State state{.residual = AlignedBuffer<float>(size(padded * shape_.hidden)),
                .q = AlignedBuffer<float>(size(padded * heads)),
                .k = AlignedBuffer<float>(size(padded * kv_heads)),
                .v = AlignedBuffer<float>(size(padded * kv_heads)),
                .attended = AlignedBuffer<float>(size(padded * heads))};
    for (int64_t r = 0; r < rows; ++r) {
      source_.read_rows(embedding_, static_cast<uint64_t>(ids[r]), 1,
                        {state.residual.data() + r * shape_.hidden, size(shape_.hidden)});
    }
    return state;
  }

  // Runs body(first_row, count, scratch) for every block of rows, on all threads.
  template <typename Body>
  void for_blocks(int64_t rows, const Body& body) const {
    const auto block = [&](int64_t index, BlockScratch& scratch) {
      body(index * kBlock, std::min(kBlock, rows - index * kBlock), scratch);
    };
    parallel_for((rows + kBlock - 1) / kBlock, [&] { return BlockScratch(shape_); }, block);
  }

  // scratch.norm = the normed rows.
  void normalise(const float* rows, int64_t count, const std::vector<float>& weight,
                 BlockScratch& scratch) const {
    for (int64_t r = 0; r < count; ++r) {
      rms_norm({rows + r * shape_.hidden, size(shape_.hidden)}, weight, shape_.norm_epsilon,
               {scratch.norm.data() + r * shape_.hidden, size(shape_.hidden)});
    }
  }

  // q, k and v of all rows.
  void project(const Layer& layer, int64_t rows, State& state) const {
    const auto block = [&](int64_t first, int64_t count, BlockScratch& scratch, const auto& apply) {
      normalise(state.residual.data() + first * shape_.hidden, count, layer.attention_norm,
                scratch);
      apply(layer.q, scratch.norm.data(), state.q.data() + first * layer.q.outputs());
      apply(layer.k, scratch.norm.data(), state.k.data() + first * layer.k.outputs());
      apply(layer.v, scratch.norm.data(), state.v.data() + first * layer.v.outputs());
    };
    in_blocks(rows, block);
  }

  // Output projection, residual, and the feed-forward half.
  void finish(const Layer& layer, int64_t rows, State& state) const {
    const auto block = [&](int64_t first, int64_t count, BlockScratch& scratch, const auto& apply) {
      float* residual = state.residual.data() + first * shape_.hidden;
      const auto add_back = [&] {
        add({scratch.back.data(), size(count * shape_.hidden)},
            {residual, size(count * shape_.hidden)});
      };
      apply(layer.o, state.attended.data() + first * layer.o.inputs(), scratch.back.data());
      add_back();
      normalise(residual, count, layer.ffn_norm, scratch);
      apply(layer.gate, scratch.norm.data(), scratch.gate.data());
      apply(layer.up, scratch.norm.data(), scratch.up.data());
      swiglu({scratch.gate.data(), size(count * shape_.ffn)},
             {scratch.up.data(), size(count * shape_.ffn)});
      apply(layer.down, scratch.gate.data(), scratch.back.data());
      add_back();
    };
    in_blocks(rows, block);
  }

  // Runs block(first, count, scratch, apply) over all rows; `apply(dense, x, y)` multiplies the
  // block's rows. Threads share the blocks, or, where there are few rows, the outputs of each
  // product.
  template <typename Block>
  void in_blocks(int64_t rows, const Block& block) const {
    if (rows <= kFewRows) {
      BlockScratch scratch(shape_);
      block(0, rows, scratch,
            [&](const Dense& dense, const float* x, float* y) { dense.apply_wide(x, rows, y); });
      return;
    }
    for_blocks(rows, [&](int64_t first, int64_t count, BlockScratch& scratch) {
      block(first, count, scratch, [&](const Dense& dense, const float* x, float* y) {
        dense.apply(x, count, y, scratch.dense);
      });
    });
  }

  template <typename Element>
  void attend_rows(const Pass& pass, int64_t n, RotationTables& tables, const KvTiles<Element>& kv,
                   State& state) const {
    const size_t scheme = pass.positions->layers[n];
    std::vector<float> scale = tables.row_scale(scheme);
    const float root = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    for (float& row : scale) row *= root;
    const std::vector<int64_t>& starts = tables.spans(scheme);
    for (size_t s = 0; s < starts.size(); ++s) {
      const Rotations& rotations = tables.span(scheme, s);
      const int64_t first = starts[s] - pass.first_row;
      const int64_t offset = first * shape_.n_heads * shape_.head_dim;
      attend<Element>(rotations, kv, shape_.n_heads, state.q.data() + offset,
                      std::span(scale).subspan(size(first), size(rotations.n_rows())),
                      state.attended.data() + offset);
    }
  }

  ModelShape shape_;
  Precision precision_;
  Names names_;
  const TensorSource& source_;
  const TensorInfo& embedding_;
  std::vector<float> output_norm_;
  Dense output_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<Decoder> load_llama(const ModelConfig& config, const TensorSource& source,
                                    bool is_gguf, Precision precision) {
  return std::make_unique<Llama>(config, source, is_gguf, precision);
}

}  // namespace ropewalk
