#include "ropewalk/text/byte_level_bpe.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_alphabet.h"

namespace ropewalk {
namespace {

constexpr const char* kMergesKey = "tokenizer.ggml.merges";

uint64_t pair_key(int32_t left, int32_t right) {
  return pack_pair(static_cast<uint32_t>(left), static_cast<uint32_t>(right));
}

}  // namespace

// Kept from word to word for its memory. Nodes are a linked list over the bytes of the word.
struct ByteLevelBpe::Scratch {
  struct Node {
    Symbol symbol;  // -1 once merged away
    int32_t size;   // in bytes
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    int32_t rank;
    int32_t left;  // index of a node; the right one was its `next`
    Symbol left_symbol;
    Symbol right_symbol;
    Symbol product;

    // For a heap whose top has the lowest rank, then the leftmost place.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  std::vector<Node> nodes;
  std::vector<Candidate> heap;

  Node& node(int32_t index) { return nodes[static_cast<size_t>(index)]; }
};

ByteLevelBpe::ByteLevelBpe(const Vocabulary& vocabulary)
    : ByteLevelBpe(vocabulary, find_pretokenizer(vocabulary.pre)) {}

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

ByteLevelBpe::Symbol ByteLevelBpe::intern(std::string_view bytes) {
  const auto [at, is_new] =
      symbols_.try_emplace(std::string(bytes), static_cast<Symbol>(symbol_ids_.size()));
  if (is_new) {
    const auto token = ids_.find(bytes);
    symbol_ids_.push_back(token == ids_.end() ? -1 : token->second);
  }
  return at->second;
}

void ByteLevelBpe::add_merges(const std::vector<std::string>& merges) {
  // Three symbols a merge at most, and their ids are 32 bits.
  constexpr size_t kMaxMerges = std::numeric_limits<Symbol>::max() / 3 - 256;
  if (merges.size() > kMaxMerges) {
    throw Error(kMergesKey, "must hold at most " + std::to_string(kMaxMerges),
                std::to_string(merges.size()));
  }
  for (int byte = 0; byte < 256; ++byte) intern(std::string(1, static_cast<char>(byte)));
  merges_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      throw Error(kMergesKey, "must read \"left right\"",
                  "\"" + std::string(merge) + "\" at rank " + std::to_string(rank));
    }
    const auto left = from_alphabet(merge.substr(0, space));
    const auto right = from_alphabet(merge.substr(space + 1));
    if (!left || !right) continue;  // not spelled in bytes: no text can ever reach it
    const Symbol left_symbol = intern(*left);
    const Symbol right_symbol = intern(*right);
    merges_.try_emplace(pair_key(left_symbol, right_symbol),
                        Merge{static_cast<int32_t>(rank), intern(*left + *right)});
  }
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

  std::vector<Scratch::Node>& nodes = scratch.nodes;
  std::vector<Scratch::Candidate>& heap = scratch.heap;
  nodes.clear();
  heap.clear();
  const auto offer = [&](int32_t left) {
    if (left < 0 || scratch.node(left).next < 0) return;
    const Symbol left_symbol = scratch.node(left).symbol;
    const Symbol right_symbol = scratch.node(scratch.node(left).next).symbol;
    const auto merge = merges_.find(pair_key(left_symbol, right_symbol));
    if (merge == merges_.end()) return;
    heap.push_back({merge->second.rank, left, left_symbol, right_symbol, merge->second.product});
    std::push_heap(heap.begin(), heap.end());
  };

  const auto n_bytes = static_cast<int32_t>(word.size());
  for (int32_t i = 0; i < n_bytes; ++i) {
    const Symbol symbol = static_cast<uint8_t>(word[static_cast<size_t>(i)]);
    nodes.push_back({symbol, 1, i - 1, i + 1 < n_bytes ? i + 1 : -1});
  }
  for (int32_t i = 0; i < n_bytes; ++i) offer(i);

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Node& left = scratch.node(best.left);
    if (left.symbol != best.left_symbol || left.next < 0) continue;
    Scratch::Node& right = scratch.node(left.next);
    if (right.symbol != best.right_symbol) continue;
    left.symbol = best.product;
    left.size += right.size;
    left.next = right.next;
    right.symbol = -1;
    if (left.next >= 0) scratch.node(left.next).previous = best.left;
    offer(left.previous);
    offer(best.left);
  }

  for (int32_t i = 0; i >= 0; i = scratch.node(i).next) {
    const auto size = static_cast<size_t>(scratch.node(i).size);
    append_symbol(scratch.node(i).symbol, word.substr(static_cast<size_t>(i), size), ids);
  }
}

void ByteLevelBpe::append_symbol(Symbol symbol, std::string_view bytes,
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
