#include "ropewalk/math/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// What a function of the length gives, each value made once.
template <typename Value, typename Function>
class ByLength {
 public:
  explicit ByLength(Function function) : function_(std::move(function)) {}

  const Value& at(int64_t length) {
    const auto known = made_.find(length);
    return known != made_.end() ? known->second
                                : made_.emplace(length, function_(length)).first->second;
  }

 private:
  Function function_;
  std::map<int64_t, Value> made_;
};

template <typename Function>
auto by_length(Function function) {
  return ByLength<decltype(function(int64_t{1})), Function>(std::move(function));
}

// Turns logits into weights that sum to 1, and returns the logarithm of what they summed to.
double softmax(std::vector<double>& logits) {
  if (logits.empty()) return -std::numeric_limits<double>::infinity();
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (double& logit : logits) {
    logit = std::exp(logit - largest);
    sum += logit;
  }
  for (double& weight : logits) weight /= sum;
  return largest + std::log(sum);
}

double capped(double logit, double cap) { return cap == 0 ? logit : cap * std::tanh(logit / cap); }

}  // namespace

std::vector<double> reference_rotate(const PairLayout& layout, const Spectrum& spectrum,
                                     DoubleDouble position, std::span<const double> head,
                                     HeadSide side) {
  assert(std::ssize(head) == layout.head_dim && spectrum.n_pairs() == layout.n_pairs());
  std::vector<double> rotated(head.begin(), head.end());
  for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
    const CosSin angle = cos_sin_at(position, spectrum.turns_per_token[pair]);
    const double log_gain = spectrum.decay_of(pair) * static_cast<double>(position);
    const double size =
        spectrum.amplitude * std::exp(side == HeadSide::kQuery ? log_gain : -log_gain);
    const double x = head[layout.first(pair)];
    const double y = head[layout.second(pair)];
    rotated[layout.first(pair)] = size * (x * angle.cos - y * angle.sin);
    rotated[layout.second(pair)] = size * (x * angle.sin + y * angle.cos);
  }
  return rotated;
}

double reference_logit(const Rotary& rotary, const Spectrum& query_spectrum,
                       const Spectrum& key_spectrum, int64_t i, int64_t j,
                       std::span<const double> query, std::span<const double> key) {
  const PairLayout& layout = rotary.layout;
  double turning = 0;
  for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
    const PairAngle angle = pair_angle(rotary, query_spectrum, key_spectrum, pair, i, j);
    if (angle.silent) continue;
    const CosSin phi = cos_sin_of_turns(angle.turns);
    const double q0 = query[layout.first(pair)];
    const double q1 = query[layout.second(pair)];
    const double k0 = key[layout.first(pair)];
    const double k1 = key[layout.second(pair)];
    const double part = (q0 * k0 + q1 * k1) * phi.cos - (q1 * k0 - q0 * k1) * phi.sin;
    turning += part * std::exp(angle.log_gain);
  }
  double passing = 0;
  for (int64_t c = layout.rotary_dim; c < layout.head_dim; ++c) passing += query[c] * key[c];

  const double score = query_spectrum.amplitude * key_spectrum.amplitude * turning + passing;
  return score * query_spectrum.logit_multiplier * rotary.temperature.at(i);
}

std::vector<double> reference_attention(const Rotary& rotary, const ReferenceShape& shape,
                                        std::span<const double> query, std::span<const double> key,
                                        std::span<const double> value, const ScoreBias& bias,
                                        std::vector<double>* log_sum_exp) {
  const int64_t n = shape.n_tokens;
  const int64_t dim = rotary.layout.head_dim;
  assert(std::ssize(query) == n * shape.n_heads * dim);
  assert(std::ssize(key) == n * shape.n_kv_heads * dim && key.size() == value.size());
  const double scale = shape.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
  const SpectrumRule& rule = rotary.spectrum;
  const bool keys_keep_their_own = rule.length() == SpectrumRule::Length::kToken;
  auto spectra = by_length([&rule](int64_t length) { return rule.at(length); });
  auto rotaries = by_length([&rotary](int64_t length) { return at_length(rotary, length); });

  std::vector<double> out(query.size());
  if (log_sum_exp != nullptr) log_sum_exp->resize(static_cast<size_t>(n * shape.n_heads));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row_length = rule.length_for_row(i, n);
    const Rotary& row = rotaries.at(rotary.distance.depends_on_length() ? row_length : n);
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      const int64_t kv_head = head / (shape.n_heads / shape.n_kv_heads);
      const auto query_head = query.subspan((i * shape.n_heads + head) * dim, dim);

      std::vector<int64_t> seen;
      std::vector<double> weights;  // (seen)
      for (int64_t j = shape.first_key; j <= i; ++j) {
        if (!rotary.visibility.sees(i, j)) continue;
        const auto key_head = key.subspan((j * shape.n_kv_heads + kv_head) * dim, dim);
        const int64_t key_length = keys_keep_their_own ? rule.length_for_row(j, n) : row_length;
        const double logit = reference_logit(row, spectra.at(row_length), spectra.at(key_length), i,
                                             j, query_head, key_head);
        seen.push_back(j);
        weights.push_back(capped(logit * scale, shape.softcap) + bias.at(head, i, j));
      }
      const double log_sum = softmax(weights);
      if (log_sum_exp != nullptr) (*log_sum_exp)[i * shape.n_heads + head] = log_sum;

      double* const out_head = out.data() + (i * shape.n_heads + head) * dim;
      for (size_t which = 0; which < seen.size(); ++which) {
        const auto value_head =
            value.subspan((seen[which] * shape.n_kv_heads + kv_head) * dim, dim);
        for (int64_t c = 0; c < dim; ++c) out_head[c] += weights[which] * value_head[c];
      }
    }
  }
  return out;
}

}  // namespace ropewalk
