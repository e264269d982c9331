// Source: llama.cpp: the loader (llama-model.cpp), what a context makes of it (llama-context.cpp),
// and ggml's rope.
#include "ropewalk/config/gguf_scaling.h"

#include <algorithm>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using LogMultiplier = GgufArchitecture::LogMultiplier;
using YarnKeys = GgufArchitecture::YarnKeys;

constexpr std::string_view kType = "rope.scaling.type";
constexpr std::string_view kFactor = "rope.scaling.factor";
constexpr std::string_view kLegacyFactor = "rope.scale_linear";
constexpr std::string_view kOriginal = "rope.scaling.original_context_length";
constexpr std::string_view kAmplitude = "rope.scaling.attn_factor";
constexpr std::string_view kAlpha = "rope.scaling.alpha";
constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";
constexpr std::string_view kYarnAmplitude = "rope.scaling.yarn_attn_factor";
constexpr std::string_view kExtrapolation = "rope.scaling.yarn_ext_factor";
constexpr std::string_view kBetaFast = "rope.scaling.yarn_beta_fast";
constexpr std::string_view kBetaSlow = "rope.scaling.yarn_beta_slow";

constexpr double kMostFactor = 1e6;  // of any scheme

class ScalingReader {
 public:
  ScalingReader(GgufKeys& keys, const GgufArchitecture& architecture, int64_t context_length,
                GgufReport& report)
      : keys_(keys),
        architecture_(architecture),
        context_length_(context_length),
        report_(report) {}

  GgufScaling read() {
    scaling_.type = read_type();
    scaling_.factor = read_factor();
    read_original();
    scaling_.amplitude = read_amplitude();
    const std::string yarn = read_yarn();
    const std::string alpha = read_alpha();
    if (scaling_.factor != 1) {
      scaling_.scheme = yarn.empty() ? "linear,factor=" + to_text(scaling_.factor) : yarn;
    }
    if (!alpha.empty()) {
      if (scaling_.scheme != "rope") {
        throw wrong(kAlpha, "must be absent beside a factor: one of the two scales",
                    FaultKind::kConflict);
      }
      scaling_.scheme = alpha;
    }
    note_finetuned();
    return std::move(scaling_);
  }

 private:
  Error wrong(std::string_view suffix, const std::string& rule,
              FaultKind kind = FaultKind::kOutOfRange) const {
    return Error(keys_.place(suffix), rule, keys_.spelled(suffix)).of(kind);
  }
  // Says that llama.cpp makes something else of a key.
  void differs(std::string_view suffix, const std::string& text) {
    report_.warn(FaultKind::kInconsistent, keys_.key(suffix),
                 keys_.key(suffix) + " = " + keys_.spelled(suffix) + text);
  }

  std::string read_type();
  double read_factor();
  void read_original();
  double read_amplitude();
  std::string read_alpha();

  std::string read_yarn();
  bool read_extrapolation();
  std::string read_betas();
  double read_beta(std::string_view suffix, double fallback, double theirs);
  std::string read_magnitude();
  std::string read_log_multiplier();
  void note_square();
  std::string read_yarn_amplitude();
  void note_finetuned();

  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const int64_t context_length_;
  GgufReport& report_;
  GgufScaling scaling_;
};

std::string ScalingReader::read_type() {
  const std::optional<std::string> found = keys_.text(kType);
  if (!found) return GgufScaling{}.type;
  for (const char* known : {"none", "linear", "yarn", "longrope"}) {
    if (*found != known) continue;
    report_.field_of_key(keys_, "scaling", kType);
    return *found;
  }
  throw wrong(kType, "must be none, linear, yarn or longrope", FaultKind::kUnknownValue);
}

double ScalingReader::read_factor() {
  if (keys_.has(kFactor) && keys_.has(kLegacyFactor)) {
    report_.warn(FaultKind::kConflict, keys_.key(kLegacyFactor),
                 keys_.key(kLegacyFactor) + " = " + keys_.spelled(kLegacyFactor) +
                     " is not used: " + keys_.key(kFactor) + " comes first");
    keys_.mark(kLegacyFactor);
  }
  const std::string_view suffix = keys_.has(kFactor) ? kFactor : kLegacyFactor;
  const std::optional<double> found = keys_.number(suffix);
  if (!found) {
    if (scaling_.type == "yarn") {
      report_.warn(FaultKind::kMissingKey, keys_.key(kFactor),
                   keys_.key(kFactor) + " is absent: yarn scales nothing");
    }
    return 1;
  }
  if (*found != 0 && (*found < 1 || *found > kMostFactor)) {
    throw wrong(suffix, "must be from 1 to 1e6, or 0 for none");
  }
  report_.field_of_key(keys_, "factor", suffix);
  if (*found == 0) {
    report_.warn(FaultKind::kAssumedValue, keys_.key(suffix),
                 keys_.key(suffix) + " = 0 is taken as 1, as llama.cpp does");
    return 1;
  }
  if (scaling_.type == "none" && *found != 1) {
    report_.info(keys_.key(suffix),
                 keys_.key(suffix) + " is not used: scaling none means factor 1");
    return 1;
  }
  return *found;
}

