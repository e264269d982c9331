#include "ropewalk/schemes/source.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ropewalk {
namespace {

// Turns per token of a pair that stands still: GGUF files say it as a divisor of 1e30.
constexpr double kStill = 1e-24;

}  // namespace

Spectrum spectrum_with_base(const Rotary& declared, DoubleDouble base) {
  Spectrum spectrum = rope_spectrum(base, declared.source.frequency_dim, declared.layout.n_pairs());
  const Spectrum own = declared.spectrum.at(1);
  for (size_t pair = 0; pair < own.turns_per_token.size(); ++pair) {
    if (own.turns_per_token[pair] < kStill) spectrum.turns_per_token[pair] = 0.0;
  }
  spectrum.axis = own.axis;
  return spectrum;
}

Spectrum plain_spectrum(const Rotary& declared) {
  return spectrum_with_base(declared, declared.source.base);
}

DoubleDouble ntk_base(const SchemeParams& params, const FrequencySource& source,
                      DoubleDouble scale) {
  const int64_t d = source.frequency_dim;
  if (d <= 2)
    params.refuse("", FaultKind::kOutOfRange, "needs a model with frequency_dim > 2",
                  std::to_string(d));
  return source.base * pow(scale, DoubleDouble(d) / DoubleDouble(d - 2));
}

Spectrum dynamic_ntk_spectrum(const SchemeParams& params, const Rotary& declared, int64_t n) {
  const DoubleDouble factor = params.number("factor");
  const DoubleDouble trained = trained_length(params, declared);
  const DoubleDouble scale = max(1, factor * DoubleDouble(n) / trained - (factor - 1));
  return spectrum_with_base(declared, ntk_base(params, declared.source, scale));
}

void stop_pairs_from(int64_t first, Spectrum& spectrum) {
  std::fill(spectrum.turns_per_token.begin() + first, spectrum.turns_per_token.end(), 0.0);
}

SpectrumRule per_block(const SchemeParams& params, SpectrumRule::Function at) {
  const int64_t block = params.integer("block");
  return block == kUnbounded ? SpectrumRule(SpectrumRule::Length::kSequence, std::move(at))
                             : SpectrumRule(SpectrumRule::Length::kBlock, std::move(at), block);
}

ParamInfo block_param(const std::string& fallback) {
  return {.name = "block",
          .type = ParamType::kIntegerOrAll,
          .fallback = fallback,
          .least = 1,
          .unit = "rows",
          .help = "rows that share one spectrum; all: that of the whole sequence"};
}

int64_t trained_length(const SchemeParams& params, const Rotary& declared) {
  const int64_t length = declared.source.trained_length;
  if (length < 1)
    params.refuse("", FaultKind::kMissingKey, "needs a model that tells its trained length");
  return length;
}

int64_t original_length(const SchemeParams& params, const Rotary& declared) {
  return params.has("original") ? params.integer("original") : trained_length(params, declared);
}

ParamInfo length_param(const std::string& help) {
  ParamInfo param = original_param();
  param.help = help;
  return param;
}

SpectrumRule seeing_length(const SpectrumRule& rule, int64_t block, SpectrumChange change) {
  using Length = SpectrumRule::Length;
  const auto at = [rule, change = std::move(change)](int64_t n) { return change(rule.at(n), n); };
  if (rule.length() != Length::kFixed) return SpectrumRule(rule.length(), at, rule.block());
  return block == kUnbounded ? SpectrumRule(Length::kSequence, at)
                             : SpectrumRule(Length::kBlock, at, block);
}

}  // namespace ropewalk
