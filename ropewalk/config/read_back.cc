#include "ropewalk/config/read_back.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// A frequency of the file is made from up to three numbers in float32, each off by 6e-8 at most.
constexpr double kAllowed = 5e-7;

// A pair that does not turn is written with the divisor 1e30.
constexpr double kStill = 1e-24;

double difference(double wanted, double got) {
  if (wanted == 0) return std::abs(got) < kStill ? 0 : 1;
  return std::abs(got - wanted) / std::abs(wanted);
}

double difference(const Spectrum& wanted, const Spectrum& got) {
  double largest = std::max(difference(wanted.amplitude, got.amplitude),
                            difference(wanted.logit_multiplier, got.logit_multiplier));
  if (wanted.n_pairs() != got.n_pairs()) return 1;
  for (size_t pair = 0; pair < wanted.turns_per_token.size(); ++pair) {
    largest = std::max(largest, difference(static_cast<double>(wanted.turns_per_token[pair]),
                                           static_cast<double>(got.turns_per_token[pair])));
  }
  return largest;
}

}  // namespace

double check_read_back(const std::string& place, const ModelConfig& declared,
                       const std::string& scheme, const ModelConfig& written,
                       int64_t target_length) {
  const Rotary wanted = apply_scheme(scheme, rotary_of_all_layers(declared));
  const Rotary& got = rotary_of_all_layers(written);
  const int64_t trained = std::max<int64_t>(1, wanted.source.trained_length);
  double largest = 0;
  for (const int64_t n : {int64_t{1}, trained, trained + 1, std::max(2 * trained, target_length)}) {
    largest = std::max(largest, difference(wanted.spectrum.at(n), got.spectrum.at(n)));
  }
  if (!(largest <= kAllowed)) {
    throw Error(place, "must say the scheme " + scheme + " when it is read back",
                "frequencies off by " + to_text(largest));
  }
  return largest;
}

}  // namespace ropewalk
