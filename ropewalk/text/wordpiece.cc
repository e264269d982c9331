#include "ropewalk/text/wordpiece.h"

#include "ropewalk/text/utf8.h"

namespace ropewalk {

bool WordPiece::cut(std::string_view word, std::vector<int32_t>& ids) const {
  std::vector<size_t> ends;  // of the characters, in bytes
  for (size_t at = 0; at < word.size();) {
    at += std::max<size_t>(utf8_length(word.substr(at)), 1);
    ends.push_back(at);
    if (ends.size() > max_characters_) return false;
  }
  const size_t before = ids.size();
  size_t begin = 0;
  for (auto next = ends.begin(); next != ends.end();) {
    const Ids& known = begin == 0 ? beginnings_ : continuations_;
    auto end = std::upper_bound(next, ends.end(), begin + longest_);
    auto token = known.end();
    while (end != next && token == known.end()) {
      --end;
      token = known.find(word.substr(begin, *end - begin));
    }
    if (token == known.end()) {
      ids.resize(before);
      return false;
    }
    ids.push_back(token->second);
    begin = *end;
    next = end + 1;
  }
  return true;
}

}  // namespace ropewalk
