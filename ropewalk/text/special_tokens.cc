#include "ropewalk/text/special_tokens.h"

#include <algorithm>
#include <tuple>

namespace ropewalk {

SpecialTokens::SpecialTokens(std::span<const std::string> tokens,
                             std::span<const TokenType> types) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    const TokenType type = types[id];
    const bool always = type == TokenType::kUserDefined;
    const bool on_request = type == TokenType::kControl || type == TokenType::kUnknown;
    if (tokens[id].empty() || (!always && !on_request)) continue;
    entries_.push_back({tokens[id], static_cast<int32_t>(id), always});
    first_bytes_.set(static_cast<uint8_t>(tokens[id][0]));
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.text, a.id) < std::tie(b.text, b.id);
  });
}

std::vector<SpecialTokens::Match> SpecialTokens::find_all(std::string_view text,
                                                          bool parse_special) const {
  std::vector<Match> matches;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (!first_bytes_.test(static_cast<uint8_t>(text[begin]))) continue;
    // [low, high) are the entries that begin with the first `depth` bytes from here: sorted, so
    // those that end there come first.
    auto low = entries_.begin();
    auto high = entries_.end();
    for (size_t depth = 0; begin + depth < text.size() && low != high; ++depth) {
      const auto wanted = static_cast<uint8_t>(text[begin + depth]);
      const auto next_byte = [depth](const Entry& entry) {
        return entry.text.size() > depth ? static_cast<uint8_t>(entry.text[depth]) : -1;
      };
      low = std::partition_point(low, high, [&](const Entry& e) { return next_byte(e) < wanted; });
      high =
          std::partition_point(low, high, [&](const Entry& e) { return next_byte(e) == wanted; });
      for (auto entry = low; entry != high && entry->text.size() == depth + 1; ++entry) {
        if (!entry->always && !parse_special) continue;
        matches.push_back({begin, depth + 1, entry->id});
        break;  // the same spelling twice: the lower id
      }
    }
  }
  return matches;
}

std::vector<Fragment> SpecialTokens::split(std::string_view text, bool parse_special) const {
  std::vector<Match> matches = find_all(text, parse_special);
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::tie(b.size, a.id, a.begin) < std::tie(a.size, b.id, b.begin);
  });

  std::vector<Match> chosen;
  std::vector<bool> taken(matches.empty() ? 0 : text.size());
  for (const Match& match : matches) {
    // What is taken is at least as long as this match, so an overlap covers one of its ends.
    if (taken[match.begin] || taken[match.begin + match.size - 1]) continue;
    std::fill_n(taken.begin() + static_cast<ptrdiff_t>(match.begin), match.size, true);
    chosen.push_back(match);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Match& a, const Match& b) { return a.begin < b.begin; });

  std::vector<Fragment> fragments;
  size_t done = 0;
  const auto add_text_until = [&](size_t end) {
    if (end > done) fragments.push_back({.text = text.substr(done, end - done)});
    done = end;
  };
  for (const Match& match : chosen) {
    add_text_until(match.begin);
    fragments.push_back({.text = text.substr(match.begin, match.size), .token = match.id});
    done = match.begin + match.size;
  }
  add_text_until(text.size());
  return fragments;
}

}  // namespace ropewalk
