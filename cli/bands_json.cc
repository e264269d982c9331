#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/bands_report.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// Six digits: there are very many of them.
double rounded(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

template <typename Values, typename Get>
Json list_of(const Values& values, const Get& get) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(get(value));
  return list;
}

Json numbers(const std::vector<double>& values) { return list_of(values, rounded); }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string kind_name(LayerBias::Kind kind) {
  if (kind == LayerBias::Kind::kOpen) return "open";
  return kind == LayerBias::Kind::kWindow ? "window" : "unturned";
}

Json layer_json(const LayerBias& layer, const std::vector<double>& inv_freq) {
  return {{"kind", kind_name(layer.kind)},
          {"farthest", layer.farthest},
          {"inv_freq", inv_freq},
          {"turns", numbers(layer.turns)},
          {"unfinished", layer.unfinished}};
}

Json head_json(const HeadBias& head) {
  Json out = {{"layer", head.layer},
              {"head", head.head},
              {"constant", head.constant},
              {"highest_inside", head.highest},
              {"lowest_inside", head.lowest}};
  out["cap"] = head.cap;
  out["collapse"] = or_null(head.collapse);
  out["weight"] = list_of(head.pairs, [](const PairBias& p) { return rounded(p.weight); });
  out["phase"] = list_of(head.pairs, [](const PairBias& p) { return rounded(p.phase); });
  out["q_share"] = list_of(head.pairs, [](const PairBias& p) { return rounded(p.q_share); });
  out["k_share"] = list_of(head.pairs, [](const PairBias& p) { return rounded(p.k_share); });
  out["curve"] = numbers(head.curve);
  return out;
}

Json bias_json(const ShownBands& shown) {
  const BiasReport& bias = shown.report.bias;
  Json out;
  out["collapsing_heads"] = bias.collapsing;
  out["earliest_collapse"] = or_null(bias.earliest_collapse);
  out["median_collapse"] = or_null(bias.median_collapse);
  out["cap"] = or_null(bias.cap);
  out["proposed"] = shown.report.proposed;
  out["distances"] = bias.distances;
  out["median"] = numbers(bias.median);
  out["layers"] = Json::array();
  for (size_t layer = 0; layer < bias.layers.size(); ++layer)
    out["layers"].push_back(layer_json(bias.layers[layer], shown.report.inv_freq[layer]));
  out["heads"] = list_of(bias.heads, head_json);
  return out;
}

Json group_json(const GroupUsage& group) {
  Json out = {{"attention", rounded(group.attention)},
              {"scores", group.n_scores},
              {"score", rounded(group.score)},
              {"variance", rounded(group.variance)}};
  const auto of = [&](double PairUsage::*field) {
    return list_of(group.pairs, [&](const PairUsage& pair) { return rounded(pair.*field); });
  };
  out["mean"] = of(&PairUsage::mean);
  out["pair_variance"] = of(&PairUsage::variance);
  out["share"] = of(&PairUsage::share);
  out["pull"] = of(&PairUsage::pull);
  return out;
}

// Groups that were looked at, by name.
template <typename Groups, typename Name, typename Make>
Json by_name(const Groups& groups, const Name& name, const Make& make) {
  Json out = Json::object();
  for (size_t k = 0; k < groups.size(); ++k) {
    if (groups[k].n_scores > 0) out[name(k)] = make(groups[k]);
  }
  return out;
}

Json usage_json(const HeadUsage& head) {
  return {{"layer", head.layer},
          {"head", head.head},
          {"own_attention", rounded(head.own_attention)},
          {"first_attention", rounded(head.first_attention)},
          {"distances", by_name(head.bands, pair_kind_name, group_json)},
          {"relations", by_name(head.relations, relation_name, group_json)}};
}

Json model_group_json(const ModelGroup& group) {
  Json out = {{"attention", group.attention}, {"scores", group.n_scores}};
  for (size_t kind = 0; kind < kPairKinds; ++kind)
    out["shares"][pair_kind_name(kind)] = group.shares[kind];
  out["finished_share"] = group.finished_share;
  out["pair_shares"] = numbers(group.pair_shares);
  out["mean_miss"] = or_null(group.mean_miss);
  out["worst_miss"] = or_null(group.worst_miss);
  return out;
}

Json loss_json(const std::optional<Estimate>& loss) {
  if (!loss) return nullptr;
  return {{"mean", loss->mean}, {"tokens", loss->count}};
}

}  // namespace

std::string to_json(const ShownBands& shown) {
  const BandsReport& report = shown.report;
  Json out;
  out["model"] = shown.model;
  out["trained_length"] = report.bias.trained_length;
  out["target_length"] = report.bias.target_length;
  out["text"] = shown.text;
  out["calibration_tokens"] = report.calibration_tokens;
  out["queries"] = report.n_queries;
  out["seed"] = shown.seed;
  out["verdict"] = bands_verdict(report);
  out["bias"] = bias_json(shown);
  out["distances"] = by_name(report.bands, pair_kind_name, model_group_json);
  out["relations"] = by_name(report.relations, relation_name, model_group_json);
  out["loss"] = {{"declared", loss_json(report.declared_loss)},
                 {"full_turn", loss_json(report.full_turn_loss)}};
  out["heads"] = list_of(report.usage, usage_json);
  return dump_json(out, 1) + "\n";
}

}  // namespace ropewalk
