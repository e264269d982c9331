// Cases of kind "frequencies" that come from a config.json, of one axis or several, and "far".
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cli/golden/bounds.h"
#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::golden {
namespace {

// What a user asks for on top of a file, which declares nothing of it: the rule, as a scheme whose
// parameters the case gives.
bool is_asked_for(const std::string& rule) {
  static const std::set<std::string> rules = {"dynamic_yarn", "ntk_by_parts", "ntk_fixed",
                                              "ntk_kexue",    "ntk_mixed",    "ntk_vllm_fixed",
                                              "part_ntk"};
  return rules.contains(rule);
}

// Rules that a file declares, by the first word of their name.
bool is_declared(const std::string& rule) {
  static const std::set<std::string> words = {
      "default", "dynamic",      "linear", "llama3",   "longrope", "mrope", "ntk",
      "partial", "proportional", "qwen1",  "telechat", "yarn",     "per",   "perlayer"};
  return words.contains(rule.substr(0, rule.find('_')));
}

// The object that holds a file's scaling; null where there is none.
const Json* scaling_of(const Json& config) {
  const Json& inner = config.contains("text_config") ? config["text_config"] : config;
  for (const char* const key : {"rope_scaling", "rope_parameters"}) {
    if (inner.contains(key) && inner[key].is_object()) return &inner[key];
  }
  return nullptr;
}

// A parameter of a rule that is asked for: the variant's, else the scaling's.
std::string parameter(const Json& golden, const Json& variant, const char* in_variant,
                      const char* in_scaling) {
  if (variant.contains(in_variant)) return text_of(variant[in_variant]);
  const Json* const scaling = scaling_of(golden["config"]);
  if (scaling != nullptr && scaling->contains(in_scaling)) return text_of((*scaling)[in_scaling]);
  throw Error(in_variant, "must be given by a case of rule " + rule_of(golden));
}

// L of a rule that is asked for, as the variant gives it.
std::optional<int64_t> given_length(const Json& variant) {
  for (const char* const key : {"original_max", "original_max_position_embeddings"}) {
    if (variant.contains(key)) return variant[key].get<int64_t>();
  }
  return std::nullopt;
}

// The length from which the case looks one token further: lengths are given on both sides of what
// changes there.
std::optional<int64_t> inferred_length(const Json& golden) {
  std::set<int64_t> lengths;
  for (const Json& other : golden["variants"]) {
    if (other.contains("seq_len")) lengths.insert(other["seq_len"].get<int64_t>());
  }
  for (const int64_t length : lengths) {
    if (lengths.contains(length + 1)) return length;
  }
  return std::nullopt;
}

struct AskedScheme {
  std::string text;
  bool infers_length = false;  // L is a guess, neither the variant's nor the file's own
};

AskedScheme asked_scheme(const Json& golden, const Json& variant) {
  const std::string rule = rule_of(golden);
  const std::optional<int64_t> given = given_length(variant);
  const std::optional<int64_t> length = given ? given : inferred_length(golden);
  const std::string original = length ? ",original=" + std::to_string(*length) : "";
  const bool infers_length = !given && length;
  if (rule == "dynamic_yarn") return {"dynamic_yarn" + original, infers_length};
  const std::string factor = ",factor=" + parameter(golden, variant, "scale", "factor");
  if (rule == "ntk_fixed") return {"ntk" + factor};
  if (rule == "ntk_vllm_fixed" || rule == "ntk_kexue") return {"ntk_fixed" + factor};
  if (rule == "ntk_mixed") {
    return {"ntk_mixed" + factor + ",power=" + parameter(golden, variant, "mixed_b", "mixed_b")};
  }
  return {"part_ntk" + factor + original, infers_length};
}

// The configuration as a file would hold it: cases of no model name none.
Json file_config(const Json& golden) {
  Json config = with_floats(golden.at("config"));
  if (!config.contains("model_type") && !config.contains("text_config")) {
    config["model_type"] = "llama";
  }
  if (is_asked_for(rule_of(golden))) config.erase("rope_scaling");
  return config;
}

// The layers that the case is about: those of its layer type, else the first that are rotated.
const LayerGroup& group_of(const ModelConfig& config, const Json& golden) {
  if (golden.contains("layer_type") && golden["layer_type"].is_string()) {
    const auto name = golden["layer_type"].get<std::string>();
    for (const LayerGroup& group : config.groups) {
      if (group.name == name) return group;
    }
    if (config.groups.size() > 1) throw Error("layer_type", "must be one that the file has", name);
  }
  const auto rotated =
      std::ranges::find_if(config.groups, [](const LayerGroup& g) { return g.rotary.has_value(); });
  if (rotated == config.groups.end()) throw Error("config", "must rotate some layer");
  return *rotated;
}

// The spectrum part of a scheme string, with its parameters; nothing where there is none.
std::optional<ParsedPart> spectrum_part(const std::string& scheme) {
  if (scheme.empty()) return std::nullopt;
  for (ParsedPart& part : parse_scheme(scheme).parts) {
    if (part.scheme->kind == PartKind::kSpectrum) return std::move(part);
  }
  return std::nullopt;
}

// One case read: the layers it is about, what they are turned by, and by which scheme.
struct Subject {
  ModelConfig config;
  Rotary rotary;
  std::optional<ParsedPart> part;
  bool infers_length = false;

