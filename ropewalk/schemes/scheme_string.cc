#include "ropewalk/schemes/scheme_string.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/param_value.h"

namespace ropewalk {
namespace {

constexpr const char* kDeclared = "declared";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

// Levenshtein's distance: single letters put in, left out or exchanged.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The error for a name that is not among `known`: names all of them, and the nearest where one is
// near.
Error unknown_name(const std::string& place, const std::string& what, const std::string& name,
                   const std::vector<std::string>& known) {
  constexpr size_t kLongestName = 64;  // of a name that a typing error could have made
  std::string nearest;
  size_t least = name.size() <= kLongestName ? 3 : 0;  // a typing error or two
  for (const std::string& candidate : known) {
    const size_t distance = least == 0 ? least : edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  const std::string hint = nearest.empty() ? "" : "did you mean " + nearest + "? ";
  return Error(place, "unknown " + what, name, hint + "known: " + join(known, ", "));
}

const SchemeInfo& scheme_named(const std::string& name) {
  if (const SchemeInfo* scheme = find_scheme(name)) return *scheme;
  std::vector<std::string> known{kDeclared};
  for (const SchemeInfo& scheme : all_schemes()) known.push_back(scheme.name);
  throw unknown_name("scheme string", "scheme", name, known);
}

Error no_parameters(const std::string& scheme, const std::string& given) {
  return {"scheme " + scheme, "takes no parameters", given};
}

// key=value fields by key; fields[0] is the scheme's name.
std::map<std::string, std::string> fields_by_key(const SchemeInfo& scheme,
                                                 const std::vector<std::string>& fields) {
  std::map<std::string, std::string> by_key;
  if (scheme.params.empty() && fields.size() > 1) throw no_parameters(scheme.name, fields[1]);
  for (size_t i = 1; i < fields.size(); ++i) {
    const size_t equals = fields[i].find('=');
    if (equals == std::string::npos) {
      throw Error("scheme " + scheme.name, "parameters must be key=value", fields[i]);
    }
    const std::string key = fields[i].substr(0, equals);
    std::vector<std::string> known;
    for (const ParamInfo& param : scheme.params) known.push_back(param.name);
    if (std::count(known.begin(), known.end(), key) == 0) {
      throw unknown_name("scheme " + scheme.name, "parameter", key, known);
    }
    if (!by_key.emplace(key, fields[i].substr(equals + 1)).second) {
      throw Error("scheme " + scheme.name + ", parameter " + key, "must be given once", fields[i]);
    }
  }
  return by_key;
}

ParsedPart parse_part(const std::string& text) {
  const std::vector<std::string> fields = split(text, ',');
  if (fields[0] == kDeclared) throw no_parameters(kDeclared, fields[1]);
  const SchemeInfo& scheme = scheme_named(fields[0]);
  const std::map<std::string, std::string> given = fields_by_key(scheme, fields);

  ParsedPart part{.scheme = &scheme, .text = scheme.name};
  std::map<std::string, ParamValue> values;
  for (const ParamInfo& param : scheme.params) {
    const std::string place = "scheme " + scheme.name + ", parameter " + param.name;
    const auto field = given.find(param.name);
    if (field != given.end()) {
      ParamValue value = parse_param_value(param, place, field->second);
      const std::string canonical = to_text(value);
      if (canonical != param.fallback) part.text += "," + param.name + "=" + canonical;
      values.emplace(param.name, std::move(value));
    } else if (param.required) {
      throw Error(place, "must be given: " + describe_type(param));
    } else if (!param.fallback.empty()) {
      values.emplace(param.name, parse_param_value(param, place, param.fallback));
    }
  }
  part.params = SchemeParams(scheme.name, std::move(values));
  return part;
}

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// "factor=1e+2": the plus sign would part the string. No scheme's name starts with a digit.
void refuse_plus_signs(const std::string& text) {
  for (size_t plus = text.find('+'); plus != std::string::npos; plus = text.find('+', plus + 1)) {
    const bool exponent = plus >= 2 && (text[plus - 1] == 'e' || text[plus - 1] == 'E') &&
                          (is_digit(text[plus - 2]) || text[plus - 2] == '.');
    if (!exponent || plus + 1 == text.size() || !is_digit(text[plus + 1])) continue;
    const size_t start = text.find_last_of("=:,", plus) + 1;  // npos + 1 is 0
    const size_t end = std::min(text.find_first_of(":,+", plus + 1), text.size());
    const std::string number = text.substr(start, end - start);
    throw Error(
        "scheme string", "must have numbers without a plus sign, which joins parts", number,
        "write " + text.substr(start, plus - start) + text.substr(plus + 1, end - plus - 1));
  }
}

void check_pairs(const ParsedPart& part, const Rotary& declared) {
  const PairRange pairs = part.params.pairs();
  const int64_t n_pairs = declared.layout.n_pairs();
  if (part.params.has("pairs") && pairs.last >= n_pairs) {
    part.params.refuse("pairs", FaultKind::kOutOfRange,
                       "must lie within 0:" + std::to_string(n_pairs - 1),
                       to_text(ParamValue(pairs)));
  }
}

}  // namespace

std::string ParsedScheme::text() const {
  if (is_declared()) return kDeclared;
  std::vector<std::string> texts;
  for (const ParsedPart& part : parts) texts.push_back(part.text);
  return join(texts, "+");
}

bool ParsedScheme::depends_on_length() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const ParsedPart& part) { return part.scheme->depends_on_length; });
}

