#include "ropewalk/schemes/index_ramp.h"

#include "ropewalk/math/reach.h"

namespace ropewalk {

DoubleDouble index_of_turns(const FrequencySource& source, DoubleDouble turns,
                            DoubleDouble length) {
  return pair_of_turns(source.base, source.frequency_dim, turns, length);
}

IndexRamp index_ramp(const SchemeParams& params, const FrequencySource& source, DoubleDouble fast,
                     DoubleDouble slow, DoubleDouble length, bool truncate) {
  if (source.base <= 1)
    params.refuse("", FaultKind::kOutOfRange, "needs a model with base > 1",
                  to_text(static_cast<double>(source.base)));
  DoubleDouble low = index_of_turns(source, fast, length);
  DoubleDouble high = index_of_turns(source, slow, length);
  if (truncate) {
    low = floor(low);
    high = ceil(high);
  }
  low = max(low, 0);
  high = min(high, DoubleDouble(source.frequency_dim - 1));
  if (low == high) high += DoubleDouble(1) / 1000;
  return {low, high};
}

Spectrum slowed_along(const IndexRamp& ramp, DoubleDouble factor, Spectrum spectrum) {
  int64_t pair = 0;
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    const DoubleDouble slow = ramp.at(pair++);
    turns = turns / factor * slow + turns * (1 - slow);
  }
  return spectrum;
}

PartNtkRamps part_ntk_ramps(const SchemeParams& params, const FrequencySource& source,
                            DoubleDouble length) {
  return {.to_slowed = index_ramp(params, source, 1.25, 0.75, length, true),
          .to_ntk = index_ramp(params, source, 16, 2, length, true)};
}

std::vector<ParamInfo> beta_params(const std::string& fast_help, const std::string& slow_help) {
  const auto beta = [](const char* name, const char* fallback, const std::string& help) {
    return ParamInfo{.name = name,
                     .fallback = fallback,
                     .least = 0,
                     .most = 1e6,
                     .above_least = true,
                     .unit = "turns",
                     .help = help};
  };
  return {beta("beta_fast", "32", fast_help), beta("beta_slow", "1", slow_help)};
}

IndexRamp beta_ramp(const SchemeParams& params, const FrequencySource& source, int64_t length,
                    bool truncate) {
  return index_ramp(params, source, params.number("beta_fast"), params.number("beta_slow"), length,
                    truncate);
}

void check_betas(const SchemeParams& params) {
  if (params.number("beta_slow") > params.number("beta_fast")) {
    params.refuse("beta_slow", FaultKind::kOrder, "must be at most beta_fast",
                  to_text(static_cast<double>(params.number("beta_slow"))), "are the two swapped?");
  }
}

}  // namespace ropewalk
