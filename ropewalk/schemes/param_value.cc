#include "ropewalk/schemes/param_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/list_file.h"

namespace ropewalk {
namespace {

// Positions and distances stay below it, where a double still counts by ones.
constexpr int64_t kMaxInteger = int64_t{1} << 53;

// The whole text as one T; a double must be finite.
template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  if (!std::isfinite(static_cast<double>(value))) return std::nullopt;
  return value;
}

// A whole number, also where it is spelt as "1e6" or "512.0".
std::optional<int64_t> parse_integer(std::string_view text) {
  if (const auto integer = parse_whole<int64_t>(text)) return integer;
  const auto number = parse_whole<double>(text);
  if (!number || *number != std::floor(*number)) return std::nullopt;
  if (std::abs(*number) > static_cast<double>(kMaxInteger)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool in_bounds(const ParamInfo& param, double value) {
  return (param.above_least ? value > param.least : value >= param.least) && value <= param.most;
}

// " >= 1", " > 0 and <= 16", or nothing.
std::string bounds_text(const ParamInfo& param) {
  std::string text;
  if (std::isfinite(param.least)) {
    text += (param.above_least ? " > " : " >= ") + to_text(param.least);
  }
  if (std::isfinite(param.most)) text += (text.empty() ? " <= " : " and <= ") + to_text(param.most);
  return text;
}

std::vector<double> parse_list(const ParamInfo& param, const std::string& place,
                               const std::string& text) {
  if (text.starts_with('@')) {
    return read_list_file(place, text.substr(1), param.type == ParamType::kPoints);
  }
  std::vector<double> numbers;
  for (std::string_view entry : split(text, ':')) {
    const auto number = parse_whole<double>(entry);
    if (!number) throw Error(place, "must be " + describe_type(param), text);
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<double> parse_numbers(const ParamInfo& param, const std::string& place,
                                  const std::string& text) {
  std::vector<double> numbers = parse_list(param, place, text);
  if (numbers.empty()) throw Error(place, "must hold at least one number", text);
  for (double number : numbers) {
    if (!in_bounds(param, number)) {
      throw Error(place, "must hold numbers" + bounds_text(param) + " only", to_text(number));
    }
  }
  return numbers;
}

std::vector<CurvePoint> parse_points(const ParamInfo& param, const std::string& place,
                                     const std::string& text) {
  const std::vector<double> numbers = parse_list(param, place, text);
  if (numbers.size() % 2 != 0) throw Error(place, "must hold a value for each distance", text);
  std::vector<CurvePoint> points;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const double distance = numbers[i];
    if (distance != std::floor(distance) || distance < 0 || distance > kMaxInteger) {
      throw Error(place, "must hold whole distances >= 0", to_text(distance));
    }
    if (!in_bounds(param, numbers[i + 1])) {
      throw Error(place, "must hold values" + bounds_text(param) + " only",
                  to_text(numbers[i + 1]));
    }
    points.push_back({static_cast<int64_t>(distance), numbers[i + 1]});
  }
  return points;
}

PairRange parse_pairs(const ParamInfo& param, const std::string& place, const std::string& text) {
  const std::vector<std::string_view> ends = split(text, ':');
  if (ends.size() == 2) {
    const auto first = parse_whole<int64_t>(ends[0]);
    const auto last = parse_whole<int64_t>(ends[1]);
    if (first && last && 0 <= *first && *first <= *last) return {*first, *last};
  }
  throw Error(place, "must be " + describe_type(param), text);
}

struct ToText {
  std::string operator()(double value) const { return to_text(value); }
  std::string operator()(int64_t value) const {
    return value == kUnbounded ? "all" : std::to_string(value);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (double value : values) text += (text.empty() ? "" : ":") + to_text(value);
    return text;
  }
  std::string operator()(const std::vector<CurvePoint>& points) const {
    std::string text;
    for (const CurvePoint& point : points) {
      text += text.empty() ? "" : ":";
      text += std::to_string(point.distance) + ":" + to_text(static_cast<double>(point.value));
    }
    return text;
  }
  std::string operator()(const PairRange& pairs) const {
    return std::to_string(pairs.first) + ":" + std::to_string(pairs.last);
  }
};

}  // namespace

ParamValue parse_param_value(const ParamInfo& param, const std::string& place,
                             const std::string& text) {
  switch (param.type) {
    case ParamType::kNumber: {
      const auto number = parse_whole<double>(text);
      if (number && in_bounds(param, *number)) return *number;
      if (number && param.is_slowdown && 0 < *number && *number < 1) {
        throw Error(place, "must be " + describe_type(param), text,
                    "the frequency scale " + text + " is factor " + to_text(1 / *number));
      }
      break;
    }
    case ParamType::kIntegerOrAll:
      if (text == "all") return kUnbounded;
      [[fallthrough]];
    case ParamType::kInteger: {
      const auto integer = parse_integer(text);
      if (integer && *integer <= kMaxInteger && in_bounds(param, static_cast<double>(*integer))) {
        return *integer;
      }
      break;
    }
    case ParamType::kChoice:
      if (std::count(param.choices.begin(), param.choices.end(), text) != 0) return text;
      break;
    case ParamType::kNumbers:
      return parse_numbers(param, place, text);
    case ParamType::kPoints:
      return parse_points(param, place, text);
    case ParamType::kPairs:
      return parse_pairs(param, place, text);
  }
  throw Error(place, "must be " + describe_type(param), text);
}

std::string to_text(const ParamValue& value) { return std::visit(ToText{}, value); }

std::string describe_type(const ParamInfo& param) {
  switch (param.type) {
    case ParamType::kNumber:
      return "a number" + bounds_text(param);
    case ParamType::kInteger:
      return "a whole number" + bounds_text(param);
    case ParamType::kIntegerOrAll:
      return "a whole number" + bounds_text(param) + ", or all";
    case ParamType::kChoice: {
      std::string text;
      for (const std::string& choice : param.choices) text += (text.empty() ? "" : " or ") + choice;
      return text;
    }
    case ParamType::kNumbers:
      return "numbers" + bounds_text(param) + " a:b:c, or @FILE.json of [a, b, c]";
    case ParamType::kPoints:
      return "points distance:value:distance:value, or @FILE.json of [[distance, value], ...]";
    case ParamType::kPairs:
      return "pairs first:last, counted from 0, both included";
  }
  return {};
}

}  // namespace ropewalk
