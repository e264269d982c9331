#include "ropewalk/config/engine_readings.h"

#include <cmath>
#include <cstdio>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/param_value.h"

namespace ropewalk::engine_readings {

const HfFamily& Layers::family() const {
  const HfFamily* const found = is_gguf() ? nullptr : find_hf_family(config_.architecture);
  static constexpr HfFamily kUnknown = {};
  return found == nullptr ? kUnknown : *found;
}

const DeclaredField* Layers::field(std::string_view name) const {
  for (const auto* fields : {&group_.fields, &config_.fields}) {
    const auto found = std::ranges::find(*fields, name, &DeclaredField::name);
    if (found != fields->end()) return &*found;
  }
  return nullptr;
}

std::optional<Rotary> Layers::under(const std::string& spectrum) const {
  try {
    return apply_scheme(spectrum, rotary());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", number);
  return text;
}

double number(const ParsedPart& part, const std::string& name) {
  return static_cast<double>(part.params.number(name));
}

bool same_size(double a, double b) { return std::abs(a / b - 1) < 1e-9; }

std::string amplitude_text(const std::optional<Rotary>& rotary) {
  return rotary ? "amplitude " + to_text(rotary->spectrum.at(1).amplitude) : "another amplitude";
}

const ParsedPart* index_yarn(const Layers& layers) {
  const ParsedPart* const yarn = layers.part({"yarn"});
  return yarn != nullptr && yarn->params.choice("ramp") == "index" ? yarn : nullptr;
}

MaybeReading dropped(const Layers& layers, const ParsedPart* part, const std::string& why) {
  if (part == nullptr) return {};
  return Reading{part->text.substr(0, 100), "plain RoPE: " + why, layers.under("rope")};
}

}  // namespace ropewalk::engine_readings
