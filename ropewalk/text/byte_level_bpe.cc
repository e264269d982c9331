#include "ropewalk/text/byte_level_bpe.h"

#include <optional>

#include "ropewalk/text/byte_alphabet.h"

namespace ropewalk {

struct ByteLevelBpe::Scratch {
  std::vector<BpeMerges::Unit> units;
  BpeMerges::Scratch merging;
};

ByteLevelBpe::ByteLevelBpe(const Vocabulary& vocabulary, const Pretokenizer& pretokenizer)
    : TokenizerBase(vocabulary, {.add_bos = pretokenizer.add_bos}),
      splitter_(pretokenizer.patterns),
      ignore_merges_(pretokenizer.ignore_merges) {
  add_tokens();
  add_merges(vocabulary.merges);
}

void ByteLevelBpe::add_tokens() {
  bytes_.reserve(size());
  ids_.reserve(size());
  for (int32_t id = 0; id < static_cast<int32_t>(size()); ++id) {
    const bool spelled_in_alphabet = type_of(id) != TokenType::kUserDefined && !is_hidden(id);
    const std::optional<std::string> raw =
        spelled_in_alphabet ? from_alphabet(spelling(id)) : std::nullopt;
    bytes_.push_back(raw.value_or(spelling(id)));
    if (raw && !raw->empty()) ids_.emplace(bytes_.back(), id);
  }
}

BpeSymbol ByteLevelBpe::intern(std::string_view bytes) {
  const auto [at, is_new] =
      symbols_.try_emplace(std::string(bytes), static_cast<BpeSymbol>(symbol_ids_.size()));
  if (is_new) {
    const auto token = ids_.find(bytes);
    symbol_ids_.push_back(token == ids_.end() ? -1 : token->second);
  }
  return at->second;
}

void ByteLevelBpe::add_merges(const std::vector<std::string>& merges) {
  for (int byte = 0; byte < 256; ++byte) intern(std::string(1, static_cast<char>(byte)));
  merges_.reserve(merges.size());
  for_each_merge(merges,
                 [&](std::string_view spelled_left, std::string_view spelled_right, int32_t rank) {
                   const auto left = from_alphabet(spelled_left);
                   const auto right = from_alphabet(spelled_right);
                   if (!left || !right) return;  // not spelled in bytes: no text can ever reach it
                   const BpeSymbol left_symbol = intern(*left);
                   const BpeSymbol right_symbol = intern(*right);
                   merges_.add(left_symbol, right_symbol, intern(*left + *right), rank);
                 });
}

void ByteLevelBpe::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  Scratch scratch;
  for (const std::string_view word : splitter_.split(text)) encode_word(word, scratch, ids);
}

void ByteLevelBpe::encode_word(std::string_view word, Scratch& scratch,
                               std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto whole = ids_.find(word); whole != ids_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }

  std::vector<BpeMerges::Unit>& units = scratch.units;
  units.clear();
  for (const char c : word) units.push_back({static_cast<uint8_t>(c), 1});
  merges_.apply(units, scratch.merging);
  for (const BpeMerges::Unit& unit : units) {
    append_symbol(unit.symbol, word.substr(0, unit.size), ids);
    word.remove_prefix(unit.size);
  }
}

void ByteLevelBpe::append_symbol(BpeSymbol symbol, std::string_view bytes,
                                 std::vector<int32_t>& ids) const {
  if (const int32_t id = symbol_ids_[static_cast<size_t>(symbol)]; id >= 0) {
    ids.push_back(id);
    return;
  }
  // A merge whose product is no token: its bytes one by one. A byte that is no token is left out:
  // files of this model name an ordinary control token as `unknown`, often the end of text.
  for (const char c : bytes) {
    const int32_t id = symbol_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) ids.push_back(id);
  }
}

std::string ByteLevelBpe::piece(int32_t id) const {
  check_id(id);
  return bytes_[static_cast<size_t>(id)];
}

std::string ByteLevelBpe::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  for (const int32_t id : ids) {
    check_id(id);
    if (!is_hidden(id) || options.show_control) text += bytes_[static_cast<size_t>(id)];
  }
  return text;
}

}  // namespace ropewalk
