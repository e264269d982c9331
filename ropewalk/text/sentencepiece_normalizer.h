// What SentencePiece does to text before it looks for tokens: rewriting by its character map, then
// its rules of white space. Source: github.com/google/sentencepiece, src/normalizer.cc.
#ifndef ROPEWALK_TEXT_SENTENCEPIECE_NORMALIZER_H_
#define ROPEWALK_TEXT_SENTENCEPIECE_NORMALIZER_H_

#include <string>
#include <string_view>

#include "ropewalk/text/chars_map.h"

namespace ropewalk {

struct SentencePieceNormalizer {
  CharsMap map = {};
  bool add_prefix = true;                // one space before the text
  bool remove_extra_whitespaces = true;  // spaces at the ends go, runs of them become one
  bool keep_invalid_bytes = false;       // else each is U+FFFD

  // Returns `text` rewritten, spaces spelled U+2581.
  std::string normalize(std::string_view text) const;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SENTENCEPIECE_NORMALIZER_H_
