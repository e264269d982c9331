#include "ropewalk/study/windows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

Document document(const std::string& name, int32_t size) {
  Document made{name, std::vector<int32_t>(static_cast<size_t>(size))};
  std::iota(made.ids.begin(), made.ids.end(), 100);
  return made;
}

TEST(CutWindows, DoNotOverlapAndCountBos) {
  const WindowSet set = cut_windows({document("a", 25), document("b", 3)}, 1, 11);
  ASSERT_EQ(set.windows.size(), 3u);  // 10 + 10 of the first, 5 left over; the short one whole
  EXPECT_EQ(set.dropped_tokens, 5);
  EXPECT_EQ(set.windows[0].ids,
            (std::vector<int32_t>{1, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109}));
  EXPECT_EQ(set.windows[1].first, 10);
  EXPECT_EQ(set.windows[1].ids.size(), 11u);
  EXPECT_EQ(set.windows[2].document, 1u);
  EXPECT_EQ(set.windows[2].ids, (std::vector<int32_t>{1, 100, 101, 102}));
}

TEST(CutWindows, WithoutBosTakeTheTextAsItIs) {
  const WindowSet set = cut_windows({document("a", 8)}, std::nullopt, 4);
  ASSERT_EQ(set.windows.size(), 2u);
  EXPECT_EQ(set.windows[1].ids, (std::vector<int32_t>{104, 105, 106, 107}));
  EXPECT_EQ(set.dropped_tokens, 0);
}

TEST(CutWindows, RefuseADocumentOfNoTokens) {
  EXPECT_THROW(cut_windows({document("empty", 0)}, 1, 8), Error);
  EXPECT_THROW(cut_windows({document("one", 1)}, std::nullopt, 8), Error);
}

TEST(Spread, TakesWindowsFromAllOver) {
  std::vector<Window> windows(10);
  for (int64_t k = 0; k < 10; ++k) windows[static_cast<size_t>(k)].first = k;
  const std::vector<Window> chosen = spread(windows, 4);
  ASSERT_EQ(chosen.size(), 4u);
  EXPECT_EQ(chosen[0].first, 0);
  EXPECT_EQ(chosen[1].first, 2);
  EXPECT_EQ(chosen[3].first, 7);
  EXPECT_EQ(spread(windows, 20).size(), 10u);
}

std::vector<Window> windows_of(const std::vector<size_t>& sizes) {
  std::vector<Window> windows;
  for (size_t d = 0; d < sizes.size(); ++d)
    for (size_t k = 0; k < sizes[d]; ++k)
      windows.push_back({.document = d, .first = static_cast<int64_t>(k), .ids = {}});
  return windows;
}

std::vector<std::pair<size_t, int64_t>> places(const std::vector<Window>& windows) {
  std::vector<std::pair<size_t, int64_t>> found;
  for (const Window& window : windows) found.emplace_back(window.document, window.first);
  return found;
}

TEST(Spread, GivesDocumentsEqualShares) {
  using Places = std::vector<std::pair<size_t, int64_t>>;
  const std::vector<Window> windows = windows_of({20, 2, 3});
  EXPECT_EQ(places(spread(windows, 3)), (Places{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(places(spread(windows, 8)),  // 3, 2 and 3: the second has no more
            (Places{{0, 0}, {0, 6}, {0, 13}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}}));
  EXPECT_EQ(spread(windows, 24).size(), 24u);
}

TEST(Spread, TakesShortDocumentsLast) {
  std::vector<Window> windows = windows_of({5, 1, 2});
  for (Window& window : windows) window.ids.resize(window.document == 1 ? 49 : 100);
  using Places = std::vector<std::pair<size_t, int64_t>>;
  EXPECT_EQ(places(spread(windows, 4)), (Places{{0, 0}, {0, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(places(spread(windows, 7)).size(), 7u);
  windows.erase(windows.begin() + 1, windows.begin() + 5);
  EXPECT_EQ(places(spread(windows, 3)), (Places{{0, 0}, {2, 0}, {2, 1}}));
}

TEST(Spread, TakesDocumentsFromAllOverWhereThereAreTooMany) {
  const std::vector<Window> chosen = spread(windows_of({1, 1, 1, 1, 1, 1, 1, 1}), 4);
  EXPECT_EQ(places(chosen),
            (std::vector<std::pair<size_t, int64_t>>{{0, 0}, {2, 0}, {4, 0}, {6, 0}}));
}

TEST(HoldOut, TakesAQuarterFromDifferentDocuments) {
  std::vector<Window> windows;
  for (size_t k = 0; k < 8; ++k)
    windows.push_back({.document = k / 2, .ids = std::vector<int32_t>(20)});
  EXPECT_EQ(hold_out(windows, 10, {}), (std::vector<size_t>{3, 7}));
  EXPECT_EQ(hold_out(windows, 10, 4), (std::vector<size_t>{1, 3, 5, 7}));
  EXPECT_TRUE(hold_out(windows, 10, 0).empty());
  windows.resize(2);
  EXPECT_EQ(hold_out(windows, 10, {}), std::vector<size_t>{1});
  windows.resize(1);
  EXPECT_TRUE(hold_out(windows, 10, {}).empty());
}

// A window that does not reach beyond L says nothing of what is asked.
TEST(HoldOut, LeavesOneThatReachesBeyondTheTrainedLength) {
  std::vector<Window> windows(5, {.ids = std::vector<int32_t>(20)});
  windows[4].ids.resize(11);
  EXPECT_EQ(hold_out(windows, 10, {}), std::vector<size_t>{3});
  EXPECT_EQ(hold_out(windows, 10, 3), (std::vector<size_t>{0, 1, 3}));
  EXPECT_THROW(hold_out(windows, 10, 4), Error);
  EXPECT_THROW(hold_out({}, 10, 1), Error);
}

}  // namespace
}  // namespace ropewalk
