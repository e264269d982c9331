// Source: llama.cpp: llama-model.cpp (which keys and tensors are loaded), llama-context.cpp, and
// ggml's rope; the formulas stand in gguf_rope.cc.
#include "ropewalk/config/gguf_form.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

using LogMultiplier = GgufArchitecture::LogMultiplier;
using Temperature = GgufArchitecture::Temperature;

// Of an amplitude, by formulas written differently.
constexpr double kRounding = 1e-14;

// What is taken of an architecture that llama.cpp does not know.
constexpr GgufArchitecture kUnknown = {};

const GgufArchitecture& architecture_of(const ModelConfig& declared) {
  const GgufArchitecture* const found =
      find_gguf_architecture(llama_cpp_architecture(declared.architecture));
  return found != nullptr ? *found : kUnknown;
}

std::vector<float> as_floats(const std::vector<double>& divisors) {
  return {divisors.begin(), divisors.end()};
}

class Planner {
 public:
  Planner(const ModelConfig& declared, const std::string& scheme)
      : declared_(declared),
        architecture_(architecture_of(declared)),
        loads_(llama_cpp_loads(declared.architecture)),
        lead_(leading_group(declared)),
        rotary_(*lead_.rotary),
        parsed_(parse_scheme(scheme)) {}

  GgufForm plan() {
    const Rotary target = apply_scheme(parsed_, rotary_);
    form_.original_length = rotary_.source.trained_length;
    form_.freq_base = static_cast<float>(static_cast<double>(rotary_.source.base));
    spectrum_ = parsed_.parts.empty() ? nullptr : &parsed_.parts.front();
    if (spectrum_ != nullptr && spectrum_->scheme->kind != PartKind::kSpectrum) spectrum_ = nullptr;
    for (const ParsedPart& part : parsed_.parts) {
      if (&part != spectrum_ && part.scheme->name != "step_temperature") refuse_unsayable(part);
    }
    if (spectrum_ == nullptr) {
      form_.as_declared = true;
      form_.how = "as the file declares it";
    } else {
      say_spectrum(target);
      check_other_layers();
    }
    for (const ParsedPart& part : parsed_.parts) {
      if (part.scheme->name == "step_temperature") say_temperature(part, target.temperature);
    }
    return form_;
  }

 private:
  [[noreturn]] void refuse_unsayable(const ParsedPart& part) const;
  void say_spectrum(const Rotary& target);
  bool say_two_lists(const Rotary& target);
  Spectrum wanted_spectrum(const Rotary& target) const;

  bool say_by_base(const Spectrum& wanted);
  bool say_by_alpha(const Spectrum& wanted);
  bool say_linear(const Spectrum& wanted);
  bool say_yarn(const Spectrum& wanted);
  bool say_divisors(const Spectrum& wanted);
  bool say_lists(const Spectrum& longer, const Spectrum& shorter);
  [[noreturn]] void refuse_divisors() const;
  void keep_still_pairs(const Spectrum& wanted);
  void check_other_layers() const;
  void say_temperature(const ParsedPart& part, const QueryTemperature& temperature);

  // llama.cpp multiplies the logits of DeepSeek's architectures by what it makes of any factor.
  bool squares_factors() const { return architecture_.log_multiplier == LogMultiplier::kTenth; }

  void say(const std::string& type, double amplitude) {
    form_.scaling_type = type;
    form_.how = "rope.scaling.type = " + type;
    if (amplitude == 1) return;
    if (squares_factors()) {
      throw Error(place(*spectrum_),
                  "must leave the amplitude as it is: llama.cpp multiplies all logits of this "
                  "architecture by the square of rope.scaling.attn_factor",
                  declared_.architecture);
    }
    form_.amplitude = static_cast<float>(amplitude);
    form_.how += " with rope.scaling.attn_factor";
  }
  std::string with_amplitude(const std::string& what) const {
    return what + (form_.amplitude ? " with rope.scaling.attn_factor" : "");
  }
  std::string place(const ParsedPart& part) const {
    return "scheme part " + part.text.substr(0, 200);
  }

  const ModelConfig& declared_;
  const GgufArchitecture& architecture_;
  const LlamaCppLoads loads_;
  const LayerGroup& lead_;
  const Rotary& rotary_;
  const ParsedScheme parsed_;
  const ParsedPart* spectrum_ = nullptr;
  GgufForm form_;
};

// ---- which kind

// Anything but a spectrum, and the one multiplier that has keys.
void Planner::refuse_unsayable(const ParsedPart& part) const {
  throw Error(place(part),
              "must be a spectrum: llama.cpp has no key for a " + to_string(part.scheme->kind), {},
              "Ropewalk's own engine runs it");
}

