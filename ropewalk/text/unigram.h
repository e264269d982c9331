// Unigram: of all ways to cut a text into tokens the one with the largest sum of log-probabilities.
// Source: Kudo 2018 (arxiv.org/abs/1804.10959).
#ifndef ROPEWALK_TEXT_UNIGRAM_H_
#define ROPEWALK_TEXT_UNIGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ropewalk/text/prefix_table.h"

namespace ropewalk {

// Immutable once made.
class Unigram {
 public:
  static constexpr double kUnknownPenalty = 10;  // below the least score, as in SentencePiece

  // A token of the text, or a run of characters that no token spells (id < 0).
  struct Piece {
    int32_t id;
    size_t size;  // in bytes
  };

  Unigram() = default;

  // entries        the tokens that text may spell; views that must outlive this object
  // scores         (n_tokens) by id
  // unknown_score  of one character that no token spells
  Unigram(std::vector<PrefixTable::Entry> entries, std::vector<double> scores,
          double unknown_score);

  // Appends the best cut of `text`, whole characters each. Of equal sums the one whose last token
  // begins earliest wins. Runs of unknown characters are joined, also with one that ends `pieces`.
  // Time is linear in the text for a given vocabulary.
  void cut(std::string_view text, std::vector<Piece>& pieces) const;

 private:
  PrefixTable table_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_UNIGRAM_H_
