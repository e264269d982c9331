// kFloat32 against ggml's own loop, written out here as ggml_rope_cache_init has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/kernels/rotation_table.h"

namespace ropewalk {
namespace {

// ggml's parameters: YaRN mixes angles over a ramp in the pair's index, ext_factor says how much.
struct GgmlRope {
  float base = 10000;
  int dims = 8;
  float freq_scale = 1;
  float ext_factor = 0;
  float low = 0;
  float high = 1;
};

float ramp(const GgmlRope& rope, int pair) {
  const float y = (static_cast<float>(pair) - rope.low) / std::max(0.001F, rope.high - rope.low);
  return 1 - std::min(1.0F, std::max(0.0F, y));
}

// The angles of one position, (dims / 2).
std::vector<float> ggml_angles(const GgmlRope& rope, float position) {
  const float theta_scale = std::pow(rope.base, -2.0F / static_cast<float>(rope.dims));
  std::vector<float> angles;
  float theta_extrap = position;
  for (int pair = 0; pair < rope.dims / 2; ++pair) {
    const float theta_interp = rope.freq_scale * theta_extrap;
    float theta = theta_interp;
    if (rope.ext_factor != 0) {
      const float ramp_mix = ramp(rope, pair) * rope.ext_factor;
      theta = theta_interp * (1 - ramp_mix) + theta_extrap * ramp_mix;
    }
    angles.push_back(theta);
    theta_extrap *= theta_scale;
  }
  return angles;
}

// The same rope as a spectrum, exact.
Spectrum spectrum_of(const GgmlRope& rope) {
  Spectrum spectrum = rope_spectrum(DoubleDouble(rope.base), rope.dims, rope.dims / 2);
  for (int c = 0; c < rope.dims / 2; ++c) {
    const double keep = rope.ext_factor == 0 ? 0 : ramp(rope, c);
    spectrum.turns_per_token[c] = spectrum.turns_per_token[c] * (1 - keep) * rope.freq_scale +
                                  spectrum.turns_per_token[c] * keep;
  }
  return spectrum;
}

const std::vector<DoubleDouble> kPositions = {0, 1, 511, 2704, 4095, 100000};

RotationTable float32_table(const Spectrum& spectrum) {
  RotationTable table(spectrum.n_pairs(), static_cast<int64_t>(kPositions.size()));
  fill_rotation_table(spectrum, AngleMode::kFloat32, kPositions, 0, table);
  return table;
}

void expect_angles_of_ggml(const GgmlRope& rope) {
  const RotationTable table = float32_table(spectrum_of(rope));
  for (size_t r = 0; r < kPositions.size(); ++r) {
    const std::vector<float> angles = ggml_angles(rope, static_cast<float>(kPositions[r]));
    for (int c = 0; c < rope.dims / 2; ++c) {
      EXPECT_EQ(table.cos_of(c)[r], std::cos(angles[c])) << "row " << r << ", pair " << c;
      EXPECT_EQ(table.sin_of(c)[r], std::sin(angles[c])) << "row " << r << ", pair " << c;
    }
  }
}

TEST(Float32Angles, PlainIsTheChainOfGgml) {
  expect_angles_of_ggml({});
  expect_angles_of_ggml({.base = 40000});
  expect_angles_of_ggml({.base = 500000, .dims = 128});
}

TEST(Float32Angles, LinearMultipliesTheLinkOfEachPair) {
  expect_angles_of_ggml({.freq_scale = 0.25F});
  expect_angles_of_ggml({.dims = 128, .freq_scale = 1.0F / 3});
}

TEST(Float32Angles, YarnWhereItsMixIsExactIsThatOfGgml) {
  expect_angles_of_ggml({.freq_scale = 0.125F, .ext_factor = 1, .low = 0, .high = 2});
}

// ggml rounds the two shares of a mixed angle apart, this table their sum: two units in the last
// place of the angle.
TEST(Float32Angles, YarnElsewhereDiffersByRoundingsOfTheMix) {
  const GgmlRope rope = {.dims = 128, .freq_scale = 0.25F, .ext_factor = 1, .low = 20, .high = 46};
  const RotationTable table = float32_table(spectrum_of(rope));
  for (size_t r = 0; r < kPositions.size(); ++r) {
    const std::vector<float> angles = ggml_angles(rope, static_cast<float>(kPositions[r]));
    for (int c = 0; c < rope.dims / 2; ++c) {
      const float room = std::ldexp(angles[c], -22) + 1e-7F;
      EXPECT_NEAR(table.cos_of(c)[r], std::cos(angles[c]), room) << "row " << r << ", pair " << c;
      EXPECT_NEAR(table.sin_of(c)[r], std::sin(angles[c]), room) << "row " << r << ", pair " << c;
    }
  }
}

TEST(Float32Angles, AListIsMultipliedOnce) {
  const Spectrum spectrum = ropewalk::spectrum_of({DoubleDouble(1), DoubleDouble(0.3)});
  const RotationTable table = float32_table(spectrum);
  for (size_t r = 0; r < kPositions.size(); ++r) {
    const float angle =
        static_cast<float>(kPositions[r]) * static_cast<float>(spectrum.inv_freq()[1]);
    EXPECT_EQ(table.cos_of(1)[r], std::cos(angle));
    EXPECT_EQ(table.sin_of(1)[r], std::sin(angle));
  }
}

TEST(Float32Angles, CarryTheAmplitude) {
  Spectrum spectrum = spectrum_of(GgmlRope{});
  const float cos = float32_table(spectrum).cos_of(1)[3];
  spectrum.amplitude = 1.25;
  EXPECT_EQ(float32_table(spectrum).cos_of(1)[3], cos * 1.25F);
}

}  // namespace
}  // namespace ropewalk
