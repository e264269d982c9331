// Source: transformers, modeling_rope_utils.py; vLLM, model_executor/layers/rotary_embedding: which
// keys each of them reads.
#include "ropewalk/config/hf_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/dual_chunk.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOriginal = "original_max_position_embeddings";

// What is taken of a model type that the table does not have, as of a GGUF file's architecture.
constexpr HfFamily kUnknown = {};

const HfFamily& family_of(const ModelConfig& declared) {
  const HfFamily* const found = find_hf_family(declared.architecture);
  return found != nullptr ? *found : kUnknown;
}

class Planner {
 public:
  Planner(const ModelConfig& declared, const std::string& scheme, TargetEngine engine)
      : declared_(declared),
        family_(family_of(declared)),
        rotary_(*leading_group(declared).rotary),
        parsed_(parse_scheme(scheme)),
        target_(apply_scheme(parsed_, rotary_)),
        engine_(engine) {
    for (const ParsedPart& part : parsed_.parts) {
      if (part.scheme->kind == PartKind::kSpectrum) spectrum_ = &part;
    }
    if (spectrum_ != nullptr) rule_ = apply_scheme(spectrum_->text, rotary_).spectrum;
    const GgufArchitecture* const converted = find_gguf_architecture(declared.architecture);
    is_permuted_ = converted != nullptr && converted->permuted;
  }

  HfForm plan() {
    if (spectrum_ != nullptr) {
      say();
    } else {
      form_.as_declared = true;
      form_.how = "as the file declares it";
    }
    for (const ParsedPart& part : parsed_.parts) {
      if (part.scheme->kind != PartKind::kSpectrum) say_beside(part);
    }
    return std::move(form_);
  }

 private:
  void say();
  bool say_by_base(const Spectrum& wanted);
  void say_still(const Spectrum& wanted);
  void say_dynamic();
  void say_alpha();
  void say_ntk();
  void say_yarn(const Spectrum& wanted);
  void say_amplitude(const Spectrum& wanted);
  void say_llama3();
  void say_proportional(int64_t rotating, double factor);
  void say_longrope();
  void say_lists(const std::vector<double>& longer, const std::vector<double>& shorter,
                 double amplitude);

  void say_beside(const ParsedPart& part);
  void say_steps(const ParsedPart& part);
  void say_chunks(const ParsedPart& part);
  [[noreturn]] void refuse_unsayable(const ParsedPart& part) const;
  const ParsedPart* find_part(const std::string& name) const;

  const ParsedPart& part() const { return *spectrum_; }
  const std::string& name() const { return spectrum_->scheme->name; }
  double given(const std::string& name) const {
    return static_cast<double>(part().params.number(name));
  }
  std::string place(const ParsedPart& part) const {
    return "scheme part " + part.text.substr(0, 200);
  }
  bool is_vllm() const { return engine_ == TargetEngine::kVllm; }
  bool is_family(std::string_view prefix) const {
    return std::string_view(declared_.architecture).starts_with(prefix);
  }
  bool is_deepseek() const {
    return is_family("deepseek") || is_family("kimi") || is_family("glm_moe_dsa");
  }

  void start_block(const std::string& type) {
    form_.block = {{"rope_type", type}};
    form_.how = "rope_type = " + type;
  }
  // Only where it says something, or where the file's block says it too.
  void put(const std::string& key, const Json& value, const Json& usual) {
    if (value == usual) {
      form_.spare[key] = value;
    } else {
      form_.block[key] = value;
    }
  }

  const ModelConfig& declared_;
  const HfFamily& family_;
  const Rotary& rotary_;
  const ParsedScheme parsed_;
  const Rotary target_;
  const TargetEngine engine_;
  const ParsedPart* spectrum_ = nullptr;
  SpectrumRule rule_;         // of that part alone
  bool is_permuted_ = false;  // a GGUF file whose Hugging Face twin pairs in halves
  HfForm form_;
};

