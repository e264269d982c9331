// WordPiece: each word is cut into the longest tokens, from its beginning on. Sources: Schuster and
// Nakajima 2012; Devlin et al. 2018 (arxiv.org/abs/1810.04805).
#ifndef ROPEWALK_TEXT_WORDPIECE_H_
#define ROPEWALK_TEXT_WORDPIECE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ropewalk {

// Holds views of the spellings it was given.
class WordPiece {
 public:
  static constexpr size_t kMaxCharacters = 100;  // of BERT's own files

  // Longer words are unknown as a whole.
  explicit WordPiece(size_t max_characters = kMaxCharacters) : max_characters_(max_characters) {}

  // A token that may begin a word, or only go on with one; without the marks that say so. Of equal
  // spellings the first holds.
  void add_beginning(std::string_view text, int32_t id) { add(text, id, beginnings_); }
  void add_continuation(std::string_view text, int32_t id) { add(text, id, continuations_); }

  // Appends the ids of `word`; false, and nothing is appended, if the tokens cannot spell it.
  bool cut(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  using Ids = std::unordered_map<std::string_view, int32_t>;

  void add(std::string_view text, int32_t id, Ids& to) {
    if (text.empty()) return;
    to.emplace(text, id);
    longest_ = std::max(longest_, text.size());
  }

  size_t max_characters_;
  size_t longest_ = 0;  // bytes of the longest token
  Ids beginnings_;
  Ids continuations_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_WORDPIECE_H_
