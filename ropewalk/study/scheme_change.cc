#include "ropewalk/study/scheme_change.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// The pairs that its distance map moves.
PairRange moved_pairs(const ParsedScheme& scheme) {
  for (const ParsedPart& part : scheme.parts) {
    if (part.scheme->kind == PartKind::kDistanceMap) return part.params.pairs();
  }
  return {};
}

// |ln(a / b)|, both at least 0.
double log_ratio(double a, double b, double most) {
  if (a == b) return 0;
  return a > 0 && b > 0 ? std::min(std::abs(std::log(a / b)), most) : most;
}

// "cap,window=128+logn" as "cap", ",window=128", "+logn".
std::vector<std::string> fields_of(const std::string& scheme) {
  std::vector<std::string> fields(1);
  for (const char c : scheme) {
    if (c == ',' || c == '+') fields.emplace_back();
    fields.back() += c;
  }
  return fields;
}

struct NumberField {
  std::string key;
  double value = 0;
};

std::optional<NumberField> number_field(const std::string& field) {
  const size_t equals = field.find('=');
  if (equals == std::string::npos || !field.starts_with(',')) return std::nullopt;
  NumberField number{.key = field.substr(1, equals - 1)};
  const char* const end = field.data() + field.size();
  const auto read = std::from_chars(field.data() + equals + 1, end, number.value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// The one number in which two schemes differ.
std::optional<std::pair<NumberField, NumberField>> only_difference(const std::string& a,
                                                                   const std::string& b) {
  const std::vector<std::string> own = fields_of(a);
  const std::vector<std::string> other = fields_of(b);
  if (own.size() != other.size()) return std::nullopt;
  const auto [at, there] = std::ranges::mismatch(own, other);
  if (at == own.end() || !std::equal(at + 1, own.end(), there + 1)) return std::nullopt;
  const auto mine = number_field(*at);
  const auto its = number_field(*there);
  if (!mine || !its || mine->key != its->key) return std::nullopt;
  return std::pair(*mine, *its);
}

}  // namespace

SchemeChange scheme_change(const SchemeFacts& scheme, const SchemeFacts& declared) {
  const ParsedScheme parsed = parse_scheme(scheme.scheme);
  SchemeChange change{.parts = parsed.parts.size()};
  if (parsed.is_declared()) return change;
  if (scheme.inv_freq.size() != declared.inv_freq.size() ||
      scheme.distances != declared.distances || scheme.distances.empty()) {
    change.angle = std::numeric_limits<double>::infinity();
    return change;
  }
  const PairRange moved = moved_pairs(parsed);
  const double most = std::log(static_cast<double>(scheme.distances.back() + 1));
  double sum = 0;
  size_t count = 0;
  for (size_t k = 0; k < scheme.distances.size(); ++k) {
    const double before = declared.effective[k].value_or(0);
    const double after = scheme.effective[k].value_or(0);
    for (size_t p = 0; p < scheme.inv_freq.size(); ++p) {
      const auto pair = static_cast<int64_t>(p);
      const bool moves = !scheme.effective[k] || (moved.first <= pair && pair <= moved.last);
      sum += log_ratio(scheme.inv_freq[p] * (moves ? after : before), declared.inv_freq[p] * before,
                       most);
      ++count;
    }
  }
  change.angle = sum / static_cast<double>(std::max<size_t>(count, 1));
  return change;
}

std::vector<GridLine> grid_lines(const std::string& scheme, const std::vector<std::string>& all) {
  std::map<std::string, GridLine> by_key;
  for (const std::string& other : all) {
    const auto difference = only_difference(scheme, other);
    if (!difference) continue;
    const auto& [own, its] = *difference;
    GridLine& line = by_key[own.key];
    if (line.settings.empty()) line.settings.push_back({.value = own.value, .scheme = scheme});
    line.settings.push_back({.value = its.value, .scheme = other});
  }
  std::vector<GridLine> lines;
  for (auto& [key, line] : by_key) {
    line.parameter = key;
    std::ranges::sort(line.settings, {}, &GridLine::Setting::value);
    const auto own = std::ranges::find(line.settings, scheme, &GridLine::Setting::scheme);
    line.at = static_cast<size_t>(own - line.settings.begin());
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ropewalk
