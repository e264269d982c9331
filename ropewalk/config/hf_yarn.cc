// YaRN and LongRoPE of a config.json. Source: transformers, modeling_rope_utils.py; DeepSeek-V2's
// and V3's modeling files for the logits; vLLM for deepseek_yarn, telechat3-yarn and attn_factor.
#include <utility>
#include <vector>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/hf_scaling.h"
#include "ropewalk/math/double_double.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// Beyond them, no multiplier or ramp is of use to a model.
constexpr double kMostTurns = 1e6;
constexpr double kLeastMultiplier = 1e-6;
constexpr double kMostMultiplier = 1e6;

}  // namespace

// transformers derives a factor that is null; one that is missing it refuses. TeleChat3 derives it
// whatever it is.
double HfScalingReader::yarn_factor(int64_t original) {
  const std::string key = "factor";
  if (!block().has(key)) throw block().missing(key);
  const bool telechat = keys_.type == "telechat3-yarn" && length_.positions != 0;
  if (block_has(key) && !telechat) {
    const double factor = read_factor();
    note_implied_factor(factor, original);
    return factor;
  }
  block().mark(key);
  const double factor = static_cast<double>(length_.positions) / static_cast<double>(original);
  if (factor < 1) throw block().wrong(key, "must be given: lengths imply " + to_text(factor));
  notes_.field("factor", to_text(factor), Provenance::kDerived,
               "max_position_embeddings / original_length" +
                   (telechat ? std::string() : ", as " + name(key) + " is null"));
  if (!telechat) {
    notes_.warn(name(key),
                name(key) + " is null: " + to_text(factor) +
                    " is derived from the lengths, as transformers 5 does; other engines fail",
                FaultKind::kDerivedValue);
  } else if (block_has(key) && *block().number(key) != factor) {
    notes_.info(name(key), name(key) + " = " + block().spelled(key) +
                               " is not used: telechat3-yarn takes max_position_embeddings / "
                               "original_length");
  }
  return factor;
}

double HfScalingReader::beta(const std::string& key, double fallback) {
  if (positive(key)) {
    const double turns = *block().number(key);
    if (turns > kMostTurns) throw block().wrong(key, "must be at most 1000000");
    return turns;
  }
  notes_.field(key, to_text(fallback), Provenance::kFamilyDefault, key + " is absent");
  return fallback;
}

bool HfScalingReader::multiplier(const std::string& key) {
  if (!positive(key)) return false;
  const double value = *block().number(key);
  if (value >= kLeastMultiplier && value <= kMostMultiplier) return true;
  throw block().wrong(key, "must be from 1e-6 to 1e6: it multiplies every rotated coordinate");
}

void HfScalingReader::yarn() {
  const int64_t original = read_original(false);
  const double factor = yarn_factor(original);
  count_from(original, "original_length, from which the scaling counts");
  usable(factor * static_cast<double>(original), "yarn: factor * original_length");

  std::string& scheme = result_.scheme;
  scheme = "yarn,factor=" + to_text(factor) + ",original=" + std::to_string(original);
  const double fast = beta("beta_fast", 32);
  const double slow = beta("beta_slow", 1);
  if (fast < slow) {
    throw block().wrong("beta_fast",
                        "must not be below beta_slow " + to_text(slow) + ": are the two swapped?",
                        FaultKind::kOrder);
  }
  scheme += ",beta_fast=" + to_text(fast) + ",beta_slow=" + to_text(slow);
  if (block_has("truncate")) {
    notes_.field_of_key("truncate", block(), "truncate");
    scheme += *block().flag("truncate") ? ",truncate=true" : ",truncate=false";
  } else {
    block().mark("truncate");
    notes_.field("truncate", "true", Provenance::kFamilyDefault, "truncate is absent");
  }
  yarn_multipliers(factor);
  yarn_engines(factor);
  for (const char* const key : {"finetuned", "max_position_embeddings"}) {
    block().mark(key);
    if (block_has(key)) {
      notes_.field(key, block().spelled(key), Provenance::kFile, name(key) + ", information only");
    }
  }
}

// Amplitude and logit multiplier.
void HfScalingReader::yarn_multipliers(double factor) {
  std::string& scheme = result_.scheme;
  const bool given = multiplier("attention_factor");
  if (given) {
    scheme += ",attention_factor=" + to_text(*block().number("attention_factor"));
    notes_.remark(name("attention_factor"), remarks::kAttentionFactor);
  }
  for (const std::string key : {"mscale", "mscale_all_dim"}) {
    block().mark(key);
    if (!block_has(key)) continue;
    const double value = *block().number(key);
    if (value < 0) throw block().wrong(key, "must not be negative");
    if (value > kMostMultiplier) throw block().wrong(key, "must be at most 1000000");
    notes_.field_of_key(key, block(), key);
    scheme += "," + key + "=" + to_text(value);
  }
  const bool squares = reading_.family.logits_squared || keys_.type == "deepseek_yarn";
  if (squares && block_has("mscale_all_dim") && *block().number("mscale_all_dim") != 0) {
    scheme += ",mscale_logits=true";
    notes_.field("logit_multiplier", "(0.1 mscale_all_dim ln(factor) + 1)^2",
                 Provenance::kFamilyDefault, "model_type " + std::string(reading_.family.name));
    if (reading_.family.logits_left) {
      notes_.remark(name("mscale_all_dim"), remarks::kSquare);
    }
  }
  if (keys_.type == "telechat3-yarn") scheme += ",coefficient=0.07";
  if (!given) yarn_multiplied(factor);
  const std::string mixed = "extrapolation_factor";
  if (block_has(mixed) && *block().number(mixed) != 1) {
    throw block().wrong(mixed, "must be 1: another mixture of the two frequencies is not read",
                        FaultKind::kUnknownValue);
  }
}