void Planner::say() {
  if (name() == "dynamic_ntk") return say_dynamic();
  if (name() == "longrope") return say_longrope();
  if (rule_.length() != SpectrumRule::Length::kFixed) {
    throw Error(
        place(part()),
        "must be what some engine computes: " + to_string(engine_) +
            " has no rule for it that depends on the length",
        {},
        declared_.architecture == "qwen"
            ? "Qwen-1's own code reads use_dynamic_ntk: --scheme declared leaves it as it is; "
              "ntk,factor=F is the nearest fixed rule"
            : "ntk,factor=F or yarn,factor=F are the nearest fixed rules; Ropewalk's own "
              "engine runs it");
  }
  const Spectrum wanted = rule_.at(1);
  if (!wanted.decay.empty()) {
    throw Error(place(part()), "must have no decay: no rope_type has a key for one", {},
                "Ropewalk's own engine runs it");
  }
  if (!rotary_.spectrum.at(1).decay.empty()) {
    throw Error(place(part()), "must be declared: the file's own key for xPos stays beside it");
  }
  const bool squared = name() == "yarn" && family_.logits_squared;
  if (wanted.logit_multiplier != 1 && !squared) {
    throw Error(place(part()),
                "must leave logits as they are: no type has a key for a multiplier of all, but "
                "yarn in DeepSeek's model types",
                to_text(wanted.logit_multiplier));
  }
  const Spectrum plain = plain_spectrum(rotary_);
  if (std::ranges::find(plain.turns_per_token, DoubleDouble(0)) != plain.turns_per_token.end()) {
    return say_still(wanted);
  }
  if (name() == "ntk" && is_family("hunyuan")) return say_alpha();
  if (say_by_base(wanted)) return;
  if (name() == "linear") {
    start_block("linear");
    form_.block["factor"] = given("factor");
  } else if (name() == "llama3") {
    say_llama3();
  } else if (name() == "yarn" && part().params.choice("ramp") == "index") {
    say_yarn(wanted);
  } else if (name() == "proportional") {
    say_proportional(part().params.integer("rotating"), given("factor"));
  } else if (is_vllm() && (name() == "ntk_fixed" || name() == "ntk_mixed")) {
    say_ntk();
  } else {
    const std::vector<double> divisors = stored_divisors(rotary_, wanted);
    say_lists(divisors, divisors, wanted.amplitude);
  }
}

bool Planner::say_by_base(const Spectrum& wanted) {
  const std::optional<double> base = plain_base(rotary_, wanted);
  if (!base || wanted.amplitude != 1) return false;
  form_.how = "no rope_scaling";
  if (*base == static_cast<double>(rotary_.source.base)) return true;
  form_.how = "rope_theta";
  form_.base = *base;
  return true;
}

// A model some of whose pairs stand still: only proportional says so.
void Planner::say_still(const Spectrum& wanted) {
  const auto& turns = wanted.turns_per_token;
  const auto still = std::ranges::find(turns, DoubleDouble(0));
  const bool last = std::all_of(still, turns.end(), [](const auto& turn) { return turn == 0; });
  const std::optional<double> factor = say_by_base(wanted) ? 1 : common_factor(rotary_, wanted);
  if (!last || still == turns.begin() || !factor || wanted.amplitude != 1) {
    if (name() == "proportional" && last) {
      return say_proportional(still - turns.begin(), given("factor"));
    }
    throw Error(place(part()),
                "must be another base or one factor for all pairs: the model has pairs that stand "
                "still, which only rope_type proportional says");
  }
  say_proportional(still - turns.begin(), *factor);
}

// ---- types

void Planner::say_dynamic() {
  if (is_vllm()) {
    throw Error(place(part()),
                "must not depend on the length of the sequence: vLLM makes its frequencies once",
                {}, "ntk with a fixed factor is the nearest it can run");
  }
  if (part().params.integer("block") != kUnbounded) {
    throw Error(place(part()),
                "must read block=all: transformers goes by the length of the whole call",
                std::to_string(part().params.integer("block")), "write dynamic_ntk,block=all");
  }
  start_block("dynamic");
  form_.block["factor"] = given("factor");
  form_.keeps_length = true;
  form_.notes.push_back(
      "max_position_embeddings stays the trained length: dynamic counts from it. transformers does "
      "not turn cached keys again when the base grows, so only a text that is read in one call is "
      "seen as here");
}

// Hunyuan's own key; vLLM reads it so, and transformers since it knows the model type.
void Planner::say_alpha() {
  start_block("dynamic");
  form_.block["alpha"] = given("factor");
  form_.block["factor"] = 1.0;
  form_.how += " with alpha";
}

