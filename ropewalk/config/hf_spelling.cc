#include "ropewalk/config/hf_spelling.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace ropewalk {
namespace {

std::string folded(const std::string& word) {
  std::string out;
  for (const char c : word) {
    out += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

int64_t edit_distance(const std::string& a, const std::string& b) {
  const std::string from = folded(a);
  const std::string to = folded(b);
  std::vector<int64_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t corner = row[0];
    row[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const int64_t replaced = corner + (from[i] == to[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

std::string nearest_spelling(const std::string& word, const std::vector<std::string>& known) {
  constexpr size_t kLongest = 64;  // no key is longer
  std::string best;
  int64_t least = 0;
  if (word.size() > kLongest) return best;
  for (const std::string& candidate : known) {
    const int64_t distance = edit_distance(word, candidate);
    if (distance * 3 > static_cast<int64_t>(candidate.size())) continue;
    if (best.empty() || distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace ropewalk
