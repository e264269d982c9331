#include "ropewalk/text/sentencepiece_bpe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

TokenizerDefaults defaults() { return {.bos = 1, .eos = 2, .unknown = 0, .add_bos = true}; }

// Up to four bytes as a number; no two characters share one, since none but U+0000 begins with 0.
uint32_t code(std::string_view character) {
  uint32_t value = 0;
  for (const char c : character) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

}  // namespace

// Kept from stretch to stretch for its memory.
struct SentencePieceBpe::Scratch {
  // A run of characters that is one token so far; empty once merged away. Neighbours by index.
  struct Symbol {
    std::string_view text;
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    float score;
    int32_t left;
    int32_t right;
    size_t size;  // of both together when it was queued: tells a stale entry from a live one

    // For a heap whose top has the best score, then the leftmost place.
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;

  Symbol& symbol(int32_t index) { return symbols[static_cast<size_t>(index)]; }
};

SentencePieceBpe::SentencePieceBpe(const Vocabulary& vocabulary)
    : TokenizerBase(vocabulary, defaults()),
      add_space_prefix_(vocabulary.add_space_prefix.value_or(true)),
      scores_(vocabulary.scores) {
  check_scores(scores_);
  if (vocabulary.normalizes_llama) {
    normalizer_ = SentencePieceNormalizer{
        .map = CharsMap(vocabulary.precompiled_charsmap),
        .add_prefix = add_space_prefix_,
        .remove_extra_whitespaces = vocabulary.remove_extra_whitespaces.value_or(false),
        .keep_invalid_bytes = true};
  }
  byte_ids_.fill(-1);
  ids_.reserve(size());
  for (int32_t id = 0; id < static_cast<int32_t>(size()); ++id) {
    const std::string_view text = spelling(id);
    if (type_of(id) == TokenType::kByte) {
      int32_t& slot = byte_ids_[checked_byte(id)];
      if (slot < 0) slot = id;
    } else if (spells_text(type_of(id)) && !text.empty()) {
      ids_.emplace(text, id);
      add_joints(text);
      longest_ = std::max(longest_, text.size());
    }
  }
}

int32_t SentencePieceBpe::find(std::string_view text) const {
  if (text.size() > longest_) return -1;
  const auto found = ids_.find(text);
  return found == ids_.end() ? -1 : found->second;
}

void SentencePieceBpe::add_joints(std::string_view token) {
  std::string_view left = first_character(token);
  for (size_t at = left.size(); at < token.size();) {
    const std::string_view right = first_character(token.substr(at));
    joints_.insert(pack_pair(code(left), code(right)));
    at += right.size();
    left = right;
  }
}

void SentencePieceBpe::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string escaped =
      normalizer_ ? normalizer_->normalize(text) : escape_spaces(text, add_space_prefix_);
  Scratch scratch;
  uint32_t left = 0;
  for (size_t at = 0; at < escaped.size();) {
    const std::string_view character = first_character(std::string_view(escaped).substr(at));
    const uint32_t right = code(character);
    if (!scratch.symbols.empty() && !joints_.contains(pack_pair(left, right))) {
      merge(scratch, ids);
    }
    const auto index = static_cast<int32_t>(scratch.symbols.size());
    scratch.symbols.push_back({character, index - 1, index + 1});
    at += character.size();
    left = right;
  }
  if (!scratch.symbols.empty()) merge(scratch, ids);
}

void SentencePieceBpe::merge(Scratch& scratch, std::vector<int32_t>& ids) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  std::vector<Scratch::Candidate>& heap = scratch.heap;
  symbols.back().next = -1;

  // Neighbours are adjacent in memory, so what they spell together is one view.
  const auto joined = [](const Scratch::Symbol& left, const Scratch::Symbol& right) {
    return std::string_view(left.text.data(), left.text.size() + right.text.size());
  };
  const auto offer = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const std::string_view both = joined(scratch.symbol(left), scratch.symbol(right));
    const int32_t id = find(both);
    if (id < 0) return;
    heap.push_back({scores_[static_cast<size_t>(id)], left, right, both.size()});
    std::push_heap(heap.begin(), heap.end());
  };
  for (size_t i = 1; i < symbols.size(); ++i) {
    offer(static_cast<int32_t>(i - 1), static_cast<int32_t>(i));
  }

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = scratch.symbol(best.left);
    Scratch::Symbol& right = scratch.symbol(best.right);
    if (left.text.empty() || right.text.empty()) continue;
    if (left.text.size() + right.text.size() != best.size) continue;
    left.text = joined(left, right);
    left.next = right.next;
    right.text = {};
    if (left.next >= 0) scratch.symbol(left.next).previous = best.left;
    offer(left.previous, best.left);
    offer(best.left, left.next);
  }

  for (const Scratch::Symbol& symbol : symbols) {
    if (symbol.text.empty()) continue;
    const int32_t id = find(symbol.text);
    if (id >= 0) {
      ids.push_back(id);
    } else {
      append_fallback(symbol.text, ids);
    }
  }
  symbols.clear();
}

// A character that is no token is spelled in bytes if the vocabulary can spell all of it.
void SentencePieceBpe::append_fallback(std::string_view character,
                                       std::vector<int32_t>& ids) const {
  const auto id_of = [&](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (std::all_of(character.begin(), character.end(), [&](char c) { return id_of(c) >= 0; })) {
    for (const char c : character) ids.push_back(id_of(c));
  } else if (unknown()) {
    // SentencePiece has one for a run of them, llama.cpp one for each.
    const bool joins = normalizer_ && !ids.empty() && ids.back() == *unknown();
    if (!joins) ids.push_back(*unknown());
  }
}

std::string SentencePieceBpe::piece(int32_t id) const {
  check_id(id);
  switch (type_of(id)) {
    case TokenType::kByte:
      return std::string(1, static_cast<char>(checked_byte(id)));
    case TokenType::kNormal:
    case TokenType::kUnused:
      return unescape_spaces(spelling(id));
    default:
      return spelling(id);
  }
}

std::string SentencePieceBpe::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  return decode_stretches(ids, options, add_space_prefix_ && options.strip_space_prefix);
}

}  // namespace ropewalk
