#include "ropewalk/text/unigram.h"

#include <algorithm>
#include <utility>

#include "ropewalk/text/utf8.h"

namespace ropewalk {

Unigram::Unigram(std::vector<PrefixTable::Entry> entries, std::vector<double> scores,
                 double unknown_score)
    : table_(std::move(entries)), scores_(std::move(scores)), unknown_score_(unknown_score) {}

void Unigram::cut(std::string_view text, std::vector<Piece>& pieces) const {
  // The best cut of text[0, end), by its last piece.
  struct Best {
    double score = 0;
    size_t size = 0;  // 0: not reached yet
    int32_t id = -1;
  };
  std::vector<Best> best(text.size() + 1);
  for (size_t at = 0; at < text.size();) {
    const size_t character = std::max<size_t>(utf8_length(text.substr(at)), 1);
    const auto offer = [&](size_t size, int32_t id, double score) {
      Best& there = best[at + size];
      const double sum = best[at].score + score;
      if (there.size == 0 || sum > there.score) there = {sum, size, id};
    };
    bool is_token = false;
    table_.find(text.substr(at), [&](size_t size, int32_t id) {
      offer(size, id, scores_[static_cast<size_t>(id)]);
      is_token = is_token || size == character;
    });
    if (!is_token) offer(character, -1, unknown_score_);
    at += character;
  }

  std::vector<Piece> found;  // the last first
  for (size_t end = text.size(); end > 0; end -= best[end].size) {
    const Best& last = best[end];
    if (last.id < 0 && !found.empty() && found.back().id < 0) {
      found.back().size += last.size;
    } else {
      found.push_back({last.id, last.size});
    }
  }
  if (!found.empty() && !pieces.empty() && found.back().id < 0 && pieces.back().id < 0) {
    pieces.back().size += found.back().size;
    found.pop_back();
  }
  pieces.insert(pieces.end(), found.rbegin(), found.rend());
}

}  // namespace ropewalk