void Planner::say_ntk() {
  start_block("ntk");
  form_.block["factor"] = given("factor");
  if (name() == "ntk_mixed") form_.block["mixed_b"] = given("power");
}

void Planner::say_llama3() {
  start_block("llama3");
  form_.block["factor"] = given("factor");
  form_.block["low_freq_factor"] = given("low");
  form_.block["high_freq_factor"] = given("high");
  form_.block[kOriginal] = original_length(part().params, rotary_);
}

void Planner::say_yarn(const Spectrum& wanted) {
  start_block("yarn");
  form_.block["factor"] = given("factor");
  form_.block[kOriginal] = original_length(part().params, rotary_);
  put("beta_fast", given("beta_fast"), 32.0);
  put("beta_slow", given("beta_slow"), 1.0);
  put("truncate", part().params.choice("truncate") == "true", true);
  put("extrapolation_factor", 1.0, 1.0);
  put("apply_yarn_scaling", true, true);
  say_amplitude(wanted);
}

// 1 + 0.1 ln(factor) unless told otherwise: as the amplitude itself, as a multiplier of the usual
// one (vLLM), or as a ratio of magnitudes, which vLLM reads in DeepSeek's classes alone.
void Planner::say_amplitude(const Spectrum& wanted) {
  const double usual = static_cast<double>(yarn_magnitude(given("factor")));
  const double mscale = given("mscale");
  const double all_dim = given("mscale_all_dim");
  const bool squares = part().params.choice("mscale_logits") == "true";
  const bool own = part().params.has("attention_factor") || given("coefficient") != 0.1;
  const bool keys_read = (!is_vllm() || is_deepseek()) && family_.logits_squared == squares;
  if (keys_read && (!own || squares)) {
    if (mscale != 0) form_.block["mscale"] = mscale;
    if (all_dim != 0) form_.block["mscale_all_dim"] = all_dim;
    if (!own) {
      form_.spare["attention_factor"] = wanted.amplitude;
      form_.spare["attn_factor"] = 1.0;
      return;
    }
  }
  if (squares && (!keys_read || (is_vllm() && own))) {
    throw Error(place(part()), "must be sayable in mscale and mscale_all_dim",
                to_text(wanted.amplitude));
  }
  const bool is_usual = std::abs(wanted.amplitude / usual - 1) < 1e-12;
  form_.spare.update(
      {{"attn_factor", 1.0}, {"attention_factor", wanted.amplitude}, {"mscale", mscale}});
  if (all_dim != 0 && !squares) form_.spare["mscale_all_dim"] = all_dim;
  if (is_usual) return;
  if (is_vllm()) {
    form_.block["attn_factor"] = wanted.amplitude / usual;
  } else {
    form_.block["attention_factor"] = wanted.amplitude;
  }
}

// A share of the head that gives so many pairs, as engines round it.
double share_of_pairs(int64_t pairs, int64_t head_dim) {
  double share = 2 * static_cast<double>(pairs) / static_cast<double>(head_dim);
  while (static_cast<int64_t>(share * static_cast<double>(head_dim)) / 2 < pairs) {
    share = std::nextafter(share, 2);
  }
  return share;
}

void Planner::say_proportional(int64_t rotating, double factor) {
  const PairLayout& layout = rotary_.layout;
  if (layout.rotary_dim != layout.head_dim || rotary_.source.frequency_dim != layout.head_dim) {
    throw Error(place(part()),
                "must be of a model that turns whole heads: proportional counts its pairs so",
                std::to_string(layout.rotary_dim) + " of " + std::to_string(layout.head_dim));
  }
  const std::string how = form_.base ? ", rope_theta" : "";
  start_block("proportional");
  form_.how += how;
  form_.block["partial_rotary_factor"] = share_of_pairs(rotating, layout.head_dim);
  put("factor", factor, 1.0);
}

// ---- lists

void Planner::say_longrope() {
  const std::vector<double>& longer = part().params.numbers("long");
  const std::vector<double>& shorter = part().params.numbers("short");
  if (is_vllm() && longer != shorter) {
    form_.differs =
        "vLLM chooses between long and short by the length it was started with, not by the tokens "
        "that are there: above " +
        std::to_string(rotary_.source.trained_length) +
        " it takes the long list for short texts, too; only equal lists are taken as they are";
  }
  say_lists(longer, shorter, given("amplitude"));
}

