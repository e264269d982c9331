// cos and sin of whole schemes at positions up to 2^40 against golden files made outside this
// project.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using nlohmann::json;

Rotary declared_by(const json& golden) {
  const auto dim = golden["rotary_dim"].get<int64_t>();
  return plain_rotary(
      {.base = golden["base"].get<double>(), .frequency_dim = dim, .trained_length = 4096},
      {PairOrder::kHalf, dim, dim});
}

// The file's rule and parameters are named as the schemes name theirs.
std::string scheme_of(const json& golden) {
  std::string scheme = golden["rule"];
  for (const auto& [name, value] : golden["parameters"].items())
    scheme += "," + name + "=" + value.dump();
  return scheme;
}

void check_file(const std::filesystem::path& path) {
  const json golden = exact_values::read_json(path);
  const Rotary rotary = apply_scheme(scheme_of(golden), declared_by(golden));
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (size_t row = 0; row < golden["positions"].size(); ++row) {
    const DoubleDouble position = golden["positions"][row].get<int64_t>();
    for (size_t column = 0; column < golden["pairs"].size(); ++column) {
      const auto pair = golden["pairs"][column].get<int64_t>();
      const CosSin got = cos_sin_at(position, spectrum.turns_per_token[pair]);
      const auto check = [&](double value, const char* function) {
        SCOPED_TRACE(std::string(function) + " of pair " + std::to_string(pair) + " at " +
                     golden["positions"][row].dump());
        const DoubleDouble exact = exact_values::decimal_of(golden[function][row][column]);
        EXPECT_LE(exact_values::ulps(value, exact), 2);
        EXPECT_LE(exact_values::float_ulps(static_cast<float>(value), exact), 1);
      };
      check(got.cos, "cos");
      check(got.sin, "sin");
    }
  }
}

TEST(GoldenFarTest, EveryEntryOfEveryFile) {
  const auto shared = exact_values::shared_folder();
  if (!shared)
    GTEST_SKIP() << "no golden files: set ROPEWALK_SHARED to the folder that holds golden/far";
  int n_files = 0;
  for (const auto& file : std::filesystem::directory_iterator(*shared / "golden" / "far")) {
    if (file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path().filename().string());
    check_file(file.path());
    ++n_files;
  }
  EXPECT_GE(n_files, 6);
}

}  // namespace
}  // namespace ropewalk
