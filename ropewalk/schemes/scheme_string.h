// The scheme string: how every command, file and test names an encoding.
//
//   scheme  part[+part...]
//   part    name[,key=value...]
//
//   "declared"                             change nothing; alone or beside other parts
//   "yarn,factor=8"                        one spectrum, with its amplitude
//   "cap,window=256+full_turn+logn"        a distance map, a pair mask and a multiplier
//   "cap,window=256,pairs=2:3"             only pairs 2 and 3; the others see the true distance
//   "longrope,long=@l.json,short=@s.json"  lists from files, relative to the current directory
//
// At most one part of each kind (PartKind). What no part sets stays as declared. A spectrum part
// starts afresh from the declared source (base, frequency_dim, trained_length): it replaces a
// declared scaling, its amplitude and logit multiplier included, and is never stacked on it.
// Numbers carry no plus sign: "1e6", not "1e+6".
#ifndef ROPEWALK_SCHEMES_SCHEME_STRING_H_
#define ROPEWALK_SCHEMES_SCHEME_STRING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {

struct ParsedPart {
  const SchemeInfo* scheme = nullptr;
  SchemeParams params;
  std::string
      text;  // canonical: parameters in the scheme's order, fallbacks left out, lists written out
};

struct ParsedScheme {
  std::vector<ParsedPart> parts;  // by kind; empty: "declared"

  // Canonical: two strings of the same meaning give the same text, and it parses to the same
  // values.
  std::string text() const;

  bool is_declared() const { return parts.empty(); }
  bool depends_on_length() const;  // any part does
  bool recommended() const;        // every part is
};

// A part's text with one parameter replaced, or left out where `value` is empty.
std::string with_parameter(std::string text, const std::string& name, const std::string& value);

// Throws Error naming the part, the rule and the value, with the known names where one is not
// known.
ParsedScheme parse_scheme(const std::string& text);

// The declared Rotary under the scheme. Throws Error where the two do not fit: pairs or lists of
// another size, a trained length that the scheme needs and the model does not tell.
Rotary apply_scheme(const ParsedScheme& scheme, const Rotary& declared);
Rotary apply_scheme(const std::string& text, const Rotary& declared);

// "declared", then every recommended scheme's candidates, then the combinations worth trying:
// settings to stretch a model from trained_length to target_length, canonical, none twice.
//   1 <= trained_length <= target_length; throws Error otherwise
std::vector<std::string> candidate_schemes(int64_t trained_length, int64_t target_length);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_SCHEME_STRING_H_
