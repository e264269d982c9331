#include "ropewalk/text/spaced_bpe.h"

#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {

SpacedBpe::SpacedBpe(const Vocabulary& vocabulary, const Pretokenizer& pretokenizer)
    : TokenizerBase(vocabulary, {.add_bos = pretokenizer.add_bos}),
      splitter_(pretokenizer.patterns),
      whole_line_breaks_(pretokenizer.whole_line_breaks) {
  byte_ids_.fill(-1);
  ids_.reserve(size());
  for (int32_t id = 0; id < static_cast<int32_t>(size()); ++id) {
    const std::string_view text = spelling(id);
    // A file may give bytes the type of ordinary tokens.
    const int byte =
        spells_text(type_of(id)) || type_of(id) == TokenType::kByte ? byte_spelled(text) : -1;
    if (byte >= 0 && byte_ids_[static_cast<size_t>(byte)] < 0) {
      byte_ids_[static_cast<size_t>(byte)] = id;
    }
    if (spells_text(type_of(id)) && !text.empty()) ids_.emplace(text, id);
  }
  merges_.reserve(vocabulary.merges.size());
  for_each_merge(
      vocabulary.merges, [&](std::string_view left, std::string_view right, int32_t rank) {
        const BpeSymbol left_symbol = intern(left);
        const BpeSymbol right_symbol = intern(right);
        merges_.add(left_symbol, right_symbol, intern(std::string(left).append(right)), rank);
      });
}

BpeSymbol SpacedBpe::intern(std::string_view text) {
  const auto [at, is_new] =
      symbols_.try_emplace(std::string(text), static_cast<BpeSymbol>(symbol_ids_.size()));
  if (is_new) {
    const auto token = ids_.find(text);
    symbol_ids_.push_back(token == ids_.end() ? -1 : token->second);
  }
  return at->second;
}

void SpacedBpe::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string escaped = escape_spaces(text, false);
  std::vector<BpeMerges::Unit> units;
  BpeMerges::Scratch scratch;
  for (std::string_view word : splitter_.split(escaped)) {
    if (whole_line_breaks_ && word[0] == '\n') {
      if (const auto whole = ids_.find(word); whole != ids_.end()) {
        ids.push_back(whole->second);
        continue;
      }
    }
    units.clear();
    for (size_t at = 0; at < word.size();) {
      const std::string_view character = first_character(word.substr(at));
      const auto symbol = symbols_.find(std::string(character));
      units.push_back({symbol == symbols_.end() ? -1 : symbol->second, character.size()});
      at += character.size();
    }
    merges_.apply(units, scratch);
    for (const BpeMerges::Unit& unit : units) {
      append(word.substr(0, unit.size), unit.symbol, ids);
      word.remove_prefix(unit.size);
    }
  }
}

void SpacedBpe::append(std::string_view text, BpeSymbol symbol, std::vector<int32_t>& ids) const {
  if (symbol >= 0 && symbol_ids_[static_cast<size_t>(symbol)] >= 0) {
    ids.push_back(symbol_ids_[static_cast<size_t>(symbol)]);
    return;
  }
  if (const auto token = ids_.find(text); token != ids_.end()) {
    ids.push_back(token->second);
    return;
  }
  for (const char c : text) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) ids.push_back(id);
  }
}

std::string SpacedBpe::piece(int32_t id) const {
  check_id(id);
  const std::string& text = spelling(id);
  if (is_hidden(id) || type_of(id) == TokenType::kUserDefined) return text;
  const int byte = byte_spelled(text);
  return byte >= 0 ? std::string(1, static_cast<char>(byte)) : unescape_spaces(text);
}

std::string SpacedBpe::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  std::string escaped;  // unescaped as a whole: U+2581 itself may be spelled in bytes
  const auto flush = [&] {
    text += unescape_spaces(escaped);
    escaped.clear();
  };
  for (const int32_t id : ids) {
    check_id(id);
    if (is_hidden(id) || type_of(id) == TokenType::kUserDefined) {
      flush();
      if (!is_hidden(id) || options.show_control) text += spelling(id);
      continue;
    }
    const int byte = byte_spelled(spelling(id));
    if (byte >= 0) {
      escaped += static_cast<char>(byte);
    } else {
      escaped += spelling(id);
    }
  }
  flush();
  return text;
}

}  // namespace ropewalk
