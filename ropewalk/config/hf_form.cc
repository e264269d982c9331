// Source: transformers, modeling_rope_utils.py; vLLM, model_executor/layers/rotary_embedding: which
// keys each of them reads.
#include "ropewalk/config/hf_form.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

class Planner {
 public:
  Planner(const ModelConfig& declared, const std::string& scheme, TargetEngine engine)
      : rotary_(rotary_of_all_layers(declared)),
        parsed_(parse_scheme(scheme)),
        target_(apply_scheme(parsed_, rotary_)),
        engine_(engine) {
    const GgufArchitecture* const converted = find_gguf_architecture(declared.architecture);
    is_permuted_ = converted != nullptr && converted->permuted;
  }

  HfForm plan() {
    if (parsed_.is_declared()) {
      form_.as_declared = true;
      form_.how = "as the file declares it";
      return std::move(form_);
    }
    for (const ParsedPart& part : parsed_.parts) {
      if (part.scheme->kind == PartKind::kSpectrum) continue;
      throw Error(place(part),
                  "must be a spectrum: " + to_string(engine_) + " has no key for a " +
                      to_string(part.scheme->kind),
                  {}, "Ropewalk's own engine runs it");
    }
    form_.base = static_cast<double>(rotary_.source.base);
    say();
    return std::move(form_);
  }

 private:
  void say();
  void say_dynamic();
  void say_yarn(const Spectrum& wanted);
  void say_llama3();
  void say_longrope();
  void say_lists(const std::vector<double>& longer, const std::vector<double>& shorter,
                 double amplitude);

  const ParsedPart& part() const { return parsed_.parts.front(); }
  double given(const std::string& name) const {
    return static_cast<double>(part().params.number(name));
  }
  std::string place(const ParsedPart& part) const { return "scheme part " + part.text; }
  bool is_vllm() const { return engine_ == TargetEngine::kVllm; }

  void start_block(const std::string& type) {
    form_.block = {{"rope_type", type}};
    form_.how = "rope_type = " + type;
  }
  std::vector<double> divisors(const Spectrum& wanted) const;

  const Rotary& rotary_;
  const ParsedScheme parsed_;
  const Rotary target_;
  const TargetEngine engine_;
  bool is_permuted_ = false;  // a GGUF file whose Hugging Face twin pairs in halves
  HfForm form_;
};

void Planner::say() {
  const std::string& name = part().scheme->name;
  if (name == "dynamic_ntk") return say_dynamic();
  if (name == "longrope") return say_longrope();
  if (target_.spectrum.length() != SpectrumRule::Length::kFixed) {
    throw Error(place(part()),
                "must be what some engine computes: " + to_string(engine_) + " has no such rule");
  }
  const Spectrum wanted = target_.spectrum.at(1);
  if (wanted.logit_multiplier != 1) {
    throw Error(place(part()),
                "must leave logits as they are: no type has a key for a multiplier of all",
                to_text(wanted.logit_multiplier));
  }
  const std::optional<double> base = plain_base(rotary_, wanted);
  if (base && wanted.amplitude == 1) {
    form_.how = *base == form_.base ? "no rope_scaling" : "rope_theta";
    form_.base = *base;
  } else if (name == "linear") {
    start_block("linear");
    form_.block["factor"] = given("factor");
  } else if (name == "llama3") {
    say_llama3();
  } else if (name == "yarn" && part().params.choice("ramp") == "index") {
    say_yarn(wanted);
  } else {
    say_lists(divisors(wanted), divisors(wanted), wanted.amplitude);
  }
}

void Planner::say_dynamic() {
  if (is_vllm()) {
    throw Error(place(part()),
                "must not depend on the length of the sequence: vLLM makes its frequencies once",
                {}, "ntk with a fixed factor is the nearest it can run");
  }
  if (part().params.integer("block") != kUnbounded) {
    throw Error(place(part()),
                "must read block=all: transformers goes by the length of the whole call",
                std::to_string(part().params.integer("block")));
  }
  start_block("dynamic");
  form_.block["factor"] = given("factor");
  form_.keeps_length = true;
  form_.notes.push_back(
      "max_position_embeddings stays the trained length: dynamic counts from it. transformers does "
      "not turn cached keys again when the base grows, so only a text that is read in one call is "
      "seen as here");
}

void Planner::say_llama3() {
  start_block("llama3");
  form_.block["factor"] = given("factor");
  form_.block["low_freq_factor"] = given("low");
  form_.block["high_freq_factor"] = given("high");
  form_.block["original_max_position_embeddings"] = original_length(part().params, rotary_);
}

void Planner::say_yarn(const Spectrum& wanted) {
  start_block("yarn");
  Json& block = form_.block;
  const double factor = given("factor");
  block["factor"] = factor;
  block["original_max_position_embeddings"] = original_length(part().params, rotary_);
  block["beta_fast"] = given("beta_fast");
  block["beta_slow"] = given("beta_slow");
  if (part().params.choice("truncate") == "false") block["truncate"] = false;
  const double usual = 1 + 0.1 * std::log(factor);
  if (std::abs(wanted.amplitude / usual - 1) < 1e-12) return;
  if (is_vllm()) {
    block["attn_factor"] = wanted.amplitude / usual;  // multiplies the usual one
  } else {
    block["attention_factor"] = wanted.amplitude;
  }
}

std::vector<double> Planner::divisors(const Spectrum& wanted) const {
  const std::vector<double> divisors = frequency_divisors(rotary_, wanted);
  const auto still = std::ranges::find_if(divisors, [](double d) { return std::isinf(d); });
  if (still != divisors.end()) {
    throw Error(place(part()), "must let every pair turn to be sayable as divisors",
                "pair " + std::to_string(still - divisors.begin()));
  }
  return divisors;
}

void Planner::say_longrope() {
  const std::vector<double>& longer = part().params.numbers("long");
  const std::vector<double>& shorter = part().params.numbers("short");
  if (is_vllm() && longer != shorter) {
    throw Error(place(part()),
                "must have equal lists: vLLM chooses between long and short by the length it was "
                "started with, not by the tokens that are there");
  }
  say_lists(longer, shorter, given("amplitude"));
}

// LongRoPE's lists hold any frequencies at all.
void Planner::say_lists(const std::vector<double>& longer, const std::vector<double>& shorter,
                        double amplitude) {
  const PairLayout& layout = rotary_.layout;
  if (is_vllm() && !is_permuted_ && !vllm_takes_lists(layout)) {
    throw Error(place(part()),
                "must be sayable without lists: vLLM takes longrope for pairs in halves only");
  }
  start_block("longrope");
  Json& block = form_.block;
  block["long_factor"] = longer;
  block["short_factor"] = shorter;
  block["original_max_position_embeddings"] = rotary_.source.trained_length;
  if (is_vllm()) {
    block["short_mscale"] = amplitude;
    block["long_mscale"] = amplitude;
  }
  block["attention_factor"] = amplitude;
  if (part().scheme->name != "longrope") form_.how += " with equal lists";
}

}  // namespace

HfForm hf_form(const ModelConfig& declared, const std::string& scheme, TargetEngine engine) {
  return Planner(declared, scheme, engine).plan();
}

}  // namespace ropewalk
