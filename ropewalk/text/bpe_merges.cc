#include "ropewalk/text/bpe_merges.h"

#include <algorithm>
#include <limits>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

uint64_t pair_key(BpeSymbol left, BpeSymbol right) {
  return pack_pair(static_cast<uint32_t>(left), static_cast<uint32_t>(right));
}

}  // namespace

void BpeMerges::add(BpeSymbol left, BpeSymbol right, BpeSymbol product, int32_t rank) {
  merges_.try_emplace(pair_key(left, right), Merge{rank, product});
}

void BpeMerges::offer(int32_t left, Scratch& scratch) const {
  if (left < 0 || scratch.node(left).next < 0) return;
  const BpeSymbol left_symbol = scratch.node(left).symbol;
  const BpeSymbol right_symbol = scratch.node(scratch.node(left).next).symbol;
  const auto merge = merges_.find(pair_key(left_symbol, right_symbol));
  if (merge == merges_.end()) return;
  scratch.heap.push_back(
      {merge->second.rank, left, left_symbol, right_symbol, merge->second.product});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void BpeMerges::apply(std::vector<Unit>& units, Scratch& scratch) const {
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  nodes.clear();
  heap.clear();
  const auto n_units = static_cast<int32_t>(units.size());
  for (int32_t i = 0; i < n_units; ++i) {
    const Unit& unit = units[static_cast<size_t>(i)];
    nodes.push_back({unit.symbol, unit.size, i - 1, i + 1 < n_units ? i + 1 : -1});
  }
  for (int32_t i = 0; i < n_units; ++i) offer(i, scratch);

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Node& left = scratch.node(best.left);
    if (left.size == 0 || left.symbol != best.left_symbol || left.next < 0) continue;
    Scratch::Node& right = scratch.node(left.next);
    if (right.symbol != best.right_symbol) continue;
    left.symbol = best.product;
    left.size += right.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) scratch.node(left.next).previous = best.left;
    offer(left.previous, scratch);
    offer(best.left, scratch);
  }

  units.clear();
  for (const Scratch::Node& node : nodes) {
    if (node.size > 0) units.push_back({node.symbol, node.size});
  }
}

void for_each_merge(
    std::span<const std::string> merges,
    const std::function<void(std::string_view left, std::string_view right, int32_t rank)>& call) {
  constexpr const char* kKey = "tokenizer.ggml.merges";
  // Three symbols a merge at most, and their ids are 32 bits.
  constexpr size_t kMaxMerges = std::numeric_limits<BpeSymbol>::max() / 3 - 256;
  if (merges.size() > kMaxMerges) {
    throw Error(kKey, "must hold at most " + std::to_string(kMaxMerges),
                std::to_string(merges.size()));
  }
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      throw Error(kKey, "must read \"left right\"",
                  "\"" + std::string(merge) + "\" at rank " + std::to_string(rank));
    }
    call(merge.substr(0, space), merge.substr(space + 1), static_cast<int32_t>(rank));
  }
}

}  // namespace ropewalk