void Planner::say_spectrum(const Rotary& target) {
  if (say_two_lists(target)) return;
  const Spectrum wanted = wanted_spectrum(target);
  if (!wanted.decay.empty()) {
    throw Error(place(*spectrum_), "must have no decay: llama.cpp has no key for one", {},
                "Ropewalk's own engine runs it");
  }
  const bool plain_logits = wanted.logit_multiplier == 1;
  if (plain_logits && (say_by_alpha(wanted) || say_by_base(wanted) || say_linear(wanted))) {
    return keep_still_pairs(wanted);
  }
  if (say_yarn(wanted)) return keep_still_pairs(wanted);
  if (!plain_logits) {
    throw Error(place(*spectrum_),
                "must leave logits as they are: only yarn's keys multiply all of them, where they "
                "are read",
                to_text(wanted.logit_multiplier));
  }
  if (!say_divisors(wanted) && !say_lists(wanted, wanted)) refuse_divisors();
}

// LongRoPE of two lists: the scheme goes by the tokens that are there, llama.cpp by the size of its
// context.
bool Planner::say_two_lists(const Rotary& target) {
  if (spectrum_->scheme->name != "longrope") return false;
  const int64_t trained = rotary_.source.trained_length;
  const Spectrum shorter = target.spectrum.at(1);
  const Spectrum longer = target.spectrum.at(trained + 1);
  if (same_frequencies(shorter, longer)) return false;
  if (!say_lists(longer, shorter)) {
    throw Error(place(*spectrum_),
                "must have equal lists, or the architecture be one for which llama.cpp loads " +
                    std::string(kLongFactorsTensor),
                declared_.architecture);
  }
  form_.differs =
      "llama.cpp chooses between long and short by the size of its context, not by the tokens in "
      "it: above " +
      std::to_string(trained) +
      " it takes the long list for short texts, too; only equal lists are taken as they are";
  return true;
}

// The one spectrum of a scheme that does not depend on length.
Spectrum Planner::wanted_spectrum(const Rotary& target) const {
  const bool fixed = target.spectrum.length() == SpectrumRule::Length::kFixed;
  if (fixed || spectrum_->scheme->name == "longrope") return target.spectrum.at(1);
  throw Error(place(*spectrum_),
              "must not depend on the length of the sequence: llama.cpp makes its frequencies once",
              {}, "ntk with a fixed factor is the nearest it can run");
}

// ---- keys

bool Planner::say_by_base(const Spectrum& wanted) {
  const std::optional<double> base = plain_base(rotary_, wanted);
  if (!base) return false;
  if (*base <= 1) throw Error(place(*spectrum_), "must give a base above 1", to_text(*base));
  const bool changed = *base != rotary_.source.base;
  say("none", wanted.amplitude);
  if (changed) form_.how = "rope.freq_base" + (form_.amplitude ? ", " + form_.how : std::string());
  form_.freq_base = static_cast<float>(*base);
  return true;
}

// Hunyuan's: the loader makes the base.
bool Planner::say_by_alpha(const Spectrum& wanted) {
  if (!architecture_.alpha || spectrum_->scheme->name != "ntk") return false;
  say("none", wanted.amplitude);
  form_.alpha = static_cast<float>(static_cast<double>(spectrum_->params.number("factor")));
  form_.how = "rope.scaling.alpha";
  return true;
}

bool Planner::say_linear(const Spectrum& wanted) {
  const std::optional<double> factor = common_factor(rotary_, wanted);
  if (!factor || squares_factors()) return false;
  say("linear", wanted.amplitude);
  form_.factor = static_cast<float>(*factor);
  return true;
}

// What the yarn keys make llama.cpp compute under this architecture is the table's to say.
bool Planner::say_yarn(const Spectrum& wanted) {
  if (spectrum_->scheme->name != "yarn") return false;
  if (squares_factors() && wanted.logit_multiplier == 1) return false;
  const ParsedPart read =
      parse_scheme(llama_cpp_yarn(*spectrum_, declared_.architecture)).parts.front();
  const Spectrum engine = apply_scheme(read.text, rotary_).spectrum.at(1);
  if (!same_frequencies(engine, wanted)) return false;
  if (engine.logit_multiplier != wanted.logit_multiplier) return false;
  const double ratio = wanted.amplitude / engine.amplitude;
  say("yarn", std::abs(ratio - 1) <= kRounding ? 1 : ratio);
  const auto number = [&](const std::string& name) {
    return static_cast<float>(static_cast<double>(read.params.number(name)));
  };
  form_.factor = number("factor");
  form_.original_length = original_length(spectrum_->params, rotary_);
  if (loads_.yarn_betas) {
    form_.beta_fast = number("beta_fast");
    form_.beta_slow = number("beta_slow");
  }
  if (loads_.yarn_log_multiplier && number("mscale_all_dim") != 0) {
    form_.log_multiplier = number("mscale_all_dim") * loads_.log_multiplier_unit;
  }
  return true;
}