  bool has(const char* name) const { return part && part->params.has(name); }
  int64_t original() const {
    return has("original") ? part->params.integer("original") : rotary.source.trained_length;
  }
};

Subject declared_subject(const Json& golden) {
  Subject subject;
  subject.config = read_hf_positions(file_config(golden), "config.json");
  const LayerGroup& group = group_of(subject.config, golden);
  subject.rotary = group.rotary.value();
  subject.part = spectrum_part(group.scheme);
  return subject;
}

Subject asked_subject(Subject declared, const Json& golden, const Json& variant) {
  const AskedScheme scheme = asked_scheme(golden, variant);
  declared.rotary = apply_scheme(scheme.text, declared.rotary);
  declared.part = spectrum_part(scheme.text);
  declared.infers_length = scheme.infers_length;
  return declared;
}

// ---- fields

Value layout_value(const Subject& subject) {
  const char* const order =
      subject.rotary.layout.order == PairOrder::kHalf ? "half" : "interleaved";
  if (subject.config.architecture != "deepseek_v4") return Value::exact(order);
  return Value::disputed(order, "atlas.json says that DeepSeek-V4 is interleaved");
}

void set_resolved(Value& out, const Subject& subject, const Json& golden) {
  if (!golden.contains("resolved")) return;
  const Json& wanted = golden["resolved"];
  const Rotary& rotary = subject.rotary;
  Value resolved = Value::object();
  resolved.set("rotary_dim", Value::exact(rotary.layout.rotary_dim));
  // Under latent attention the rotated part is a head of its own; cases name its width or the
  // whole.
  const int64_t whole = subject.config.shape.head_dim;
  const bool names_whole = wanted.contains("head_dim") && wanted["head_dim"] == whole;
  resolved.set("head_dim", Value::exact(names_whole ? whole : rotary.layout.head_dim));
  resolved.set("layout_hf", layout_value(subject));
  const bool untold = wanted.contains("theta") && wanted["theta"].is_null();
  resolved.set("theta", untold ? Value() : Value::real(static_cast<double>(rotary.source.base)));
  if (subject.part) {
    const SchemeParams& params = subject.part->params;
    for (const char* const name : {"factor", "beta_fast", "beta_slow"}) {
      if (params.has(name)) {
        resolved.set(name, Value::real(static_cast<double>(params.number(name))));
      }
    }
    if (params.has("truncate")) {
      resolved.set("truncate", Value::exact(params.choice("truncate") == "true"));
    }
  }
  resolved.set("original_max_position_embeddings", Value::exact(subject.original()));
  const auto& turns = rotary.spectrum.at(1).turns_per_token;
  resolved.set("rotating_pairs", Value::exact(turns.size() - std::ranges::count(turns, 0.0)));
  for (const DeclaredField& field : subject.config.fields) {
    if (field.from == "max_position_embeddings" && field.provenance == Provenance::kFile) {
      resolved.set("max_position_embeddings", Value::exact(Json::parse(field.value)));
    }
  }
  out.set("resolved", std::move(resolved));
}

// The ends of an index ramp, and the pairs that make the turns they are named by.
void set_ramp(Value& out, const Subject& subject) {
  if (!subject.part || subject.part->scheme->name != "yarn") return;
  const SchemeParams& params = subject.part->params;
  const FrequencySource& source = subject.rotary.source;
  const DoubleDouble length = subject.original();
  const DoubleDouble fast = params.number("beta_fast"), slow = params.number("beta_slow");
  const IndexRamp ramp =
      beta_ramp(params, source, subject.original(), params.choice("truncate") == "true");
  const auto real = [](DoubleDouble x) { return Value::real(static_cast<double>(x)); };
  out.set("ramp_low", real(ramp.low)).set("ramp_high", real(ramp.high));
  out.set("corr_dim_fast", real(index_of_turns(source, fast, length)));
  out.set("corr_dim_slow", real(index_of_turns(source, slow, length)));
}

void set_two_ramps(Value& out, const Subject& subject) {
  if (!subject.part || subject.part->scheme->name != "part_ntk") return;
  const PartNtkRamps ramps =
      part_ntk_ramps(subject.part->params, subject.rotary.source, subject.original());
  const auto real = [](DoubleDouble x) { return Value::real(static_cast<double>(x)); };
  out.set("low", real(ramps.to_slowed.low)).set("high", real(ramps.to_slowed.high));
  out.set("low2", real(ramps.to_ntk.low)).set("high2", real(ramps.to_ntk.high));
}

// The base that a scheme made, and the scale that made it: base s^(d / (d - 2)).
void set_bases(Value& out, const Subject& subject, const Spectrum& spectrum) {
  if (spectrum.base <= 0) return;
  out.set("effective_theta", Value::real(spectrum.base));
  const DoubleDouble d = spectrum.frequency_dim;
  const DoubleDouble growth = DoubleDouble(spectrum.base) / subject.rotary.source.base;
  out.set("ntk_alpha", Value::real(static_cast<double>(pow(growth, (d - 2) / d))));
}

void set_softmax_scale(Value& out, const Subject& subject, const Spectrum& spectrum) {
  const int64_t head_dim = subject.config.shape.head_dim;
  if (head_dim < 1) return;
  const double scale = spectrum.logit_multiplier / std::sqrt(static_cast<double>(head_dim));
  out.set("qk_head_dim", Value::exact(head_dim));
  out.set("softmax_scale", Value::real(scale));
  out.set("softmax_scale_multiplier", Value::real(spectrum.logit_multiplier));
}

Value variant_value(const Subject& subject, const Json& variant) {
  Value out = Value::object();
  echo(variant, out, {"seq_len", "scale", "mixed_b", "original_max"});
  const int64_t n = variant.value("seq_len", int64_t{1});
  const Spectrum spectrum = subject.rotary.spectrum.at(n);
  set_spectrum(out, spectrum, variant);
  set_ramp(out, subject);
  set_two_ramps(out, subject);
  set_bases(out, subject, spectrum);
  set_softmax_scale(out, subject, spectrum);
  out.set("factors", Value::exact(n > subject.original() ? "long" : "short"));
  out.set("gguf_rope_freqs_f64", Value::reals(frequency_divisors(subject.rotary, spectrum)));
  return out;
}

}  // namespace