void ScalingReader::read_original() {
  const std::optional<int64_t> found = keys_.size(kOriginal);
  scaling_.original_given = found.has_value();
  scaling_.original = found.value_or(context_length_);
  if (!found) {
    if (scaling_.type == "yarn") note_assumed_original(keys_, scaling_, report_);
    return;
  }
  report_.field_of_key(keys_, "original_length", kOriginal);
  if (*found > context_length_) {
    report_.warn(FaultKind::kInconsistent, keys_.key(kOriginal),
                 keys_.key(kOriginal) + " = " + std::to_string(*found) +
                     " exceeds context_length " + std::to_string(context_length_));
  }
}

double ScalingReader::read_amplitude() {
  const std::optional<double> found = keys_.number(kAmplitude);
  if (!found) return 1;
  if (*found <= 0) throw wrong(kAmplitude, "must be positive");
  report_.field_of_key(keys_, "amplitude", kAmplitude);
  if (architecture_.log_multiplier == LogMultiplier::kTenth && *found != 1) {
    differs(kAmplitude, ": llama.cpp multiplies all logits by its square, too");
  }
  return *found;
}

// HunyuanVL's base, fixed to a stretch.
std::string ScalingReader::read_alpha() {
  const std::optional<double> found = keys_.number(kAlpha);
  if (!found || *found == 0) return {};
  if (!architecture_.alpha) {
    differs(kAlpha, " is not used: it is for hunyuan-vl");
    return {};
  }
  if (*found < 1 || *found > kMostFactor)
    throw wrong(kAlpha, "must be from 1 to 1e6, or 0 for none");
  report_.field_of_key(keys_, "alpha", kAlpha);
  return "ntk,factor=" + to_text(*found);
}

// ---- YaRN

// Empty where the keys say something else, though they are read in any case.
std::string ScalingReader::read_yarn() {
  const std::string betas = read_betas();
  const std::string magnitude = read_magnitude();
  const bool ramp = read_extrapolation();
  if (scaling_.type != "yarn" || !ramp) return {};
  return "yarn,factor=" + to_text(scaling_.factor) +
         ",original=" + std::to_string(scaling_.original) + betas + magnitude;
}

// Whether fast pairs are left as they are. The converter writes extrapolation_factor, which only
// Grok's code looks at.
bool ScalingReader::read_extrapolation() {
  const std::optional<double> found = keys_.number(kExtrapolation);
  const bool yarn = scaling_.type == "yarn";
  if (!found || *found < 0) return yarn;
  if (architecture_.yarn_keys != YarnKeys::kAll) {
    if (*found != (yarn ? 1 : 0)) {
      differs(kExtrapolation, std::string(" is not used: llama.cpp takes ") + (yarn ? "1" : "0") +
                                  " for this architecture, as transformers does");
    }
    return yarn;
  }
  if (*found != 0 && *found != 1) {
    throw wrong(kExtrapolation, "must be 0 or 1: a part of YaRN's ramp is no scheme",
                FaultKind::kUnknownValue);
  }
  report_.field_of_key(keys_, "extrapolation", kExtrapolation);
  return *found == 1;
}

std::string ScalingReader::read_betas() {
  const bool grok = architecture_.yarn_keys == YarnKeys::kAll;
  const double fast = read_beta(kBetaFast, grok ? 8 : 32, grok ? 8 : 32);
  const double slow = read_beta(kBetaSlow, 1, 1);
  if (scaling_.type != "yarn") return {};
  if (slow > fast) {
    throw Error(keys_.place(keys_.has(kBetaSlow) ? kBetaSlow : kBetaFast),
                "must leave yarn_beta_slow at most yarn_beta_fast: swapped?",
                to_text(slow) + " and " + to_text(fast))
        .of(FaultKind::kOrder);
  }
  std::string text;
  if (fast != 32) text += ",beta_fast=" + to_text(fast);
  if (slow != 1) text += ",beta_slow=" + to_text(slow);
  return text;
}

//   theirs  what llama.cpp takes where it does not look at the key
double ScalingReader::read_beta(std::string_view suffix, double fallback, double theirs) {
  const std::optional<double> found = keys_.number(suffix);
  if (!found) return fallback;
  if (*found <= 0) throw wrong(suffix, "must be positive");
  if (*found > 1e6) throw wrong(suffix, "must be at most 1000000");
  report_.field_of_key(keys_, suffix == kBetaFast ? "beta_fast" : "beta_slow", suffix);
  if (scaling_.type != "yarn") {
    if (*found != theirs)
      report_.info(keys_.key(suffix), keys_.key(suffix) + " is not used: scaling is not yarn");
    return *found;
  }
  if (architecture_.yarn_keys == YarnKeys::kNone && *found != theirs) {
    differs(suffix, ", as the model has it; llama.cpp does not look at it and takes " +
                        to_text(theirs) + " for this architecture");
  }
  return *found;
}

