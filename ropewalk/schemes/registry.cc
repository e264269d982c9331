#include "ropewalk/schemes/registry.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

namespace ropewalk {

// Made by the build: one entry per scheme file, in no order.
std::vector<SchemeInfo> registered_schemes();

namespace {

template <typename T>
const T& value_of(const std::map<std::string, ParamValue>& values, const std::string& name) {
  const auto found = values.find(name);
  assert(found != values.end() && std::holds_alternative<T>(found->second));
  return std::get<T>(found->second);
}

std::vector<SchemeInfo> ordered_schemes() {
  std::vector<SchemeInfo> schemes = registered_schemes();
  for (SchemeInfo& scheme : schemes) {
    if (scheme.kind != PartKind::kDistanceMap) continue;
    scheme.params.push_back(
        {.name = "pairs",
         .type = ParamType::kPairs,
         .help = "the pairs that the map moves; the others see the true distance"});
  }
  std::sort(schemes.begin(), schemes.end(), [](const SchemeInfo& a, const SchemeInfo& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  });
  return schemes;
}

}  // namespace

std::string to_string(PartKind kind) {
  switch (kind) {
    case PartKind::kSpectrum:
      return "spectrum";
    case PartKind::kDistanceMap:
      return "distance map";
    case PartKind::kPairMask:
      return "pair mask";
    case PartKind::kVisibility:
      return "visibility";
    case PartKind::kMultiplier:
      return "multiplier";
  }
  return {};
}

SchemeParams::SchemeParams(std::string scheme, std::map<std::string, ParamValue> values)
    : scheme_(std::move(scheme)), values_(std::move(values)) {}

DoubleDouble SchemeParams::number(const std::string& name) const {
  return value_of<double>(values_, name);
}

int64_t SchemeParams::integer(const std::string& name) const {
  return value_of<int64_t>(values_, name);
}

const std::string& SchemeParams::choice(const std::string& name) const {
  return value_of<std::string>(values_, name);
}

const std::vector<double>& SchemeParams::numbers(const std::string& name) const {
  return value_of<std::vector<double>>(values_, name);
}

const std::vector<CurvePoint>& SchemeParams::points(const std::string& name) const {
  return value_of<std::vector<CurvePoint>>(values_, name);
}

PairRange SchemeParams::pairs() const {
  return has("pairs") ? value_of<PairRange>(values_, "pairs") : PairRange{};
}

void SchemeParams::refuse(const std::string& name, FaultKind kind, const std::string& rule,
                          const std::string& value, const std::string& mend) const {
  const std::string parameter = name.empty() ? "" : ", parameter " + name;
  // It need not be one that the user wrote.
  bool is_default = false;
  if (const SchemeInfo* const scheme = find_scheme(scheme_)) {
    const auto found = std::ranges::find(scheme->params, name, &ParamInfo::name);
    is_default = found != scheme->params.end() && !value.empty() && found->fallback == value;
  }
  throw Error("scheme " + scheme_ + parameter, rule,
              is_default ? value + ", which is its default" : value, mend)
      .of(kind);
}

const std::vector<SchemeInfo>& all_schemes() {
  static const std::vector<SchemeInfo> schemes = ordered_schemes();
  return schemes;
}

const SchemeInfo* find_scheme(const std::string& name) {
  for (const SchemeInfo& scheme : all_schemes()) {
    if (scheme.name == name) return &scheme;
  }
  return nullptr;
}

ParamInfo factor_param(const std::string& help) {
  return {.name = "factor", .required = true, .least = 1, .most = 1e6, .help = help};
}

ParamInfo slowdown_param(const std::string& help) {
  ParamInfo param = factor_param(help);
  param.is_slowdown = true;
  return param;
}

ParamInfo window_param(const std::string& help) {
  return {.name = "window",
          .type = ParamType::kInteger,
          .required = true,
          .least = 1,
          .unit = "tokens",
          .help = help};
}

ParamInfo original_param() {
  return {.name = "original",
          .type = ParamType::kInteger,
          .least = 1,
          .unit = "tokens",
          .help = "length that turns are counted over; the model's trained length by default"};
}

std::string stretch(int64_t trained_length, int64_t target_length, double times) {
  const double ratio = static_cast<double>(target_length) / static_cast<double>(trained_length);
  return to_text(std::max(1.0, ratio * times));
}

int64_t share_tokens(int64_t length, double share) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(length) * share));
}

std::string share_of(int64_t length, double share) {
  return std::to_string(share_tokens(length, share));
}

int64_t smallest_group(int64_t window, int64_t trained_length, int64_t target_length) {
  const int64_t room = std::max<int64_t>(1, trained_length - window);
  return (target_length - window + room - 1) / room + 1;
}

std::string to_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return std::to_string(static_cast<int64_t>(number));
  }
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, end);
  text.erase(std::remove(text.begin(), text.end(), '+'), text.end());
  return text;
}

}  // namespace ropewalk
