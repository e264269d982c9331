// CoPE, clipped RoPE: the slowest pairs are slowed further, the last to a stand, along half a wave
// of a cosine so that no edge in the spectrum rings. Source: Li et al. 2026, arXiv 2602.05258,
// github.com/hrlics/CoPE; 20 of 64 pairs chosen there for Llama 3 8B, with training.
#include <algorithm>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// sin x for 0 <= x <= pi / 2 by its series; the first term left out is below 2^-116 of it.
DoubleDouble sine(DoubleDouble x) {
  constexpr int kLastPower = 35;
  const DoubleDouble squared = x * x;
  DoubleDouble sum = 1;
  for (int power = kLastPower; power >= 3; power -= 2) {
    sum = 1 - squared / (power * (power - 1)) * sum;
  }
  return x * sum;
}

// (1 + cos(pi k / (count - 1))) / 2, as the square of the sine of half the angle that is left to
// pi, which loses no digits next to 0.
DoubleDouble taper(int64_t k, int64_t count) {
  if (count == 1) return 1;
  const DoubleDouble s = sine(kPi / 2 * (DoubleDouble(count - 1 - k) / DoubleDouble(count - 1)));
  return s * s;
}

Rotary build(const SchemeParams& p, Rotary declared) {
  Spectrum spectrum = plain_spectrum(declared);
  const int64_t count = std::min(p.integer("count"), spectrum.n_pairs());
  const int64_t first = spectrum.n_pairs() - count;
  if (p.choice("mode") == "hard") {
    stop_pairs_from(first, spectrum);
  } else {
    for (int64_t k = 0; k < count; ++k) spectrum.turns_per_token[first + k] *= taper(k, count);
  }
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"cope_clip"}; }

}  // namespace

SchemeInfo cope_clip_scheme() {
  return {.name = "cope_clip",
          .kind = PartKind::kSpectrum,
          .formula =
              "the last c inv_freq times (1 + cos(pi k / (c - 1))) / 2, k = 0 ... c - 1; hard: "
              "times 0",
          .source = "Li et al. 2026, arXiv 2602.05258",
          .params = {{.name = "count",
                      .type = ParamType::kInteger,
                      .fallback = "20",
                      .least = 1,
                      .unit = "pairs",
                      .help = "c, how many of the slowest pairs; all where there are fewer"},
                     {.name = "mode",
                      .type = ParamType::kChoice,
                      .fallback = "soft",
                      .choices = {"soft", "hard"},
                      .help = "soft: along half a cosine; hard: they stand still"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