std::string ScalingReader::read_magnitude() {
  const std::string multiplier = read_log_multiplier();
  const std::string amplitude = read_yarn_amplitude();
  if (architecture_.compressed) return ",attention_factor=1";  // DeepSeek-V4 has none
  return multiplier.empty() ? amplitude : multiplier;
}

// 0.1 k ln(factor) + 1 with k = mscale_all_dim: cos and sin get the ratio of mscale's to it, and
// DeepSeek's logits its square.
std::string ScalingReader::read_log_multiplier() {
  const std::optional<double> found = keys_.number(kLogMultiplier);
  if (!found || *found == 0) {
    if (found) report_.field_of_key(keys_, "mscale_all_dim", kLogMultiplier);
    note_square();
    return {};
  }
  if (*found < 0) throw wrong(kLogMultiplier, "must not be negative");
  if (scaling_.type != "yarn") {
    differs(kLogMultiplier, " is not used: scaling is not yarn");
    return {};
  }
  if (architecture_.log_multiplier == LogMultiplier::kIgnored) {
    differs(kLogMultiplier,
            " is not used: llama.cpp looks at it for DeepSeek's and Mistral's "
            "architectures only");
    return {};
  }
  if (architecture_.log_multiplier == LogMultiplier::kPlain) {
    report_.field_of_key(keys_, "mscale_all_dim", kLogMultiplier);
    return ",mscale=1,mscale_all_dim=" + to_text(*found);
  }
  // The converter multiplied by 0.1, in float32; so does dividing.
  const double all_dim = static_cast<double>(static_cast<float>(*found) / 0.1F);
  report_.field(
      "mscale_all_dim", to_text(all_dim), Provenance::kDerived,
      keys_.key(kLogMultiplier) + " = " + keys_.spelled(kLogMultiplier) + ", divided by 0.1");
  const double mscale = architecture_.mscale_is_all_dim ? all_dim : 1;
  return ",mscale=" + to_text(mscale) + ",mscale_all_dim=" + to_text(all_dim) +
         ",mscale_logits=true";
}

// llama.cpp makes DeepSeek's multiplier of any factor, whether mscale_all_dim is told or not.
void ScalingReader::note_square() {
  if (architecture_.log_multiplier != LogMultiplier::kTenth || scaling_.factor == 1) return;
  report_.warn(FaultKind::kInconsistent, keys_.key(kLogMultiplier),
               keys_.key(kLogMultiplier) +
                   " is absent or 0: logits are not multiplied; llama.cpp multiplies them by " +
                   to_text(yarn_logit_scale(scaling_.factor)) + " all the same");
}

// The converter stores attention_factor here, the amplitude itself; llama.cpp makes its own of the
// factor. 1 is also the key's old meaning, a multiplier that does nothing.
std::string ScalingReader::read_yarn_amplitude() {
  const std::optional<double> found = keys_.number(kYarnAmplitude);
  if (!found) return {};
  if (*found <= 0) throw wrong(kYarnAmplitude, "must be positive");
  if (scaling_.type != "yarn" || scaling_.factor == 1) {
    if (*found != 1) differs(kYarnAmplitude, " is not used: nothing is scaled by yarn");
    return {};
  }
  const double computed = static_cast<double>(yarn_magnitude(scaling_.factor));
  if (*found == 1) {
    report_.info(keys_.key(kYarnAmplitude), keys_.key(kYarnAmplitude) +
                                                " = 1 is taken to say nothing: cos and sin get " +
                                                to_text(computed) + ", as in llama.cpp");
    return {};
  }
  report_.field_of_key(keys_, "attention_factor", kYarnAmplitude);
  if (static_cast<float>(*found) == static_cast<float>(computed)) return {};
  differs(kYarnAmplitude, ", as the model has it; llama.cpp puts " + to_text(computed) +
                              " in its place, made from the factor");
  return ",attention_factor=" + to_text(*found);
}

void ScalingReader::note_finetuned() {
  const std::string_view suffix = "rope.scaling.finetuned";
  if (architecture_.unrotated == GgufArchitecture::Unrotated::kFinetuned || !keys_.flag(suffix)) {
    return;
  }
  report_.field("finetuned", keys_.spelled(suffix), Provenance::kFile,
                keys_.key(suffix) + ", information only");
}

}  // namespace

GgufScaling read_gguf_scaling(GgufKeys& keys, const GgufArchitecture& architecture,
                              int64_t context_length, GgufReport& report) {
  return ScalingReader(keys, architecture, context_length, report).read();
}

void note_assumed_original(const GgufKeys& keys, const GgufScaling& scaling, GgufReport& report) {
  if (scaling.original_given) return;
  report.field("original_length", std::to_string(scaling.original), Provenance::kAssumed,
               keys.key(kOriginal) + " is absent: context_length, as llama.cpp does");
  report.warn(FaultKind::kAssumedValue, keys.key(kOriginal),
              keys.key(kOriginal) + " is absent: assumed to be context_length, as llama.cpp does");
}

}  // namespace ropewalk
