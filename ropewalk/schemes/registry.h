// The schemes by name: what each is, which parameters it takes, and how it turns a declared Rotary
// into another.
//
// A scheme is one source file of this folder that defines `SchemeInfo <file name>_scheme()`; the
// build collects them (cmake/schemes.cmake), nothing lists them by hand. docs/adding-a-scheme.md
// shows how.
#ifndef ROPEWALK_SCHEMES_REGISTRY_H_
#define ROPEWALK_SCHEMES_REGISTRY_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/distance_map.h"
#include "ropewalk/math/double_double.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// What a part of a scheme string sets; a string holds at most one part of each kind. Parts are
// applied in this order.
enum class PartKind { kSpectrum, kDistanceMap, kPairMask, kVisibility, kMultiplier };

// "spectrum", "distance map", "pair mask", "visibility", "multiplier".
std::string to_string(PartKind kind);

enum class ParamType {
  kNumber,        // the double nearest to the decimal
  kInteger,       // exact
  kIntegerOrAll,  // an integer, or "all" for kUnbounded
  kChoice,        // one of `choices`
  kNumbers,       // "a:b:c", or "@FILE.json" holding [a, b, c]
  kPoints,        // "d:v:d:v", or "@FILE.json" holding [[d, v], [d, v]]
  kPairs,         // "first:last", both included, from 0
};

// One parameter. Parsing, printing, help texts and documents are all made from this.
struct ParamInfo {
  std::string name;
  ParamType type = ParamType::kNumber;
  bool required = false;
  std::string fallback;  // the value where none is given, as text; empty: none
  // Of a number, an integer, each number of a list, each value of the points.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;          // `least` itself is refused
  std::vector<std::string> choices;  // only for kChoice
  std::string unit;                  // "tokens", "turns"; empty: a bare number
  std::string help;                  // one line
  bool is_slowdown = false;          // the inverse of what engines call the frequency scale
};

using ParamValue = std::variant<double, int64_t, std::string, std::vector<double>,
                                std::vector<CurvePoint>, PairRange>;

// Validated values of one scheme's parameters, fallbacks filled in. Asking for a name or type that
// the scheme does not declare, or for an optional value that is not there, is the caller's bug.
class SchemeParams {
 public:
  SchemeParams() = default;
  SchemeParams(std::string scheme, std::map<std::string, ParamValue> values);

  bool has(const std::string& name) const { return values_.count(name) != 0; }
  DoubleDouble number(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  const std::string& choice(const std::string& name) const;
  const std::vector<double>& numbers(const std::string& name) const;
  const std::vector<CurvePoint>& points(const std::string& name) const;

  // The pairs that a distance map moves: every one where the scheme string does not say.
  PairRange pairs() const;

  // Throws the Error of a value that only the scheme itself can judge; see base/error.h for what
  // follows the name.
  //   name  the parameter, or empty where the fault is the model's ("needs a trained length")
  [[noreturn]] void refuse(const std::string& name, FaultKind kind, const std::string& rule,
                           const std::string& value = {}, const std::string& mend = {}) const;

 private:
  std::string scheme_;
  std::map<std::string, ParamValue> values_;
};

struct SchemeInfo {
  std::string name;
  PartKind kind = PartKind::kSpectrum;
  std::string formula;  // one line
  std::string source;   // paper or repository
  std::vector<ParamInfo> params;

  // The declared Rotary with this scheme's part replaced, everything else as it was. Throws Error.
  Rotary (*build)(const SchemeParams& params, Rotary declared) = nullptr;

  // The settings worth trying to stretch a model from trained_length to target_length, as
  // scheme-string parts. 1 <= trained_length <= target_length. Null: none can be made from the two
  // lengths.
  std::vector<std::string> (*candidates)(int64_t trained_length, int64_t target_length) = nullptr;

  // One valid part for a head of n_pairs pairs, where `candidates` is null.
  std::string (*example)(int64_t n_pairs) = nullptr;

  bool recommended = true;         // false: exists to be recognised, never proposed
  bool depends_on_length = false;  // a token's output changes when tokens are appended
  bool relative = true;            // the score of two tokens depends on i - j alone
};

// Every scheme, by kind, then name. Distance maps have the parameter `pairs` added.
const std::vector<SchemeInfo>& all_schemes();

// Null where there is none of that name.
const SchemeInfo* find_scheme(const std::string& name);

// ---- parameters that many schemes share

ParamInfo factor_param(const std::string& help);    // number from 1 to 1e6, required
ParamInfo slowdown_param(const std::string& help);  // the same, of how many times slower pairs turn
ParamInfo window_param(const std::string& help);    // integer >= 1 in tokens, required
ParamInfo original_param();                         // the length that turns are counted over

// target_length / trained_length * times as text, at least 1: the natural factor of a candidate.
std::string stretch(int64_t trained_length, int64_t target_length, double times = 1);

// Whole number of tokens, at least 1: 358 for share 0.7 of 512; and as it is written in a scheme
// string.
int64_t share_tokens(int64_t length, double share);
std::string share_of(int64_t length, double share);

// The group size that brings the distances beyond `window` of target_length tokens to just inside
// the trained length.
int64_t smallest_group(int64_t window, int64_t trained_length, int64_t target_length);

// `number` as a scheme string holds it: shortest text that reads back the same, without a plus
// sign.
std::string to_text(double number);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_REGISTRY_H_
