#include "ropewalk/engine/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "ropewalk/base/size.h"

namespace ropewalk {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

void softmax(std::span<float> values) {
  const float largest = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& value : values) sum += value = std::exp(value - largest);
  for (float& value : values) value /= sum;
}

// The places of the largest `count`, the largest first; of equal ones the first.
std::vector<int64_t> largest_places(std::span<const float> values, int64_t count) {
  std::vector<int64_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](int64_t a, int64_t b) { return values[size(a)] > values[size(b)]; });
  places.resize(size(count));
  return places;
}

}  // namespace

FeedForwardScratch::FeedForwardScratch(int64_t rows, int64_t hidden, int64_t inner, int64_t experts)
    : gate(size(rows * inner)),
      up(size(rows * inner)),
      routes(size(rows * experts)),
      gathered(size(experts == 0 ? 0 : rows * hidden)),
      answered(size(experts == 0 ? 0 : rows * hidden)) {}

int64_t FeedForward::inner_width(const Blueprint& blueprint) {
  int64_t width = blueprint.shape.ffn;
  if (blueprint.experts)
    width = std::max({width, blueprint.experts->ffn, blueprint.experts->shared_ffn});
  return width;
}

int64_t FeedForward::n_experts(const Blueprint& blueprint) {
  return blueprint.experts ? blueprint.experts->count : 0;
}

FeedForward::FeedForward(const LayerReader& reader)
    : hidden_(reader.blueprint().shape.hidden),
      activation_(reader.blueprint().activation),
      clamp_(reader.blueprint().clamp),
      gate_slope_(reader.blueprint().gate_slope),
      up_offset_(reader.blueprint().up_offset) {
  if (reader.blueprint().experts && reader.has("ffn_gate_inp")) {
    knobs_ = *reader.blueprint().experts;
    experts_ = std::make_unique<Experts>(read_experts(reader));
  } else {
    part_ = read_part(reader, "", reader.blueprint().shape.ffn);
    if (reader.blueprint().ungated && !part_.gate) activation_ = *reader.blueprint().ungated;
  }
}

// Some files hold gate and up in one tensor, gate first, under the name of `up`.
FeedForward::Part FeedForward::read_part(const LayerReader& reader, const std::string& suffix,
                                         int64_t ffn) {
  const int64_t hidden = reader.blueprint().shape.hidden;
  const std::string up = "ffn_up" + suffix;
  const bool gated =
      reader.blueprint().gated && (!reader.blueprint().ungated || reader.has("ffn_gate" + suffix));
  Part part;
  if (gated && reader.weights().count_of(reader.name(up)) == 2 * ffn * hidden) {
    std::vector<Linear> both = reader.stacked(up, {ffn, ffn}, hidden);
    part.gate = std::move(both[0]);
    part.up = std::move(both[1]);
  } else {
    if (gated) part.gate = reader.linear("ffn_gate" + suffix, ffn, hidden);
    part.up = reader.linear(up, ffn, hidden);
  }
  part.down = reader.linear("ffn_down" + suffix, hidden, ffn);
  return part;
}

FeedForward::Experts FeedForward::read_experts(const LayerReader& reader) {
  const ExpertKnobs& knobs = *reader.blueprint().experts;
  const int64_t hidden = reader.blueprint().shape.hidden;
  Experts experts;
  experts.router = reader.linear("ffn_gate_inp", knobs.count, hidden);
  experts.choice_bias = reader.weights().vector_if(reader.name("exp_probs_b", "bias"), knobs.count);
  const auto all = [&](const std::string& part, int64_t outputs, int64_t inputs) {
    return reader.stacked(part, std::vector<int64_t>(size(knobs.count), outputs), inputs);
  };
  std::vector<Linear> gates, ups;
  if (reader.has("ffn_gate_up_exps")) {
    std::vector<int64_t> outputs(size(2 * knobs.count), knobs.ffn);
    std::vector<Linear> both = reader.stacked("ffn_gate_up_exps", outputs, hidden);
    for (size_t e = 0; e < both.size(); e += 2) {
      gates.push_back(std::move(both[e]));
      ups.push_back(std::move(both[e + 1]));
    }
  } else {
    gates = all("ffn_gate_exps", knobs.ffn, hidden);
    ups = all("ffn_up_exps", knobs.ffn, hidden);
  }
  std::vector<Linear> downs = all("ffn_down_exps", hidden, knobs.ffn);
  for (size_t e = 0; e < ups.size(); ++e)
    experts.each.push_back({std::move(gates[e]), std::move(ups[e]), std::move(downs[e])});
  if (knobs.shared_ffn != 0) {
    experts.shared = read_part(reader, "_shexp", knobs.shared_ffn);
    if (knobs.shared_gate) experts.shared_gate = reader.linear("ffn_gate_inp_shexp", 1, hidden);
  }
  return experts;
}

std::vector<const Dense*> FeedForward::matrices() const {
  std::vector<const Dense*> all;
  const auto add = [&](const Linear& linear) {
    if (linear) all.push_back(&*linear.dense);
  };
  const auto add_part = [&](const Part& part) {
    for (const Linear* linear : {&part.gate, &part.up, &part.down}) add(*linear);
  };
  add_part(part_);
  if (experts_ == nullptr) return all;
  add(experts_->router);
  for (const Part& part : experts_->each) add_part(part);
  add_part(experts_->shared);
  add(experts_->shared_gate);
  return all;
}

