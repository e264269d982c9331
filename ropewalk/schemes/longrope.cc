// LongRoPE factors: a divisor for each pair, found by search, one list for short sequences and one
// for long. Source: Ding et al. 2024, arXiv 2402.13753.
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Spectrum divided(const SchemeParams& p, const Rotary& declared, const std::string& list) {
  Spectrum spectrum = plain_spectrum(declared);
  const std::vector<double>& divisors = p.numbers(list);
  if (divisors.size() != spectrum.turns_per_token.size()) {
    p.refuse(list, FaultKind::kWrongLength,
             "must hold one number for each of the model's " + std::to_string(spectrum.n_pairs()) +
                 " pairs",
             std::to_string(divisors.size()) + " numbers");
  }
  for (size_t pair = 0; pair < divisors.size(); ++pair) {
    spectrum.turns_per_token[pair] /= divisors[pair];
    if (spectrum.turns_per_token[pair] > 1) {
      p.refuse(list, FaultKind::kOutOfRange, "must leave each pair at most one turn a token",
               to_text(divisors[pair]));
    }
  }
  spectrum.amplitude = static_cast<double>(p.number("amplitude"));
  return spectrum;
}

// The list goes by the number of tokens of the whole sequence, the same for all its tokens.
Rotary build(const SchemeParams& p, Rotary declared) {
  const auto at = [trained = trained_length(p, declared),
                   short_list = divided(p, declared, "short"),
                   long_list = divided(p, declared, "long")](int64_t n) {
    return n > trained ? long_list : short_list;
  };
  declared.spectrum = SpectrumRule(SpectrumRule::Length::kSequence, at);
  return declared;
}

// Divisors that rise from 1 to 4, as searched lists do.
std::string example(int64_t n_pairs) {
  std::vector<double> divisors;
  for (int64_t pair = 0; pair < n_pairs; ++pair) {
    divisors.push_back(1 + 3 * static_cast<double>(pair) / static_cast<double>(n_pairs));
  }
  const std::string list = to_text(ParamValue(divisors));
  const std::string ones = to_text(ParamValue(std::vector<double>(divisors.size(), 1.0)));
  return "longrope,long=" + list + ",short=" + ones;
}

ParamInfo divisors_param(const std::string& name, const std::string& help) {
  return {.name = name,
          .type = ParamType::kNumbers,
          .required = true,
          .least = 0,
          .above_least = true,
          .help = help};
}

}  // namespace

SchemeInfo longrope_scheme() {
  return {.name = "longrope",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq / long[pair] where n > L, else inv_freq / short[pair]",
          .source = "Ding et al. 2024, arXiv 2402.13753",
          .params = {divisors_param("long", "divisor of each pair in sequences longer than L"),
                     divisors_param("short", "divisor of each pair in sequences of at most L"),
                     {.name = "amplitude",
                      .fallback = "1",
                      .least = 1e-6,
                      .most = 1e6,
                      .help = "on cos and sin, for both lists (Phi-3: sqrt(1 + ln(s) / ln(L)))"}},
          .build = build,
          .example = example,
          .depends_on_length = true};
}

}  // namespace ropewalk
