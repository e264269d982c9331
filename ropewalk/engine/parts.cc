#include "ropewalk/engine/parts.h"

#include <numeric>
#include <span>

#include "ropewalk/base/size.h"

namespace ropewalk {

void RowBlock::multiply(const Dense& dense, const float* x, float* y) const {
  switch (sharing_) {
    case Sharing::kRows:
      return dense.apply(x, rows_, y, scratch_);
    case Sharing::kOutputs:
      return dense.apply_wide(x, rows_, y);
    case Sharing::kStored:
      return dense.apply_one(x, y);
  }
}

void RowBlock::multiply(const Linear& linear, const float* x, float* y) const {
  multiply(*linear.dense, x, y);
  add_bias(linear, y);
}

void RowBlock::multiply_each(std::initializer_list<Product> products, const float* x) const {
  if (sharing_ != Sharing::kRows) {
    for (const auto& [linear, y] : products) multiply(linear, x, y);
    return;
  }
  std::vector<Dense::Result> results;
  for (const auto& [linear, y] : products) results.push_back({.dense = &*linear.dense, .y = y});
  Dense::apply_each(results, x, rows_, scratch_);
  for (const auto& [linear, y] : products) add_bias(linear, y);
}

void RowBlock::add_bias(const Linear& linear, float* y) const {
  if (linear.bias.empty()) return;
  for (int64_t r = 0; r < rows_; ++r)
    add(linear.bias, {y + r * linear.outputs(), size(linear.outputs())});
}

Norm Norm::read_if(Weights& weights, const Blueprint& blueprint, const std::string& part,
                   int64_t layer, int64_t width) {
  if (!weights.has(weights.name_of(part, layer))) return {};
  return read(weights, blueprint, part, layer, width);
}

Norm Norm::read(Weights& weights, const Blueprint& blueprint, const std::string& part,
                int64_t layer, int64_t width) {
  Norm norm = plain(blueprint.norm, blueprint.shape.norm_epsilon, width);
  norm.weight_ = weights.vector(weights.name_of(part, layer), width);
  for (float& weight : norm.weight_) weight += blueprint.norm_offset;
  norm.bias_ = weights.vector_if(weights.name_of(part, layer, "bias"), width);
  return norm;
}

Norm Norm::plain(NormKind kind, double epsilon, int64_t width) {
  Norm norm;
  norm.kind_ = kind;
  norm.epsilon_ = epsilon;
  norm.width_ = width;
  // RMSNorm's kernel always weighs.
  if (kind == NormKind::kRms) norm.weight_.assign(size(width), 1.0f);
  return norm;
}

void Norm::apply(const float* in, int64_t rows, float* out) const {
  for (int64_t r = 0; r < rows; ++r) apply_row(in + r * width_, 0, width_, out + r * width_);
}

void Norm::apply_grouped(int64_t groups, const float* in, int64_t rows, float* out) const {
  const int64_t width = width_ / groups;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t at = r * width_ + g * width;
      apply_row(in + at, g * width, width, out + at);
    }
  }
}

void Norm::apply_row(const float* in, int64_t first, int64_t width, float* out) const {
  const auto part = [&](const std::vector<float>& of) {
    return of.empty() ? std::span<const float>() : std::span(of).subspan(size(first), size(width));
  };
  const std::span<const float> from(in, size(width));
  const std::span<float> to(out, size(width));
  if (kind_ == NormKind::kLayer) return layer_norm(from, part(weight_), part(bias_), epsilon_, to);
  rms_norm(from, part(weight_), epsilon_, to);
  if (!bias_.empty()) add(part(bias_), to);
}

std::vector<bool> rotated_layers(const ModelConfig& config, int64_t n_layers) {
  const bool alike = config.group_of_layer.size() == 1;
  std::vector<bool> rotates;
  for (int64_t n = 0; n < n_layers; ++n)
    rotates.push_back(config.layer(alike ? 0 : size(n)).has_value());
  return rotates;
}

Norm LayerReader::residual_norm(const std::string& part, bool optional) const {
  if (part.empty()) return {};
  const int64_t width = blueprint_.shape.hidden;
  return optional ? norm_if(part, width) : norm(part, width);
}

Linear LayerReader::linear(const std::string& part, int64_t outputs, int64_t inputs) const {
  return of_rows(weights_.matrix(name(part), outputs, inputs),
                 weights_.vector_if(name(part, "bias"), outputs));
}

std::vector<Linear> LayerReader::stacked(const std::string& part,
                                         const std::vector<int64_t>& outputs,
                                         int64_t inputs) const {
  const int64_t total = std::accumulate(outputs.begin(), outputs.end(), int64_t{0});
  const WeightRows rows = weights_.matrix(name(part), total, inputs);
  const std::vector<float> bias = weights_.vector_if(name(part, "bias"), total);
  std::vector<Linear> parts;
  int64_t first = 0;
  for (const int64_t count : outputs) {
    std::vector<float> own;
    if (!bias.empty()) own.assign(bias.begin() + first, bias.begin() + first + count);
    parts.push_back(of_rows(rows.slice(first, count), std::move(own)));
    first += count;
  }
  return parts;
}

Linear LayerReader::of_rows(const WeightRows& rows, std::vector<float> bias) const {
  return {Dense(rows, precision_), std::move(bias)};
}

}  // namespace ropewalk
