// What tokenizer.json cuts and replaces by: a string, or a regular expression in Oniguruma's syntax.
#ifndef ROPEWALK_TEXT_HF_PATTERN_H_
#define ROPEWALK_TEXT_HF_PATTERN_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/hf_node.h"
#include "ropewalk/text/regex_splitter.h"

namespace ropewalk {

// Returns the same expression in Perl's syntax, as RegexSplitter takes it: sets within sets are
// drawn together, \w and \h get Oniguruma's meaning, ^ and $ match at every line.
// Throws Error, placed at `place`, on what has no such form (intersections, negated inner sets).
std::string perl_pattern(std::string_view oniguruma, const std::string& place);

class HfPattern {
 public:
  // node  {"String": s}, {"Regex": r} or s alone
  // Throws Error if it is neither, or does not compile.
  explicit HfPattern(const HfNode& node);

  // In Perl's syntax.
  static HfPattern regex(std::string_view pattern) { return HfPattern(pattern); }

  // Returns `text` cut into matches and what lies between; none is empty.
  std::vector<Stretch> stretches(std::string_view text) const;

  std::string replace_all(std::string_view text, std::string_view content) const;

 private:
  explicit HfPattern(std::string_view pattern);

  std::string literal_;
  std::optional<RegexSplitter> regex_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_PATTERN_H_
