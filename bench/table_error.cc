// Table entries for tools/table_error.py, which measures them against exact values.
//
// Reads lines "scheme base rotary_dim pair position" and answers each with "cos sin float_cos
// float_sin", hexadecimal: what a table of doubles and a table of floats hold there. Trained length
// is 4096 where the scheme names none.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <tuple>

#include "ropewalk/math/rotary.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"

namespace {

using ropewalk::Spectrum;

Spectrum spectrum_of(const std::string& scheme, double base, int64_t dim) {
  const auto plain =
      ropewalk::plain_rotary({.base = base, .frequency_dim = dim, .trained_length = 4096},
                             {ropewalk::PairOrder::kHalf, dim, dim});
  return ropewalk::apply_scheme(scheme, plain).spectrum.at(1);
}

void answer_lines() {
  std::map<std::tuple<std::string, double, int64_t>, Spectrum> spectra;
  std::string scheme;
  double base = 0;
  int64_t dim = 0;
  int64_t pair = 0;
  int64_t position = 0;
  while (std::cin >> scheme >> base >> dim >> pair >> position) {
    const auto key = std::tuple(scheme, base, dim);
    auto known = spectra.find(key);
    if (known == spectra.end()) known = spectra.emplace(key, spectrum_of(scheme, base, dim)).first;
    const auto [cosine, sine] =
        ropewalk::cos_sin_at(position, known->second.turns_per_token.at(pair));
    std::printf("%a %a %a %a\n", cosine, sine, static_cast<float>(cosine),
                static_cast<float>(sine));
  }
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  try {
    answer_lines();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "table_error: %s\n", error.what());
    return 1;
  }
  return 0;
}
