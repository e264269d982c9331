// Which tokens does a text begin with?
#ifndef ROPEWALK_TEXT_PREFIX_TABLE_H_
#define ROPEWALK_TEXT_PREFIX_TABLE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

namespace ropewalk {

// Immutable; holds views of the spellings it was made from.
class PrefixTable {
 public:
  struct Entry {
    std::string_view text;  // not empty
    int32_t id;
  };

  PrefixTable() = default;

  // Of equal spellings the lower id is kept.
  explicit PrefixTable(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.text, a.id) < std::tie(b.text, b.id);
    });
    const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
    entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
    size_t at = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
      begins_[byte] = at;
      while (at < entries_.size() && static_cast<uint8_t>(entries_[at].text[0]) == byte) ++at;
    }
    begins_[256] = at;
  }

  // Calls found(size, id) for each entry that `text` begins with, the shortest first.
  template <typename Found>
  void find(std::string_view text, const Found& found) const {
    if (text.empty()) return;
    const auto first = static_cast<uint8_t>(text[0]);
    // [low, high) are the entries that begin with the first `depth` bytes: sorted, so the one that
    // ends there comes first.
    auto low = entries_.begin() + static_cast<ptrdiff_t>(begins_[first]);
    auto high = entries_.begin() + static_cast<ptrdiff_t>(begins_[first + size_t{1}]);
    for (size_t depth = 1; low != high; ++depth) {
      if (low->text.size() == depth) {
        found(depth, low->id);
        ++low;
      }
      if (depth == text.size()) return;
      const auto wanted = static_cast<uint8_t>(text[depth]);
      const auto byte = [depth](const Entry& e) { return static_cast<uint8_t>(e.text[depth]); };
      low = std::partition_point(low, high, [&](const Entry& e) { return byte(e) < wanted; });
      high = std::partition_point(low, high, [&](const Entry& e) { return byte(e) == wanted; });
    }
  }

 private:
  std::vector<Entry> entries_;  // by text
  std::array<size_t, 257> begins_{};
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_PREFIX_TABLE_H_