// LongRoPE's lists hold any frequencies at all.
void Planner::say_lists(const std::vector<double>& longer, const std::vector<double>& shorter,
                        double amplitude) {
  if (is_vllm() && !is_permuted_ && !vllm_takes_lists(rotary_.layout)) {
    throw Error(place(part()),
                "must be sayable without lists: vLLM takes longrope for pairs in halves only");
  }
  start_block("longrope");
  Json& block = form_.block;
  block["long_factor"] = longer;
  block["short_factor"] = shorter;
  block[kOriginal] = rotary_.source.trained_length;
  if (is_vllm() || is_family("phimoe")) {
    block["short_mscale"] = amplitude;
    block["long_mscale"] = amplitude;
  } else {
    block["attention_factor"] = amplitude;
    form_.spare["short_mscale"] = amplitude;
    form_.spare["long_mscale"] = amplitude;
  }
  form_.derivable_amplitude = amplitude;
  if (name() != "longrope") form_.how += " with equal lists";
}

// ---- what is no spectrum

const ParsedPart* Planner::find_part(const std::string& name) const {
  const auto found = std::ranges::find_if(
      parsed_.parts, [&](const ParsedPart& part) { return part.scheme->name == name; });
  return found == parsed_.parts.end() ? nullptr : &*found;
}

void Planner::refuse_unsayable(const ParsedPart& part) const {
  throw Error(place(part),
              "must be a spectrum: " + to_string(engine_) + " has no key for a " +
                  to_string(part.scheme->kind),
              {}, "Ropewalk's own engine runs it");
}

void Planner::say_beside(const ParsedPart& part) {
  const std::string& name = part.scheme->name;
  if (name == "step_temperature") return say_steps(part);
  if (name == "dca" && is_vllm() && is_family("qwen2")) return say_chunks(part);
  // dca's own: one block says both.
  if (name == "length_temperature" && find_part("dca") != nullptr && is_vllm()) return;
  refuse_unsayable(part);
}

// Ministral's steps over the original length.
void Planner::say_steps(const ParsedPart& part) {
  if (!family_.steps_queries || family_.nope != HfFamily::Nope::kNever) refuse_unsayable(part);
  const QueryTemperature& steps = target_.temperature;
  if (steps.step_offset != 0 || steps.step_length != rotary_.source.trained_length) {
    throw Error(place(part),
                "must have offset 0 and the length " +
                    std::to_string(rotary_.source.trained_length) +
                    ": llama_4_scaling_beta counts so",
                std::to_string(steps.step_length));
  }
  form_.step_scale = steps.step_scale;
  form_.how += ", llama_4_scaling_beta";
}

// Qwen2.5-1M's block: with it vLLM turns by plain frequencies and multiplies logits by length.
void Planner::say_chunks(const ParsedPart& part) {
  const ParsedPart* const temperature = find_part("length_temperature");
  const int64_t trained = rotary_.source.trained_length;
  if (temperature == nullptr || original_length(temperature->params, rotary_) != trained) {
    throw Error(place(part),
                "must come with length_temperature: vLLM multiplies logits by the length where it "
                "reads dual_chunk_attention_config");
  }
  if (part.params.has("pairs")) {
    throw Error(place(part), "must move every pair: vLLM knows no others", "pairs");
  }
  const SpectrumRule& rule = spectrum_ != nullptr ? rule_ : rotary_.spectrum;
  const bool fixed = rule.length() == SpectrumRule::Length::kFixed;
  if (!fixed || !same_frequencies(rule.at(1), plain_spectrum(rotary_))) {
    throw Error(place(part), "must be beside plain RoPE: vLLM scales nothing else with it");
  }
  const DualChunk chosen = dca_chunks(part.params, rotary_);
  form_.top["dual_chunk_attention_config"] = {
      {"chunk_size", chosen.chunk}, {"local_size", chosen.local}, {kOriginal, trained}};
  form_.how += ", dual_chunk_attention_config";
}

}  // namespace

HfForm hf_form(const ModelConfig& declared, const std::string& scheme, TargetEngine engine) {
  return Planner(declared, scheme, engine).plan();
}

}  // namespace ropewalk
