#include "ropewalk/engine/attention_part.h"

#include <algorithm>
#include <span>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"

namespace ropewalk {
namespace {

// Rows [from, from + count) of every head of a matrix of `heads` heads that are `width` rows each.
WeightRows of_every_head(const WeightRows& rows, int64_t heads, int64_t width, int64_t from,
                         int64_t count) {
  WeightRows part = rows;
  part.outputs = heads * count;
  part.stored.reset();
  part.read = [rows, width, from, count](int64_t first, int64_t n, std::span<float> out) {
    for (int64_t r = 0; r < n; ++r) {
      const int64_t head = (first + r) / count, within = (first + r) % count;
      rows.read(head * width + from + within, 1,
                out.subspan(size(r * rows.inputs), size(rows.inputs)));
    }
  };
  return part;
}

// A matrix stored as one (inputs, count) block a head, the other way around.
WeightRows of_turned_heads(const WeightRows& rows, int64_t heads, int64_t inputs, int64_t count) {
  WeightRows part = rows;
  part.outputs = heads * count;
  part.stored.reset();
  part.inputs = inputs;
  part.read = [rows, inputs, count](int64_t first, int64_t n, std::span<float> out) {
    std::vector<float> block(size(inputs * count));
    int64_t held = -1;
    for (int64_t r = 0; r < n; ++r) {
      const int64_t head = (first + r) / count, within = (first + r) % count;
      if (head != held) rows.read(head * inputs, inputs, block);
      held = head;
      for (int64_t x = 0; x < inputs; ++x)
        out[size(r * inputs + x)] = block[size(x * count + within)];
    }
  };
  return part;
}

}  // namespace

AttentionScratch::AttentionScratch(const Blueprint& blueprint, int64_t rows) {
  if (!blueprint.latent) return;
  const LatentKnobs& latent = *blueprint.latent;
  const ModelShape& shape = blueprint.shape;
  narrow = AlignedBuffer<float>(size(rows * std::max(latent.query_rank, latent.key_value_rank)));
  wide = AlignedBuffer<float>(size(rows * shape.n_heads * shape.head_dim));
  keys = AlignedBuffer<float>(size(rows * (latent.key_value_rank + latent.rotary_dim)));
}

AttentionPart::AttentionPart(const LayerReader& reader, bool rotates)
    : shape_(reader.blueprint().shape),
      value_dim_(reader.blueprint().value_dim == 0 ? shape_.head_dim
                                                   : reader.blueprint().value_dim),
      clip_(reader.blueprint().clip),
      latent_(reader.blueprint().latent),
      norm_whole_(reader.blueprint().qk_norm_whole) {
  if (latent_) {
    read_latent(reader);
  } else {
    read_plain(reader);
  }
  o_ = reader.linear("attn_output", shape_.hidden, shape_.n_heads * value_dim_);
  if (reader.blueprint().sinks)
    sinks_ = reader.weights().vector(reader.name("attn_sinks"), shape_.n_heads);
  if (reader.blueprint().qk_unit_length && rotates) {
    q_norm_ = k_norm_ = Norm::plain(NormKind::kRms, shape_.norm_epsilon, shape_.head_dim);
  }
}

void AttentionPart::read_plain(const LayerReader& reader) {
  const int64_t q = shape_.n_heads * shape_.head_dim, k = shape_.n_kv_heads * shape_.head_dim;
  const int64_t v = shape_.n_kv_heads * value_dim_;
  if (reader.has("attn_qkv")) {
    std::vector<Linear> parts = reader.stacked("attn_qkv", {q, k, v}, shape_.hidden);
    q_ = std::move(parts[0]);
    k_ = std::move(parts[1]);
    v_ = std::move(parts[2]);
  } else {
    q_ = reader.linear("attn_q", q, shape_.hidden);
    k_ = reader.linear("attn_k", k, shape_.hidden);
    v_ = reader.linear("attn_v", v, shape_.hidden);
  }
  const Presence presence = reader.blueprint().qk_norm;
  if (presence == Presence::kNever) return;
  const auto norm = [&](const std::string& part, int64_t heads) {
    const int64_t count = reader.weights().count_of(reader.name(part));
    const int64_t width = count == shape_.head_dim ? count : heads * shape_.head_dim;
    return presence == Presence::kAlways ? reader.norm(part, width) : reader.norm_if(part, width);
  };
  q_norm_ = norm("attn_q_norm", shape_.n_heads);
  k_norm_ = norm("attn_k_norm", shape_.n_kv_heads);
}

// The rotary part of a head, which the file has last, comes first.
void AttentionPart::read_latent(const LayerReader& reader) {
  const int64_t heads = shape_.n_heads, head_dim = shape_.head_dim, hidden = shape_.hidden;
  const int64_t rank = latent_->key_value_rank, rotary = latent_->rotary_dim;
  const int64_t passed = head_dim - rotary;
  if (shape_.n_kv_heads != heads) {
    throw Error(reader.name("attn_q"), "must have as many heads of keys as of queries",
                std::to_string(shape_.n_kv_heads));
  }
  if (latent_->query_rank != 0) {
    q_narrow_ = reader.linear("attn_q_a", latent_->query_rank, hidden);
    q_narrow_norm_ = reader.norm("attn_q_a_norm", latent_->query_rank);
    q_ = reader.linear("attn_q_b", heads * head_dim, latent_->query_rank);
  } else {
    q_ = reader.linear("attn_q", heads * head_dim, hidden);
  }
  kv_narrow_ = reader.linear("attn_kv_a_mqa", rank + rotary, hidden);
  kv_narrow_norm_ = reader.norm("attn_kv_a_norm", rank);
  Weights& weights = reader.weights();
  if (reader.has("attn_kv_b")) {
    const int64_t width = passed + value_dim_;
    const WeightRows both = weights.matrix(reader.name("attn_kv_b"), heads * width, rank);
    k_ = reader.of_rows(of_every_head(both, heads, width, 0, passed));
    v_ = reader.of_rows(of_every_head(both, heads, width, passed, value_dim_));
  } else {
    const WeightRows keys = weights.matrix(reader.name("attn_k_b"), heads * rank, passed);
    k_ = reader.of_rows(of_turned_heads(keys, heads, rank, passed));
    v_ = reader.linear("attn_v_b", heads * value_dim_, rank);
  }
}

void AttentionPart::normalise(const Norm& norm, int64_t heads, int64_t rows, float* values) const {
  if (!norm) return;
  if (norm.width() == shape_.head_dim) {
    norm.apply(values, rows * heads, values);
  } else if (norm_whole_) {
    norm.apply(values, rows, values);
  } else {
    norm.apply_grouped(heads, values, rows, values);
  }
}

void AttentionPart::project(const RowBlock& block, const float* in, float* q, float* k, float* v,
                            AttentionScratch& scratch) const {
  if (latent_) return project_latent(block, in, q, k, v, scratch);
  block.multiply_each({{q_, q}, {k_, k}, {v_, v}}, in);
  shape_queries(block.rows(), q);
  shape_keys(block.rows(), k, v);
}

void AttentionPart::project_queries(const RowBlock& block, const float* in, float* q) const {
  block.multiply(q_, in, q);
  shape_queries(block.rows(), q);
}

void AttentionPart::project_keys(const RowBlock& block, const float* in, float* k, float* v) const {
  block.multiply_each({{k_, k}, {v_, v}}, in);
  shape_keys(block.rows(), k, v);
}

void AttentionPart::shape_queries(int64_t rows, float* q) const {
  clip(q_, rows, q);
  normalise(q_norm_, shape_.n_heads, rows, q);
}

void AttentionPart::shape_keys(int64_t rows, float* k, float* v) const {
  clip(k_, rows, k);
  clip(v_, rows, v);
  normalise(k_norm_, shape_.n_kv_heads, rows, k);
}

void AttentionPart::clip(const Linear& linear, int64_t rows, float* values) const {
  if (clip_ == 0) return;
  const int64_t count = rows * linear.outputs();
  for (int64_t x = 0; x < count; ++x) values[x] = std::clamp(values[x], -clip_, clip_);
}

void AttentionPart::project_latent(const RowBlock& block, const float* in, float* q, float* k,
                                   float* v, AttentionScratch& scratch) const {
  const int64_t heads = shape_.n_heads, head_dim = shape_.head_dim;
  const int64_t rank = latent_->key_value_rank, rotary = latent_->rotary_dim;
  const int64_t passed = head_dim - rotary, rows = block.rows();
  float* const narrow = scratch.narrow.data();
  float* const wide = scratch.wide.data();
  const float* queries = in;
  if (q_narrow_) {
    block.multiply(q_narrow_, in, narrow);
    q_narrow_norm_.apply(narrow, rows, narrow);
    queries = narrow;
  }
  block.multiply(q_, queries, wide);
  for (int64_t head = 0; head < rows * heads; ++head) {
    const float* const from = wide + head * head_dim;
    std::rotate_copy(from, from + passed, from + head_dim, q + head * head_dim);
  }

  float* const keys = scratch.keys.data();
  block.multiply(kv_narrow_, in, keys);
  for (int64_t r = 0; r < rows; ++r)
    kv_narrow_norm_.apply(keys + r * (rank + rotary), 1, narrow + r * rank);
  block.multiply(k_, narrow, wide);
  for (int64_t head = 0; head < rows * heads; ++head) {
    const float* const shared = keys + head / heads * (rank + rotary) + rank;
    float* const to = k + head * head_dim;
    std::copy_n(wide + head * passed, passed, std::copy_n(shared, rotary, to));
  }
  block.multiply(v_, narrow, wide);
  for (int64_t head = 0; head < rows * heads; ++head) {
    float* const to = v + head * head_dim;
    std::fill_n(std::copy_n(wide + head * value_dim_, value_dim_, to), head_dim - value_dim_, 0.0f);
  }
}

std::vector<const Dense*> AttentionPart::matrices() const {
  std::vector<const Dense*> all;
  for (const Linear* linear : {&q_, &k_, &v_, &o_, &q_narrow_, &kv_narrow_})
    if (*linear) all.push_back(&*linear->dense);
  return all;
}

void AttentionPart::finish(const RowBlock& block, float* attended, float* out) const {
  if (value_dim_ != shape_.head_dim) {
    const int64_t heads = block.rows() * shape_.n_heads;
    for (int64_t head = 1; head < heads; ++head)
      std::copy_n(attended + head * shape_.head_dim, value_dim_, attended + head * value_dim_);
  }
  block.multiply(o_, attended, out);
}

}  // namespace ropewalk
