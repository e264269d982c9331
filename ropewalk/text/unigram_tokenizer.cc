#include "ropewalk/text/unigram_tokenizer.h"

#include <algorithm>
#include <limits>

#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

constexpr TokenizerDefaults kDefaults = {.eos = 1, .unknown = 2, .add_eos = true};

}  // namespace

UnigramTokenizer::UnigramTokenizer(const Vocabulary& vocabulary)
    : TokenizerBase(vocabulary, kDefaults) {
  check_scores(vocabulary.scores);
  byte_ids_.fill(-1);
  std::vector<PrefixTable::Entry> entries;
  std::vector<double> scores(vocabulary.scores.begin(), vocabulary.scores.end());
  double least = std::numeric_limits<double>::max();
  bool has_bytes = false;
  for (int32_t id = 0; id < static_cast<int32_t>(size()); ++id) {
    const std::string_view text = spelling(id);
    double& score = scores[static_cast<size_t>(id)];
    if (type_of(id) == TokenType::kByte) {
      has_bytes = true;
      int32_t& slot = byte_ids_[checked_byte(id)];
      if (slot < 0) slot = id;
    }
    if (!spells_text(type_of(id)) || text.empty()) continue;
    if (type_of(id) == TokenType::kNormal) least = std::min(least, score);
    if (type_of(id) == TokenType::kUserDefined) score = 0;  // before any token that has a price
    entries.push_back({text, id});
    word_by_word_ = word_by_word_ && text.find(kSpelledSpace, 1) == std::string_view::npos;
  }
  model_ = Unigram(std::move(entries), std::move(scores), least - Unigram::kUnknownPenalty);
  normalizer_ = {.map = CharsMap(vocabulary.precompiled_charsmap),
                 .add_prefix = vocabulary.add_space_prefix.value_or(false),
                 .remove_extra_whitespaces = vocabulary.remove_extra_whitespaces.value_or(false),
                 .keep_invalid_bytes = has_bytes};
}

void UnigramTokenizer::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string normal = normalizer_.normalize(text);
  std::vector<Unigram::Piece> pieces;
  for (size_t at = 0; at < normal.size();) {
    const size_t end =
        word_by_word_ ? std::min(normal.find(kSpelledSpace, at + 1), normal.size()) : normal.size();
    model_.cut(std::string_view(normal).substr(at, end - at), pieces);
    at = end;
  }
  std::string_view rest = normal;
  for (const Unigram::Piece& piece : pieces) {
    append(rest.substr(0, piece.size), piece, ids);
    rest.remove_prefix(piece.size);
  }
}

// A run that is no token is spelled in bytes if the vocabulary can spell all of it.
void UnigramTokenizer::append(std::string_view text, Unigram::Piece piece,
                              std::vector<int32_t>& ids) const {
  const auto id_of = [&](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (piece.id >= 0) {
    ids.push_back(piece.id);
  } else if (std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c) >= 0; })) {
    for (const char c : text) ids.push_back(id_of(c));
  } else if (unknown()) {
    ids.push_back(*unknown());
  }
}

std::string UnigramTokenizer::piece(int32_t id) const {
  check_id(id);
  if (type_of(id) == TokenType::kByte) return std::string(1, static_cast<char>(checked_byte(id)));
  const bool spaced = type_of(id) == TokenType::kNormal || type_of(id) == TokenType::kUnused;
  return spaced ? unescape_spaces(spelling(id)) : spelling(id);
}

std::string UnigramTokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  return decode_stretches(ids, options, normalizer_.add_prefix && options.strip_space_prefix);
}

}  // namespace ropewalk