Value compute_frequencies(const Json& golden) {
  const std::string rule = rule_of(golden);
  if (rule.starts_with("vision_") || rule.starts_with("axial_")) return compute_vision(golden);
  if (!is_asked_for(rule) && !is_declared(rule)) refuse_rule(golden);

  const Subject declared = declared_subject(golden);
  Value out = Value::object();
  set_resolved(out, declared, golden);
  if (golden.contains("cases")) set_axes(out, declared.rotary.spectrum.at(1), golden);
  if (!golden.contains("variants")) return out;
  Value variants = Value::list();
  for (const Json& variant : golden["variants"]) {
    if (!is_asked_for(rule)) {
      variants.push(variant_value(declared, variant));
      continue;
    }
    const Subject asked = asked_subject(declared, golden, variant);
    variants.push(variant_value(asked, variant));
    if (asked.infers_length) {
      variants.note("L = " + std::to_string(asked.original()) +
                    " is inferred from the lengths of the variants: the case does not give it");
    }
  }
  out.set("variants", std::move(variants));
  return out;
}

// A scheme's own name and parameters, on a head that is all rotated. Inputs are exact, so that the
// table is held to units in the last place however far the position.
Value compute_far(const Json& golden) {
  std::string scheme = rule_of(golden);
  if (find_scheme(scheme) == nullptr) refuse_rule(golden);
  if (golden.contains("parameters")) {
    for (const auto& [name, value] : golden["parameters"].items()) {
      scheme += "," + name + "=" + text_of(value);
    }
  }
  const int64_t dim = bounded_width(golden, "rotary_dim");
  const Rotary plain =
      plain_rotary({.base = number(golden.at("base")), .frequency_dim = dim, .trained_length = 0},
                   {PairOrder::kHalf, dim, dim});
  const Spectrum spectrum = apply_scheme(scheme, plain).spectrum.at(1);
  Value out = Value::object();
  echo(golden, out, {"base", "rotary_dim", "parameters", "pairs", "positions"});
  Value cosines = Value::list(), sines = Value::list();
  for (const Json& position : golden.at("positions")) {
    Value cosine = Value::list(), sine = Value::list();
    for (const Json& pair : golden.at("pairs")) {
      const CosSin angle = cos_sin_at(DoubleDouble(position.get<int64_t>()),
                                      spectrum.turns_per_token.at(pair.get<size_t>()));
      cosine.push(Value::real(angle.cos));
      sine.push(Value::real(angle.sin));
    }
    cosines.push(std::move(cosine));
    sines.push(std::move(sine));
  }
  out.set("cos", std::move(cosines)).set("sin", std::move(sines));
  return out;
}

}  // namespace ropewalk::golden
