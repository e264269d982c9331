#include "ropewalk/study/windows.h"

#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

WindowSet cut_windows(const std::vector<Document>& documents, std::optional<int32_t> bos,
                      int64_t length) {
  WindowSet set;
  const int64_t text_length = length - (bos ? 1 : 0);
  for (size_t d = 0; d < documents.size(); ++d) {
    const std::vector<int32_t>& ids = documents[d].ids;
    const auto size = static_cast<int64_t>(ids.size());
    const int64_t most = std::min(text_length, size);
    if (most + (bos ? 1 : 0) < 2) {
      throw Error(documents[d].name, "must give at least two tokens", std::to_string(size));
    }
    for (int64_t first = 0; first + most <= size; first += most) {
      Window window{.document = d, .first = first, .ids = {}};
      if (bos) window.ids.push_back(*bos);
      window.ids.insert(window.ids.end(), ids.begin() + first, ids.begin() + first + most);
      set.windows.push_back(std::move(window));
    }
    set.dropped_tokens += size % most;
  }
  return set;
}

std::vector<Window> spread(std::vector<Window> windows, size_t count) {
  if (windows.size() <= count) return windows;
  std::vector<Window> chosen;
  chosen.reserve(count);
  for (size_t k = 0; k < count; ++k)
    chosen.push_back(std::move(windows[k * windows.size() / count]));
  return chosen;
}

}  // namespace ropewalk
