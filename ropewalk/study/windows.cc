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

namespace {

// The windows of one document: `size` of them from `first`; how many are taken.
struct DocumentWindows {
  size_t first = 0;
  size_t size = 0;
  size_t taken = 0;
  bool is_long = false;
};

std::vector<DocumentWindows> by_document(const std::vector<Window>& windows) {
  size_t longest = 0;
  for (const Window& window : windows) longest = std::max(longest, window.ids.size());
  std::vector<DocumentWindows> documents;
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window& window = windows[k];
    if (k == 0 || window.document != windows[k - 1].document)
      documents.push_back({.first = k, .is_long = 2 * window.ids.size() >= longest});
    ++documents.back().size;
  }
  return documents;
}

// Takes at most `count` windows, one at a time from each document that has some left and is long or
// not, spread evenly over the documents in the last turn. Returns how many are still wanted.
size_t take(std::vector<DocumentWindows>& documents, bool is_long, size_t count) {
  while (count > 0) {
    std::vector<DocumentWindows*> open;
    for (DocumentWindows& document : documents)
      if (document.is_long == is_long && document.taken < document.size) open.push_back(&document);
    if (open.empty()) break;
    const size_t given = std::min(count, open.size());
    for (size_t k = 0; k < given; ++k) ++open[k * open.size() / given]->taken;
    count -= given;
  }
  return count;
}

}  // namespace

std::vector<Window> spread(std::vector<Window> windows, size_t count) {
  if (windows.size() <= count) return windows;
  std::vector<DocumentWindows> documents = by_document(windows);
  take(documents, false, take(documents, true, count));
  std::vector<Window> chosen;
  chosen.reserve(count);
  for (const auto& [first, size, taken, is_long] : documents)
    for (size_t k = 0; k < taken; ++k)
      chosen.push_back(std::move(windows[first + k * size / taken]));
  return chosen;
}

std::vector<size_t> hold_out(const std::vector<Window>& windows, int64_t trained_length,
                             std::optional<size_t> count) {
  std::vector<size_t> beyond;
  for (size_t k = 0; k < windows.size(); ++k)
    if (static_cast<int64_t>(windows[k].ids.size()) > trained_length + 1) beyond.push_back(k);
  const size_t usual = beyond.size() < 2 ? 0 : std::max<size_t>(beyond.size() / 4, 1);
  const size_t held = count.value_or(usual);
  if (held > 0 && held >= beyond.size()) {
    throw Error("held-out windows",
                "must leave one to choose by, of " + std::to_string(beyond.size()) +
                    " that reach beyond the trained length",
                std::to_string(held), "hold out fewer, or measure on more")
        .of(FaultKind::kOutOfRange);
  }
  std::vector<size_t> chosen;
  for (size_t k = 1; k <= held; ++k) chosen.push_back(beyond[k * beyond.size() / held - 1]);
  return chosen;
}

}  // namespace ropewalk