void FeedForward::apply(const RowBlock& block, const float* in, float* out,
                        FeedForwardScratch& scratch) const {
  if (experts_ != nullptr) return apply_experts(block, in, out, scratch);
  apply_part(part_, block, in, out, scratch);
}

void FeedForward::apply_part(const Part& part, const RowBlock& block, const float* in, float* out,
                             FeedForwardScratch& scratch) const {
  if (part.gate) {
    block.multiply_each({{part.up, scratch.up.data()}, {part.gate, scratch.gate.data()}}, in);
  } else {
    block.multiply(part.up, in, scratch.up.data());
  }
  activate_rows(part, block.rows(), scratch);
  block.multiply(part.down, part.gate ? scratch.gate.data() : scratch.up.data(), out);
}

void FeedForward::activate_rows(const Part& part, int64_t rows, FeedForwardScratch& scratch) const {
  const std::span<float> up(scratch.up.data(), size(rows * part.up.outputs()));
  if (!part.gate) return activate(activation_, up);
  const std::span<float> gate(scratch.gate.data(), up.size());
  if (clamp_ == 0) return activate_gated(activation_, gate, up);
  for (size_t k = 0; k < gate.size(); ++k) {
    const float x = std::min(gate[k], clamp_);
    gate[k] = x * sigmoid(gate_slope_ * x) * (std::clamp(up[k], -clamp_, clamp_) + up_offset_);
  }
}

// The experts of one row, with their weights.
void FeedForward::choose(const float* scores, int64_t row,
                         std::vector<std::vector<Route>>& routes) const {
  std::vector<float> weights(scores, scores + knobs_.count);
  if (knobs_.gate == ExpertKnobs::Gate::kSoftmax) softmax(weights);
  if (knobs_.gate == ExpertKnobs::Gate::kSigmoid) {
    for (float& weight : weights) weight = sigmoid(weight);
  }
  std::vector<float> choice = weights;
  if (!experts_->choice_bias.empty()) add(experts_->choice_bias, choice);
  if (knobs_.used_groups < knobs_.groups) {
    const int64_t width = knobs_.count / knobs_.groups;
    std::vector<float> merit;
    for (int64_t g = 0; g < knobs_.groups; ++g) {
      const std::span<const float> group(choice.data() + g * width, size(width));
      float sum = 0;
      for (const int64_t e : largest_places(group, std::min(knobs_.group_best, width)))
        sum += group[size(e)];
      merit.push_back(sum);
    }
    std::vector<bool> kept(size(knobs_.groups), false);
    for (const int64_t g : largest_places(merit, knobs_.used_groups)) kept[size(g)] = true;
    for (int64_t e = 0; e < knobs_.count; ++e) {
      if (!kept[size(e / width)]) choice[size(e)] = -INFINITY;
    }
  }
  const std::vector<int64_t> used = largest_places(choice, knobs_.used);
  std::vector<float> share;
  for (const int64_t e : used) share.push_back(weights[size(e)]);
  if (knobs_.gate == ExpertKnobs::Gate::kSoftmaxOfUsed) softmax(share);
  if (knobs_.normalised) {
    const float sum = std::max(std::accumulate(share.begin(), share.end(), 0.0f), 6.1e-5f);
    for (float& weight : share) weight /= sum;
  }
  for (size_t k = 0; k < used.size(); ++k)
    routes[size(used[k])].push_back({row, share[k] * knobs_.scale});
}

void FeedForward::apply_experts(const RowBlock& block, const float* in, float* out,
                                FeedForwardScratch& scratch) const {
  block.multiply(experts_->router, in, scratch.routes.data());
  std::vector<std::vector<Route>> routes(size(knobs_.count));
  for (int64_t r = 0; r < block.rows(); ++r)
    choose(scratch.routes.data() + r * knobs_.count, r, routes);

  if (experts_->shared.up) {
    apply_part(experts_->shared, block, in, out, scratch);
    if (experts_->shared_gate) {
      block.multiply(experts_->shared_gate, in, scratch.routes.data());
      for (int64_t r = 0; r < block.rows(); ++r)
        scale(sigmoid(scratch.routes[size(r)]), {out + r * hidden_, size(hidden_)});
    }
  } else {
    std::fill_n(out, block.rows() * hidden_, 0.0f);
  }
  for (size_t e = 0; e < routes.size(); ++e) {
    const std::vector<Route>& own = routes[e];
    if (own.empty()) continue;
    for (size_t k = 0; k < own.size(); ++k) {
      float* const to = scratch.gathered.data() + static_cast<int64_t>(k) * hidden_;
      std::copy_n(in + own[k].row * hidden_, hidden_, to);
      if (knobs_.weigh_input) scale(own[k].weight, {to, size(hidden_)});
    }
    apply_part(experts_->each[e], block.of(static_cast<int64_t>(own.size())),
               scratch.gathered.data(), scratch.answered.data(), scratch);
    for (size_t k = 0; k < own.size(); ++k) {
      const float weight = knobs_.weigh_input ? 1.0f : own[k].weight;
      add_scaled(weight,
                 {scratch.answered.data() + static_cast<int64_t>(k) * hidden_, size(hidden_)},
                 {out + own[k].row * hidden_, size(hidden_)});
    }
  }
}

}  // namespace ropewalk
