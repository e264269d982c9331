#include "ropewalk/text/sentencepiece_normalizer.h"

#include "ropewalk/text/sentencepiece_spelling.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {
namespace {

std::string rewritten(std::string_view text, const CharsMap& map, bool keep_invalid_bytes) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t size = utf8_length(text);
    if (const auto match = map.find_longest(text)) {
      result += match->replacement;
      size = match->size;
    } else if (size == 0 && !keep_invalid_bytes) {
      result += "\xef\xbf\xbd";
      size = 1;
    } else {
      size = size == 0 ? 1 : size;
      result += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return result;
}

std::string without_extra_spaces(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == ' ' && (result.empty() || result.back() == ' ')) continue;
    result += c;
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

}  // namespace

std::string SentencePieceNormalizer::normalize(std::string_view text) const {
  std::string result = rewritten(text, map, keep_invalid_bytes);
  if (remove_extra_whitespaces) result = without_extra_spaces(result);
  return escape_spaces(result, add_prefix && !result.empty());
}

}  // namespace ropewalk