// vLLM's keys. attn_factor multiplies the amplitude, which is 1 where apply_yarn_scaling is false.
void HfScalingReader::yarn_multiplied(double factor) {
  const std::string plain = "apply_yarn_scaling";
  const std::string times = "attn_factor";
  bool applies = true;
  if (block_has(plain)) {
    notes_.field_of_key(plain, block(), plain);
    applies = *block().flag(plain);
  }
  const bool multiplied = multiplier(times);
  if (applies && !multiplied) return;

  DoubleDouble amplitude = 1;
  if (applies) amplitude = own_amplitude(factor);
  if (multiplied) {
    amplitude = amplitude * DoubleDouble(*block().number(times));
    notes_.remark(name(times), remarks::kAttnFactor);
  }
  const std::string text = to_text(static_cast<double>(amplitude));
  result_.scheme += ",attention_factor=" + text;
  if (multiplied) {
    notes_.field("attention_factor", text, Provenance::kDerived,
                 name(times) + (applies ? " times the amplitude of the factor" : ""));
  }
}

// What yarn makes of mscale and mscale_all_dim; see schemes/yarn.cc.
DoubleDouble HfScalingReader::own_amplitude(double factor) {
  const DoubleDouble c = from_decimal(keys_.type == "telechat3-yarn" ? "0.07" : "0.1");
  const auto given = [&](const std::string& key) {
    return block_has(key) ? DoubleDouble(*block().number(key)) : DoubleDouble(0);
  };
  return yarn_amplitude(factor, given("mscale"), given("mscale_all_dim"), c);
}

void HfScalingReader::yarn_engines(double factor) {
  if (block_has("truncate") && !*block().flag("truncate")) {
    notes_.remark(name("truncate"), remarks::kTruncate);
  }
  const bool own_ramp =
      (block_has("beta_fast") && *block().number("beta_fast") != kLlamaCppBetaFast) ||
      (block_has("beta_slow") && *block().number("beta_slow") != kLlamaCppBetaSlow);
  if (own_ramp) {
    notes_.remark(name("beta_fast"), remarks::kBetas);
  }
  if (factor == 1) {
    notes_.warn(name("factor"), name("factor") + " is 1: the scaling changes nothing",
                FaultKind::kInconsistent);
  }
}

// ---- LongRoPE

std::string HfScalingReader::divisors(const std::string& key) {
  if (!block().has(key)) throw block().missing(key);
  const std::vector<double> divisors = *block().numbers(key);
  const int64_t n_pairs = width_.layout.n_pairs();
  if (static_cast<int64_t>(divisors.size()) != n_pairs) {
    throw Error(block().place(key),
                "must hold one number for each of " + std::to_string(n_pairs) + " pairs",
                std::to_string(divisors.size()) + " numbers")
        .of(FaultKind::kWrongLength);
  }
  for (size_t pair = 0; pair < divisors.size(); ++pair) {
    if (divisors[pair] > 0) continue;
    throw Error(block().place(key) + "[" + std::to_string(pair) + "]",
                "must be positive: it divides a frequency", to_text(divisors[pair]))
        .of(FaultKind::kOutOfRange);
  }
  notes_.field(key, std::to_string(n_pairs) + " divisors", Provenance::kFile, name(key));
  return to_text(ParamValue(divisors));
}

// Ding et al. 2024, as in Phi-3's code: sqrt(1 + ln(s) / ln(L)), for both lists.
double HfScalingReader::longrope_amplitude(int64_t original) {
  if (multiplier("attention_factor")) {
    notes_.remark(name("attention_factor"), remarks::kListAmplitude);
    return *block().number("attention_factor");
  }
  DoubleDouble factor = DoubleDouble(length_.positions) / DoubleDouble(original);
  block().mark("factor");
  if (block_has("factor")) {
    factor = read_factor();
    note_implied_factor(factor.hi, original);
  }
  const double amplitude =
      factor <= 1 ? 1 : static_cast<double>(sqrt(1 + log(factor) / log(DoubleDouble(original))));
  if (block_has("short_mscale") && block_has("long_mscale")) return amplitude;
  notes_.field("amplitude", to_text(amplitude), Provenance::kDerived,
               "sqrt(1 + ln(s) / ln(original_length)), s = " + to_text(factor.hi));
  return amplitude;
}

// Phi-3.5-MoE's own amplitudes, one for each list.
void HfScalingReader::longrope_mscales() {
  if (block_has("attention_factor") && !reading_.family.two_mscales) return;
  if (!block_has("short_mscale") || !block_has("long_mscale")) return;
  if (!multiplier("short_mscale") || !multiplier("long_mscale")) return;
  result_.amplitude = *block().number("short_mscale");
  const double longer = *block().number("long_mscale");
  if (longer != result_.amplitude) result_.long_amplitude = longer;
  if (!reading_.family.two_mscales) {
    notes_.remark(name("short_mscale"), remarks::kTwoMscales);
  }
}

void HfScalingReader::longrope() {
  const std::string long_list = divisors("long_factor");
  const std::string short_list = divisors("short_factor");
  const int64_t original = read_original(false);
  if (original == 1) {
    throw block().wrong("original_max_position_embeddings",
                        "must be above 1: the amplitude needs its logarithm");
  }
  count_from(original, "original_length, from which the scaling counts");
  result_.amplitude = longrope_amplitude(original);
  longrope_mscales();
  if (long_list != short_list) {
    notes_.remark(name("long_factor"), remarks::kTwoLists, {std::to_string(original)});
  }
  result_.scheme = "longrope,long=" + long_list + ",short=" + short_list +
                   ",amplitude=" + to_text(result_.amplitude);
}

}  // namespace ropewalk
