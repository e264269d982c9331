// Reading tables of exact values, and measuring how far a result is from one.
#ifndef ROPEWALK_TESTING_EXACT_VALUES_H_
#define ROPEWALK_TESTING_EXACT_VALUES_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ropewalk/math/double_double.h"

namespace ropewalk::exact_values {

// The JSON of a file; throws where it is not there.
nlohmann::json read_json(const std::filesystem::path& path);

// The JSON of tests/fixtures/<name>.
nlohmann::json read_fixture(const std::string& name);

// Golden files made outside this project: the environment's ROPEWALK_SHARED, else ../shared beside
// the project. None where the folder is not there; a test then skips and says so.
std::optional<std::filesystem::path> shared_folder();

// [hi, lo], each a hexadecimal double.
DoubleDouble double_double_of(const nlohmann::json& parts);

// A decimal numeral as a JSON string.
DoubleDouble decimal_of(const nlohmann::json& text);

// |got - exact| / |exact|; 0 where both are 0.
double relative_error(DoubleDouble got, DoubleDouble exact);

// |got - exact| in units of the last place of the double, or float, nearest to `exact`.
double ulps(double got, DoubleDouble exact);
double float_ulps(float got, DoubleDouble exact);

}  // namespace ropewalk::exact_values

#endif  // ROPEWALK_TESTING_EXACT_VALUES_H_
