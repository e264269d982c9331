#include "ropewalk/testing/exact_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "ropewalk/base/error.h"

namespace ropewalk::exact_values {
namespace {

double unit_in_last_place(double x, int bits, int least_exponent) {
  if (x == 0) return std::ldexp(1.0, least_exponent);
  return std::ldexp(1.0, std::max(std::ilogb(x) - (bits - 1), least_exponent));
}

}  // namespace

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(path.string(), "must be readable");
  return nlohmann::json::parse(file);
}

nlohmann::json read_fixture(const std::string& name) {
  return read_json(std::filesystem::path(ROPEWALK_SOURCE_DIR) / "tests/fixtures" / name);
}

std::optional<std::filesystem::path> shared_folder() {
  const char* const named = std::getenv("ROPEWALK_SHARED");
  const auto folder = named != nullptr ? std::filesystem::path(named)
                                       : std::filesystem::path(ROPEWALK_SOURCE_DIR) / "../shared";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

DoubleDouble double_double_of(const nlohmann::json& parts) {
  const auto part = [&](size_t which) {
    return std::strtod(parts.at(which).get<std::string>().c_str(), nullptr);
  };
  return {part(0), part(1)};
}

DoubleDouble decimal_of(const nlohmann::json& text) {
  return from_decimal(text.get<std::string>());
}

double relative_error(DoubleDouble got, DoubleDouble exact) {
  if (got == exact) return 0;
  return static_cast<double>(abs(got - exact) / abs(exact));
}

double ulps(double got, DoubleDouble exact) {
  return static_cast<double>(abs(DoubleDouble(got) - exact)) /
         unit_in_last_place(exact.hi, 53, -1074);
}

double float_ulps(float got, DoubleDouble exact) {
  return static_cast<double>(abs(DoubleDouble(static_cast<double>(got)) - exact)) /
         unit_in_last_place(static_cast<float>(exact), 24, -149);
}

}  // namespace ropewalk::exact_values
