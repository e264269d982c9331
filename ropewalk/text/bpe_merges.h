// Byte-pair merging, whatever the symbols are: the neighbours with the best-ranked merge are joined
// until no merge applies. Source: Sennrich et al. 2016 (arxiv.org/abs/1508.07909).
#ifndef ROPEWALK_TEXT_BPE_MERGES_H_
#define ROPEWALK_TEXT_BPE_MERGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ropewalk/text/hash_pair.h"

namespace ropewalk {

// Numbers that stand for spellings; the tokenizer gives them out. Negative: no merge has it.
using BpeSymbol = int32_t;

class BpeMerges {
 public:
  // A symbol and how many bytes of the word it covers.
  struct Unit {
    BpeSymbol symbol;
    size_t size;
  };

  // Kept from word to word for its memory.
  class Scratch {
    friend class BpeMerges;

    // A linked list over the units of the word.
    struct Node {
      BpeSymbol symbol;
      size_t size;  // 0 once merged away
      int32_t previous;
      int32_t next;
    };
    struct Candidate {
      int32_t rank;
      int32_t left;  // index of a node; the right one was its `next`
      BpeSymbol left_symbol;
      BpeSymbol right_symbol;
      BpeSymbol product;

      // For a heap whose top has the lowest rank, then the leftmost place.
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    Node& node(int32_t index) { return nodes[static_cast<size_t>(index)]; }

    std::vector<Node> nodes;
    std::vector<Candidate> heap;
  };

  void reserve(size_t n_merges) { merges_.reserve(n_merges); }

  // Where a pair comes twice the first rank holds.
  void add(BpeSymbol left, BpeSymbol right, BpeSymbol product, int32_t rank);

  // Merges the units of one word in place. Time is n log n.
  void apply(std::vector<Unit>& units, Scratch& scratch) const;

 private:
  struct Merge {
    int32_t rank;
    BpeSymbol product;
  };

  void offer(int32_t left, Scratch& scratch) const;

  std::unordered_map<uint64_t, Merge, HashPair> merges_;  // by pack_pair(left, right)
};

// Calls with (left, right, rank) for each entry of tokenizer.ggml.merges, "left right".
// Throws Error on one that does not read so, and on more than ranks can number.
void for_each_merge(
    std::span<const std::string> merges,
    const std::function<void(std::string_view left, std::string_view right, int32_t rank)>& call);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_BPE_MERGES_H_
