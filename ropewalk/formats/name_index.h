// Look-up by name in a list that keeps its file order.
#ifndef ROPEWALK_FORMATS_NAME_INDEX_H_
#define ROPEWALK_FORMATS_NAME_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace ropewalk {

// Indices into `items`, sorted by name; equal names keep file order. Sorting instead of hashing:
// names chosen by a stranger cannot make it slow.
//   items    fewer than 2^32
//   name_of  item -> string_view
template <typename Item, typename NameOf>
std::vector<uint32_t> index_by_name(std::span<const Item> items, NameOf name_of) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::string_view(name_of(items[a])) < std::string_view(name_of(items[b]));
  });
  return order;
}

// The first item in `order` whose name its predecessor has too; null when names are unique.
template <typename Item, typename NameOf>
const Item* find_duplicate(std::span<const Item> items, std::span<const uint32_t> order,
                           NameOf name_of) {
  for (size_t i = 1; i < order.size(); ++i) {
    const Item& item = items[order[i]];
    if (name_of(items[order[i - 1]]) == name_of(item)) return &item;
  }
  return nullptr;
}

// Null when no item has that name.
template <typename Item, typename NameOf>
const Item* find_by_name(std::span<const Item> items, std::span<const uint32_t> order,
                         std::string_view name, NameOf name_of) {
  const auto found = std::lower_bound(order.begin(), order.end(), name,
                                      [&](uint32_t index, std::string_view wanted) {
                                        return std::string_view(name_of(items[index])) < wanted;
                                      });
  if (found == order.end() || name_of(items[*found]) != name) return nullptr;
  return &items[*found];
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_NAME_INDEX_H_
