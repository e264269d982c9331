// Source: llama.cpp: llama-model.cpp (which keys and tensors are loaded), llama-context.cpp, and
// ggml's rope; the formulas stand in gguf_rope.cc.
#include "ropewalk/config/gguf_form.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// What stands for the divisor of a pair that does not turn; as in converted Gemma 4 files.
constexpr float kNeverTurns = 1e30F;

// Of an amplitude, by formulas written differently.
constexpr double kRounding = 1e-14;

class Planner {
 public:
  Planner(const ModelConfig& declared, const std::string& scheme)
      : declared_(declared),
        rotary_(rotary_of_all_layers(declared)),
        parsed_(parse_scheme(scheme)) {}

  GgufForm plan() {
    const Rotary target = apply_scheme(parsed_, rotary_);
    form_.original_length = rotary_.source.trained_length;
    if (parsed_.is_declared()) {
      form_.as_declared = true;
      form_.how = "as the file declares it";
      return form_;
    }
    for (const ParsedPart& part : parsed_.parts) refuse_unsayable(part);
    const Spectrum wanted = wanted_spectrum(target);
    form_.freq_base = static_cast<float>(static_cast<double>(rotary_.source.base));
    const bool plain_logits = wanted.logit_multiplier == 1;
    if (plain_logits && (say_by_base(wanted) || say_linear(wanted))) return form_;
    if (!say_yarn(wanted)) say_divisors(wanted);
    return form_;
  }

 private:
  // Anything but a spectrum of fixed length.
  void refuse_unsayable(const ParsedPart& part) const;
  Spectrum wanted_spectrum(const Rotary& target) const;

  bool say_by_base(const Spectrum& wanted);
  bool say_linear(const Spectrum& wanted);
  bool say_yarn(const Spectrum& wanted);
  void say_divisors(const Spectrum& wanted);

  void say(const std::string& type, double amplitude) {
    form_.scaling_type = type;
    form_.how = "rope.scaling.type = " + type;
    if (amplitude == 1) return;
    form_.amplitude = static_cast<float>(amplitude);
    form_.how += " with rope.scaling.attn_factor";
  }
  std::string place(const ParsedPart& part) const { return "scheme part " + part.text; }

  const ModelConfig& declared_;
  const Rotary& rotary_;
  const ParsedScheme parsed_;
  GgufForm form_;
};

void Planner::refuse_unsayable(const ParsedPart& part) const {
  const PartKind kind = part.scheme->kind;
  if (kind == PartKind::kSpectrum) return;
  throw Error(place(part), "must be a spectrum: llama.cpp has no key for a " + to_string(kind), {},
              "Ropewalk's own engine runs it");
}

// The one spectrum of a scheme that does not depend on length. LongRoPE with two equal lists is one
// too: with different ones, llama.cpp goes by the size of its context where the scheme goes by the
// tokens that are there.
Spectrum Planner::wanted_spectrum(const Rotary& target) const {
  if (target.spectrum.length() == SpectrumRule::Length::kFixed) return target.spectrum.at(1);
  const ParsedPart& part = parsed_.parts.front();
  const int64_t trained = rotary_.source.trained_length;
  if (part.scheme->name == "longrope") {
    const Spectrum below = target.spectrum.at(1);
    if (same_frequencies(below, target.spectrum.at(trained + 1))) return below;
    throw Error(place(part),
                "must have equal lists: llama.cpp chooses between long and short by the size of "
                "its context, not by the tokens in it");
  }
  throw Error(place(part),
              "must not depend on the length of the sequence: llama.cpp makes its frequencies once",
              {}, "ntk with a fixed factor is the nearest it can run");
}

bool Planner::say_by_base(const Spectrum& wanted) {
  const std::optional<double> base = plain_base(rotary_, wanted);
  if (!base) return false;
  if (*base <= 1) {
    throw Error(place(parsed_.parts.front()), "must give a base above 1", to_text(*base));
  }
  const bool changed = *base != rotary_.source.base;
  say("none", wanted.amplitude);
  if (changed) form_.how = "rope.freq_base" + (form_.amplitude ? ", " + form_.how : std::string());
  form_.freq_base = static_cast<float>(*base);
  return true;
}

bool Planner::say_linear(const Spectrum& wanted) {
  const std::optional<double> factor = common_factor(rotary_, wanted);
  if (!factor) return false;
  say("linear", wanted.amplitude);
  form_.factor = static_cast<float>(*factor);
  return true;
}

// What the yarn keys make llama.cpp compute under this architecture is the table's to say.
bool Planner::say_yarn(const Spectrum& wanted) {
  const ParsedPart& part = parsed_.parts.front();
  if (part.scheme->name != "yarn") return false;
  const ParsedPart read = parse_scheme(llama_cpp_yarn(part, declared_.architecture)).parts.front();
  const Spectrum engine = apply_scheme(read.text, rotary_).spectrum.at(1);
  if (!same_frequencies(engine, wanted)) return false;
  if (engine.logit_multiplier != wanted.logit_multiplier) return false;
  const double ratio = wanted.amplitude / engine.amplitude;
  say("yarn", std::abs(ratio - 1) <= kRounding ? 1 : ratio);
  const auto number = [&](const std::string& name) {
    return static_cast<float>(read.params.number(name));
  };
  const LlamaCppLoads loads = llama_cpp_loads(declared_.architecture);
  form_.factor = number("factor");
  form_.original_length = original_length(part.params, rotary_);
  if (loads.yarn_betas) {
    form_.beta_fast = number("beta_fast");
    form_.beta_slow = number("beta_slow");
  }
  if (loads.yarn_log_multiplier && number("mscale_all_dim") != 0) {
    form_.log_multiplier = number("mscale_all_dim") * loads.log_multiplier_unit;
  }
  return true;
}

void Planner::say_divisors(const Spectrum& wanted) {
  if (wanted.logit_multiplier != 1) {
    throw Error(place(parsed_.parts.front()),
                "must leave logits as they are: only yarn's keys multiply all of them, where they "
                "are read",
                to_text(wanted.logit_multiplier));
  }
  if (!llama_cpp_loads_rope_freqs(declared_.architecture)) {
    throw Error(place(parsed_.parts.front()),
                "must be sayable in keys, or the architecture one for which llama.cpp loads " +
                    std::string(kRopeFreqsTensor),
                declared_.architecture);
  }
  say("none", wanted.amplitude);
  for (const double divisor : frequency_divisors(rotary_, wanted)) {
    form_.divisors.push_back(std::isinf(divisor) ? kNeverTurns : static_cast<float>(divisor));
  }
  form_.how =
      kRopeFreqsTensor + (form_.amplitude ? " with rope.scaling.attn_factor" : std::string());
}

}  // namespace

const Rotary& rotary_of_all_layers(const ModelConfig& config) {
  if (!config.groups.front().rotary && config.groups.size() == 1) {
    throw Error("model", "must have rotary positions: no other ones can be rewritten",
                config.architecture);
  }
  if (config.groups.size() != 1) {
    throw Error("model",
                "must have the same positions in every layer: layer types are not "
                "rewritten yet",
                config.architecture);
  }
  return *config.groups.front().rotary;
}

GgufForm gguf_form(const ModelConfig& declared, const std::string& scheme) {
  return Planner(declared, scheme).plan();
}

}  // namespace ropewalk