bool ParsedScheme::recommended() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const ParsedPart& part) { return part.scheme->recommended; });
}

std::string with_parameter(std::string text, const std::string& name, const std::string& value) {
  const size_t start = text.find("," + name + "=");
  if (start != std::string::npos) {
    text.erase(start, std::min(text.find(',', start + 1), text.size()) - start);
  }
  return value.empty() ? text : text + "," + name + "=" + value;
}

ParsedScheme parse_scheme(const std::string& text) {
  refuse_plus_signs(text);
  ParsedScheme parsed;
  std::map<PartKind, std::string> taken;
  for (const std::string& part_text : split(text, '+')) {
    if (part_text == kDeclared) continue;
    ParsedPart part = parse_part(part_text);
    const PartKind kind = part.scheme->kind;
    const auto [other, is_first] = taken.emplace(kind, part_text);
    if (!is_first) {
      throw Error("scheme string", "must hold at most one " + to_string(kind),
                  other->second + " and " + part_text);
    }
    parsed.parts.push_back(std::move(part));
  }
  std::sort(parsed.parts.begin(), parsed.parts.end(), [](const ParsedPart& a, const ParsedPart& b) {
    return a.scheme->kind < b.scheme->kind;
  });
  return parsed;
}

Rotary apply_scheme(const ParsedScheme& scheme, const Rotary& declared) {
  Rotary rotary = declared;
  for (const ParsedPart& part : scheme.parts) {
    check_pairs(part, declared);
    rotary = part.scheme->build(part.params, std::move(rotary));
  }
  return rotary;
}

Rotary apply_scheme(const std::string& text, const Rotary& declared) {
  return apply_scheme(parse_scheme(text), declared);
}

std::vector<std::string> candidate_schemes(int64_t trained_length, int64_t target_length) {
  if (trained_length < 1 || target_length < trained_length) {
    throw Error("candidate schemes", "must have 1 <= trained length <= target length",
                std::to_string(trained_length) + " and " + std::to_string(target_length));
  }
  std::vector<std::string> grid{kDeclared};
  const auto add = [&grid](const std::string& text) {
    const std::string canonical = parse_scheme(text).text();
    if (std::count(grid.begin(), grid.end(), canonical) == 0) grid.push_back(canonical);
  };

  for (const SchemeInfo& scheme : all_schemes()) {
    if (!scheme.recommended || scheme.candidates == nullptr) continue;
    for (const std::string& part : scheme.candidates(trained_length, target_length)) add(part);
  }
  // A map keeps far pairs inside the trained range; past it the fast pairs say nothing, and there
  // are more keys to choose from. The three ideas act in different places, so they combine.
  for (double share : {0.5, 0.7}) {
    const std::string cap = "cap,window=" + share_of(trained_length, share);
    for (const char* beside : {"+full_turn", "+logn", "+full_turn+logn"}) add(cap + beside);
  }
  return grid;
}

}  // namespace ropewalk
