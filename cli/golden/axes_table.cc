// Tables of positions with several coordinates.
#include <string>
#include <vector>

#include "cli/golden/compute.h"
#include "ropewalk/math/axes.h"

namespace ropewalk::golden {
namespace {

// The letters of the axes, by the positions that the case gives: HunyuanVL's are position, width,
// height and time.
std::string axis_letters(const Json& golden) {
  const bool four = golden["cases"].at(0).at("position").contains("p");
  return four ? "pwht" : "thwe";
}

Value axis_value(const Spectrum& spectrum, const Json& position, const std::string& letters) {
  std::vector<int64_t> coordinates;
  for (const char letter : letters) {
    coordinates.push_back(position.value(std::string(1, letter), int64_t{0}));
  }
  const std::vector<CosSin> table = cos_sin_of_pairs(spectrum, coordinates);
  const std::vector<double> inv_freq = spectrum.inv_freq();
  Value places = Value::list(), cosines = Value::list(), sines = Value::list();
  for (size_t pair = 0; pair < table.size(); ++pair) {
    const int64_t p = coordinates.at(spectrum.axis.empty() ? 0 : spectrum.axis[pair]);
    const double bound = table_bound(static_cast<double>(p) * inv_freq[pair]);
    places.push(Value::exact(p));
    cosines.push(Value::real(table[pair].cos, bound));
    sines.push(Value::real(table[pair].sin, bound));
  }
  Value out = Value::object();
  out.set("position", Value::given(position)).set("angle_axis_pos", std::move(places));
  out.set("cos", std::move(cosines)).set("sin", std::move(sines));
  return out;
}

}  // namespace

void set_axes(Value& out, const Spectrum& spectrum, const Json& golden) {
  const std::string letters = axis_letters(golden);
  set_spectrum(out, spectrum, golden);
  Value axes = Value::list(), cases = Value::list();
  for (size_t pair = 0; pair < spectrum.turns_per_token.size(); ++pair) {
    const size_t axis = spectrum.axis.empty() ? 0 : spectrum.axis[pair];
    axes.push(Value::exact(std::string(1, letters.at(axis))));
  }
  for (const Json& given : golden["cases"]) {
    cases.push(axis_value(spectrum, given.at("position"), letters));
  }
  out.set("axis_per_pair", std::move(axes)).set("cases", std::move(cases));
}

}  // namespace ropewalk::golden
