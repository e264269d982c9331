// SentencePiece's precompiled character map: which stretches of text normalisation rewrites, and to
// what. The keys lie in a double array, in the units of darts-clone; values point into strings that
// end with a zero byte. Source: github.com/google/sentencepiece, src/normalizer.cc.
#ifndef ROPEWALK_TEXT_CHARS_MAP_H_
#define ROPEWALK_TEXT_CHARS_MAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

class CharsMap {
 public:
  struct Match {
    size_t size;                   // bytes of text it stands for
    std::string_view replacement;  // valid as long as the map
  };

  CharsMap() = default;

  // blob  normalizer_spec.precompiled_charsmap; empty: nothing is rewritten
  // Throws Error if it is cut short.
  explicit CharsMap(std::string_view blob);

  // The longest, or the shortest, key that `text` begins with.
  // Throws Error where the map points outside itself.
  std::optional<Match> find_longest(std::string_view text) const;
  std::optional<Match> find_shortest(std::string_view text) const;

  bool empty() const { return units_.empty(); }

 private:
  std::optional<Match> find(std::string_view text, bool longest) const;
  uint32_t unit(uint32_t index) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_CHARS_MAP_H_
