#include "cli/search_outcome.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

struct Made {
  std::string scheme;
  double beyond = 0;
  bool portable = false;
  std::string found_by = {};
  bool finalist = true;
  bool truncates = false;
};

std::vector<Candidate> candidates_of(const std::vector<Made>& all) {
  std::vector<Candidate> candidates;
  for (const Made& made : all) {
    Candidate one{.scheme = made.scheme,
                  .truncates = made.truncates,
                  .found_by = made.found_by,
                  .finalist = made.finalist,
                  .beyond = Estimate{.mean = made.beyond}};
    one.portability.portable = made.portable;
    candidates.push_back(one);
  }
  return candidates;
}

const std::vector<Made> kAll = {
    {.scheme = "declared", .beyond = 6, .portable = true},
    {.scheme = "base,factor=2", .beyond = 5, .portable = true},
    {.scheme = "base,factor=3",
     .beyond = 4.5,
     .portable = true,
     .found_by = "around base,factor=2"},
    {.scheme = "base,factor=4",
     .beyond = 4,
     .portable = true,
     .found_by = "around base,factor=2",
     .finalist = false},
    {.scheme = "cap,window=60", .beyond = 3.5, .found_by = "around cap,window=50"},
    {.scheme = "window,size=9", .beyond = 1, .truncates = true}};

TEST(SearchOutcome, HoldsTheLowestFinalistsOfEachKind) {
  const std::vector<Candidate> candidates = candidates_of(kAll);
  const SearchOutcome outcome = search_outcome(candidates);
  EXPECT_EQ(outcome.tried, 3u);
  EXPECT_EQ(outcome.fell_out, 1u);
  ASSERT_EQ(outcome.lowest.size(), 2u);
  EXPECT_TRUE(outcome.lowest[0].portable);
  EXPECT_EQ(outcome.lowest[0].found, &candidates[2]);
  EXPECT_EQ(outcome.lowest[0].grid, &candidates[1]);
  EXPECT_EQ(outcome.lowest[1].found, &candidates[4]);
  EXPECT_EQ(outcome.lowest[1].grid, nullptr) << "what truncates is no setting to compare with";
}

TEST(SearchText, SaysWhatWasFoundBesideTheGrid) {
  EXPECT_EQ(search_text(candidates_of(kAll), "llama.cpp"),
            "Search past the grid: 3 settings tried, 1 of them fell out after one window. Figures "
            "are what "
            "settings are ranked by: the loss beyond, less 0.05 of the gain on copies.\n"
            "  Of those that llama.cpp runs, the lowest found is base,factor=3, around "
            "base,factor=2: 4.500; of the grid base,factor=2: 5.000.\n"
            "  Of those that llama.cpp does not run, the lowest found is cap,window=60, around "
            "cap,window=50: 3.500.\n");
}

TEST(SearchText, IsEmptyWhereNothingWasSearchedFor) {
  EXPECT_EQ(search_text(candidates_of({kAll[0], kAll[1]}), "llama.cpp"), "");
}

}  // namespace
}  // namespace ropewalk
