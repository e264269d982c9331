#include "cli/measured_tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace ropewalk {
namespace {

using testing::HasSubstr;

ResultTable recall_table() {
  return {.name = "recall_passkey",
          .title = "Recall",
          .columns = {{.name = "scheme", .title = "setting"},
                      {.name = "place", .title = "depth"},
                      {.name = "length", .title = "length"},
                      {.name = "found", .title = "found"}}};
}

std::string text_of(const ResultTable& table) {
  StudySummary study;
  study.contents.records["table/" + table.name] = to_json(table).dump();
  return measured_text(study, {});
}

TEST(MeasuredTables, AGridHasTheRowsThatItsGroupsHave) {
  ResultTable table = recall_table();
  table.rows = {{std::string("declared"), std::string("0 %"), int64_t{256}, 0.25},
                {std::string("declared"), std::string("0 %"), int64_t{256}, 0.75},
                {std::string("declared"), std::string("50 %"), int64_t{512}, 0.5},
                {std::string("cap"), std::string("50 %"), int64_t{256}, std::monostate()}};
  EXPECT_THAT(text_of(table), HasSubstr("              256      512\n"
                                        "  declared\n"
                                        "    0 %      0.25        -\n"
                                        "    50 %        -     0.50\n"
                                        "  cap\n"
                                        "    50 %        -        -\n"));
}

// A line for each row, whatever they say.
TEST(MeasuredTables, ALongTableTakesNoLongerThanItsRows) {
  ResultTable table = recall_table();
  constexpr int kRows = 20000;
  for (int k = 0; k < kRows; ++k) {
    const std::string name = std::to_string(k);
    table.rows.push_back({"s" + name, "p" + name, int64_t{k}, 0.5});
  }
  const std::string text = text_of(table);
  EXPECT_THAT(text, HasSubstr("  s19999\n    p19999"));
  EXPECT_LE(std::ranges::count(text, '\n'), 2 * kRows + 10);
}

TEST(MeasuredTables, LinesOfManySeriesAreTheirOwn) {
  ResultTable table{.name = "bias_curve",
                    .title = "Bias curve",
                    .columns = {{.name = "curve", .title = "curve"},
                                {.name = "distance", .title = "distance"},
                                {.name = "bias", .title = "B(d)"}}};
  table.rows = {{std::string("a"), int64_t{1}, 0.0},
                {std::string("b"), int64_t{1}, 1.0},
                {std::string("a"), int64_t{2}, 1.0},
                {std::string("b"), int64_t{2}, 0.0}};
  const std::string text = text_of(table);
  EXPECT_THAT(text, HasSubstr("\u2581\u2588\n"));
  EXPECT_THAT(text, HasSubstr("\u2588\u2581\n"));
}

}  // namespace
}  // namespace ropewalk
