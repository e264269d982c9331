#include "cli/golden/compute.h"

#include <cmath>
#include <limits>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk::golden {
namespace {

using Compute = Value (*)(const Json& golden);

const std::map<std::string, Compute>& kinds() {
  static const std::map<std::string, Compute> table = {
      {"apply", compute_apply},
      {"bias", compute_bias},
      {"buckets", compute_buckets},
      {"distance", compute_distance},
      {"far", compute_far},
      {"frequencies", compute_frequencies},
      {"gguf", compute_gguf},
      {"layers", compute_layers},
      {"layout", compute_layout},
      {"malformed", compute_malformed},
      {"positions", compute_positions},
      {"scale", compute_scale},
      {"slopes", compute_slopes},
      {"table", compute_table},
      {"xpos", compute_xpos},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& given_fields() {
  static const std::vector<std::string> fields = {
      "id",      "kind", "rule",       "model",  "source", "note",  "split",         "gguf",
      "tensors", "form", "layer_type", "config", "hint",   "peers", "hf_v5_observed"};
  return fields;
}

Value compute(const Json& golden) {
  const auto kind = golden.find("kind");
  if (kind == golden.end() || !kind->is_string()) throw Error("kind", "must name a kind of case");
  const auto found = kinds().find(kind->get<std::string>());
  if (found == kinds().end()) throw Error("kind", "must be a known one", kind->get<std::string>());
  return found->second(golden);
}

std::string rule_of(const Json& golden) {
  const auto rule = golden.find("rule");
  return rule != golden.end() && rule->is_string() ? rule->get<std::string>() : "";
}

void refuse_rule(const Json& golden) {
  throw Error("rule", "must be a known one of this kind", rule_of(golden));
}

void echo(const Json& golden, Value& out, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (golden.contains(name)) out.set(name, Value::given(golden[name]));
  }
}

DoubleDouble number(const Json& value) {
  if (value.is_string()) return from_decimal(value.get<std::string>());
  if (value.is_number_integer()) return value.get<int64_t>();
  return value.get<double>();
}

std::string text_of(const Json& value) { return to_text(static_cast<double>(number(value))); }

double table_bound(double radians) { return 1e-15 + 3 * 0x1p-53 * std::abs(radians); }

void set_spectrum(Value& out, const Spectrum& spectrum, const Json& golden) {
  const std::vector<double> inv_freq = spectrum.inv_freq();
  out.set("n_pairs", Value::exact(spectrum.n_pairs()));
  out.set("inv_freq", Value::reals(inv_freq));
  out.set("attention_factor", Value::real(spectrum.amplitude));
  if (!golden.contains("pairs") || !golden.contains("positions")) return;

  echo(golden, out, {"positions", "pairs"});
  Value cosines = Value::object(), sines = Value::object();
  for (const Json& position : golden["positions"]) {
    const auto p = position.get<int64_t>();
    Value cosine = Value::list(), sine = Value::list();
    for (const Json& which : golden["pairs"]) {
      const auto pair = which.get<size_t>();
      const CosSin angle = cos_sin_at(DoubleDouble(p), spectrum.turns_per_token.at(pair));
      const double bound = table_bound(static_cast<double>(p) * inv_freq.at(pair));
      cosine.push(Value::real(angle.cos, bound));
      sine.push(Value::real(angle.sin, bound));
    }
    cosines.set(std::to_string(p), std::move(cosine));
    sines.set(std::to_string(p), std::move(sine));
  }
  out.set("cos", std::move(cosines)).set("sin", std::move(sines));
}

Json with_floats(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(with_floats(item));
    return list;
  }
  if (!value.is_object()) return value;
  if (value.contains("__float__")) {
    const auto name = value["__float__"].get<std::string>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    return name.starts_with('-') ? -infinity : infinity;
  }
  Json object = Json::object();
  for (const auto& [key, entry] : value.items()) object[key] = with_floats(entry);
  return object;
}

}  // namespace ropewalk::golden