// ---- tensors

bool Planner::say_divisors(const Spectrum& wanted) {
  // Where layers turn heads of different widths, the tensor has more entries than these pairs.
  if (!loads_.rope_freqs || architecture_.half_of_full) return false;
  say("none", wanted.amplitude);
  form_.divisors = as_floats(stored_divisors(rotary_, wanted));
  form_.how = with_amplitude(kRopeFreqsTensor);
  return true;
}

bool Planner::say_lists(const Spectrum& longer, const Spectrum& shorter) {
  if (!loads_.factor_lists || architecture_.half_of_full) return false;
  say("longrope", longer.amplitude);
  form_.long_divisors = as_floats(stored_divisors(rotary_, longer));
  form_.short_divisors = as_floats(stored_divisors(rotary_, shorter));
  form_.how = with_amplitude("rope.scaling.type = longrope, rope_factors_*.weight");
  return true;
}

void Planner::refuse_divisors() const {
  const std::string squares =
      squares_factors() ? "; it multiplies logits by what it makes of any rope.scaling.factor" : "";
  throw Error(place(*spectrum_),
              "must be sayable in keys, or the architecture one for which llama.cpp loads " +
                  std::string(kRopeFreqsTensor) + squares,
              declared_.architecture);
}

// Keys alone would turn them.
void Planner::keep_still_pairs(const Spectrum& wanted) {
  if (std::ranges::none_of(wanted.turns_per_token, [](const auto& turns) { return turns == 0; })) {
    return;
  }
  if (!loads_.rope_freqs || architecture_.half_of_full) refuse_divisors();
  for (const DoubleDouble& turns : wanted.turns_per_token) {
    form_.divisors.push_back(turns == 0 ? static_cast<float>(kNeverTurns) : 1);
  }
  form_.how += ", " + std::string(kRopeFreqsTensor) + " for pairs that stand still";
}

// What llama.cpp would do to layers that the scheme is not written for.
void Planner::check_other_layers() const {
  const bool has_tensor = !form_.divisors.empty() || !form_.long_divisors.empty();
  for (const LayerGroup& group : declared_.groups) {
    if (!group.rotary || &group == &lead_) continue;
    const bool divided = has_tensor && !architecture_.factors_of_full;
    if (divided && group.rotary->source.base != rotary_.source.base) {
      throw Error(place(*spectrum_),
                  "must be sayable in keys: llama.cpp would divide the frequencies of layers " +
                      group.name + ", too, whose base is another",
                  declared_.architecture);
    }
    const bool stays = architecture_.sliding.scaling == GgufSliding::Scaling::kPlain;
    if (form_.amplitude && stays) {
      throw Error(place(*spectrum_),
                  "must need no rope.scaling.attn_factor: llama.cpp would apply it to layers " +
                      group.name + ", too, which it leaves unscaled",
                  declared_.architecture);
    }
  }
}

// ---- temperature

void Planner::say_temperature(const ParsedPart& part, const QueryTemperature& temperature) {
  const Temperature rule = architecture_.temperature;
  const bool own = rule == Temperature::kOwnLength;
  if (!own && rule != Temperature::kOriginalLength) {
    throw Error(place(part),
                "must be of an architecture whose queries llama.cpp scales by position: mistral3, "
                "mistral4, deepseek2",
                declared_.architecture, "Ropewalk's own engine runs it");
  }
  if (temperature.step_offset != 0) {
    throw Error(place(part), "must have offset 0: llama.cpp has no other for this architecture",
                std::to_string(temperature.step_offset));
  }
  if (!own && temperature.step_length != form_.original_length) {
    throw Error(place(part),
                "must have the original length " + std::to_string(form_.original_length) +
                    ": llama.cpp's steps are that long under this architecture",
                std::to_string(temperature.step_length));
  }
  form_.temperature = GgufTemperature{.scale = static_cast<float>(temperature.step_scale)};
  if (own) form_.temperature->length = temperature.step_length;
  form_.how += form_.as_declared ? ", attention.temperature_scale" : " and temperature_scale";
}

}  // namespace

GgufForm gguf_form(const ModelConfig& declared, const std::string& scheme) {
  return Planner(declared, scheme).plan();
}

}  // namespace ropewalk
