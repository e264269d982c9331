#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/report/page.h"
#include "ropewalk/report/pictures.h"
#include "ropewalk/report/table.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

ResultTable some_table() {
  return {.name = "losses",
          .title = "Losses <of all>",
          .about = "Means.",
          .columns = {{.name = "scheme", .title = "setting"},
                      {.name = "loss", .title = "loss", .unit = "nats", .digits = 2},
                      {.name = "tokens", .title = "tokens"},
                      {.name = "good", .title = "good"}},
          .rows = {{std::string("cap,window=8"), 1.23456, int64_t{7}, true},
                   {std::string("a \"b\"\n</script><b>"), std::monostate(), int64_t{-1}, false},
                   {std::string("not listed"), std::nan(""), int64_t{0}, false}}};
}

Page some_page() {
  const std::vector<Series> series = {
      {.name = "cap,window=8", .role = "best & only", .shown = true},
      {.name = "a \"b\"\n</script><b>"}};
  Section section{.id = "loss",
                  .title = "Loss",
                  .paragraphs = {"less < more"},
                  .cautions = {"Doubt."},
                  .quotes = {{"who", "said  this"}},
                  .commands = {{"to do", "ropewalk --x 'y'"}}};
  section.picture =
      Picture{.table = "losses",
              .spec = line_spec({.x = {.column = "tokens", .title = "tokens", .is_log = true},
                                 .y = {.column = "loss", .title = "loss"},
                                 .series = "scheme",
                                 .x_rules = {{.at = 4, .text = "here"}}},
                                series),
              .description = "lines \"of\" loss",
              .series = "scheme"};
  section.tables = {some_table()};
  return {.title = "m.gguf: 4 to 8 tokens",
          .subtitle = "a model",
          .series = series,
          .sections = {section}};
}

std::string between(const std::string& text, const std::string& start, const std::string& end) {
  const size_t from = text.find(start);
  if (from == std::string::npos) return "";
  const size_t to = text.find(end, from + start.size());
  return text.substr(from + start.size(), to - from - start.size());
}

TEST(ResultTable, IsShownWithItsDecimals) {
  const ResultColumn two{.name = "x", .title = "x", .digits = 2};
  const ResultColumn change{.name = "x", .title = "x", .digits = 1, .is_signed = true};
  EXPECT_EQ(shown(1.23456, two), "1.23");
  EXPECT_EQ(shown(0.25, change), "+0.2");
  EXPECT_EQ(shown(int64_t{1234}, two), "1234");
  EXPECT_EQ(shown(std::monostate(), two), "-");
  EXPECT_EQ(shown(std::nan(""), two), "-");
  EXPECT_EQ(shown(true, two), "yes");
  EXPECT_EQ(shown(1234567.0, {.name = "x", .title = "x"}), "1.23457e+06");
}

TEST(ResultTable, CsvKeepsEveryDigitAndQuotesWhatItMust) {
  EXPECT_EQ(to_csv(some_table()),
            "scheme,loss,tokens,good\r\n"
            "\"cap,window=8\",1.23456,7,true\r\n"
            "\"a \"\"b\"\"\n</script><b>\",,-1,false\r\n"
            "not listed,,0,false\r\n");
}

TEST(ResultTable, JsonReadsBackAsTheSame) {
  const ResultTable table = some_table();
  const ResultTable again = table_from_json(to_json(table), "here");
  EXPECT_EQ(again.name, table.name);
  EXPECT_EQ(again.columns[1].unit, "nats");
  EXPECT_EQ(again.columns[1].digits, 2);
  EXPECT_EQ(again.columns[2].digits, -1);
  EXPECT_EQ(to_csv(again), to_csv(table));
}

TEST(ResultTable, WhatIsNoTableIsRefusedByPlace) {
  const Json sound = to_json(some_table());
  const auto refused = [](const Json& json) {
    try {
      table_from_json(json, "study: table/x");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(sound), "");
  for (const char* key : {"name", "title", "columns", "rows"}) {
    Json json = sound;
    json.erase(key);
    EXPECT_THAT(refused(json), HasSubstr("study: table/x")) << key;
    json[key] = 3;
    EXPECT_THAT(refused(json), HasSubstr("study: table/x")) << key;
  }
  Json json = sound;
  json["name"] = "../evil";
  EXPECT_THAT(refused(json), HasSubstr("letters, digits and _"));
  json = sound;
  json["rows"][0]["loss"] = Json::array({1});
  EXPECT_THAT(refused(json), HasSubstr("a number, a text"));
  json = sound;
  json["columns"][1]["digits"] = 1e300;
  EXPECT_THAT(refused(json), HasSubstr("digits: must be 0 to 17"));
  json = sound;
  json["rows"][0].erase("loss");
  EXPECT_EQ(refused(json), "") << "a value may be missing";
}

TEST(Looks, DifferAmongTheFirst120AndBetweenNeighbours) {
  std::set<std::tuple<std::string, std::vector<int>, std::string>> seen;
  for (size_t k = 0; k < kDifferentLooks; ++k) {
    const SeriesLook look = look_of(k);
    const SeriesLook next = look_of(k + 1);
    EXPECT_TRUE(seen.emplace(look.color, look.dash, look.shape).second) << k;
    EXPECT_TRUE(look.color != next.color && look.dash != next.dash && look.shape != next.shape)
        << k;
  }
}

TEST(Page, JsonHasPicturesThatAnyoneCanDraw) {
  const Json json = to_json(some_page());
  const Json& spec = json.at("pictures").at("loss");
  EXPECT_THAT(spec.at("$schema").get<std::string>(), HasSubstr("vega-lite"));
  EXPECT_EQ(spec.at("data").at("values").size(), 3u);
  EXPECT_EQ(spec.at("data").at("values")[1].at("loss"), nullptr);
  EXPECT_EQ(spec.at("params")[0].at("value"), Json::array({"cap,window=8"}));
  EXPECT_EQ(json.at("tables").at("losses").at("rows").size(), 3u);
  EXPECT_EQ(json.at("sections")[0].at("cautions")[0], "Doubt.");
}

TEST(Table, AWrongTypeIsToldInWords) {
  Json json = to_json(some_table());
  json["name"] = 1;
  try {
    table_from_json(json, "here");
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "here: must be a table as Ropewalk writes it, got type must be string, but is number");
  }
}

TEST(Page, EveryFormIsKnownByItsBeginning) {
  const Page page = some_page();
  EXPECT_THAT(to_html(page), testing::StartsWith(std::string(kHtmlBeginning)));
  EXPECT_THAT(to_json(page).dump(1), testing::StartsWith(std::string(kJsonBeginning)));
  EXPECT_THAT(whole_spec(page.sections[0]).dump(1),
              testing::StartsWith(std::string(kSpecBeginning)));
}

TEST(Pictures, AGridOfGroupsHasARowForEachTitle) {
  const Json spec =
      heat_spec({.x = {"length", "length"},
                 .y = {"place", "depth"},
                 .value = {"found", "found"},
                 .highest = 0.5,
                 .group = {"scheme", "setting"},
                 .groups = {{"declared", {"0 %", "50 %"}}, {"cap,window=8", {"0 %"}}}});
  const Json& domain = spec.at("layer")[0].at("encoding").at("y").at("scale").at("domain");
  ASSERT_EQ(domain.size(), 5u);
  EXPECT_EQ(std::set<Json>(domain.begin(), domain.end()).size(), 5u)
      << "equal depths are rows apart";
  EXPECT_EQ(spec.at("transform")[0].at("calculate"), "datum.place + '  ' + datum.scheme");
  EXPECT_EQ(domain[1], "0 %  declared");
  const Json& titles = spec.at("layer")[2].at("data").at("values");
  ASSERT_EQ(titles.size(), 2u);
  EXPECT_EQ(titles[1].at("group"), "cap,window=8");
  EXPECT_EQ(titles[1].at(spec.at("transform")[0].at("as")), domain[3]);
  EXPECT_EQ(spec.at("layer")[0].at("encoding").at("color").at("scale").at("domain"),
            Json::array({0, 0.5}));
}

TEST(Pictures, WordsBesideARuleKeepWithinThePicture) {
  const Json spec = line_spec({.x = {.column = "x", .title = "x"},
                               .y = {.column = "y", .title = "y"},
                               .series = "scheme",
                               .x_rules = {{.at = 4, .text = "a longer text"}},
                               .y_rules = {{.at = 4, .text = "another"}}},
                              {{.name = "one"}});
  size_t words = 0;
  for (const Json& layer : spec.at("layer")) {
    if (layer.at("mark").at("type") != "text") continue;
    ++words;
    EXPECT_THAT(layer.at("mark").at("limit").at("expr").get<std::string>(), HasSubstr("width"));
  }
  EXPECT_EQ(words, 2u);
  EXPECT_TRUE(spec.at("layer")[0].at("encoding").at("x").at("axis").contains("labelFlush"));
}

TEST(Pictures, SeriesOfThePageKeepTheirLooks) {
  const std::vector<Series> page = {{.name = "declared"}, {.name = "window"}, {.name = "cap"}};
  const std::vector<Series> own = {{.name = "cap"}, {.name = "other"}, {.name = "declared"}};
  const LinePicture picture{.x = {.column = "x", .title = "x"},
                            .y = {.column = "y", .title = "y"},
                            .series = "scheme",
                            .is_own = true};
  const Json encoding = with_looks(line_spec(picture, own), page).at("layer")[0].at("encoding");
  const auto range = [&](const char* channel) {
    return encoding.at(channel).at("scale").at("range");
  };
  EXPECT_EQ(range("color"), Json::array({look_of(2).color, look_of(3).color, look_of(0).color}));
  EXPECT_EQ(range("strokeDash"), Json::array({look_of(2).dash, look_of(3).dash, {1, 0}}));
  const Json strange = line_spec(picture, {{.name = "1-9"}, {.name = "10-99"}});
  EXPECT_EQ(with_looks(strange, page), strange) << "other series are left as they are";
}

std::vector<Series> numbered_series(size_t first, size_t count) {
  std::vector<Series> series;
  for (size_t k = first; k < first + count; ++k) series.push_back({.name = std::to_string(k)});
  return series;
}

// With the looks of a page of n_page series, in the order of `own`.
std::vector<SeriesLook> looks_in(const std::vector<Series>& own, size_t n_page) {
  const Json spec = with_looks(line_spec({.x = {.column = "x", .title = "x"},
                                          .y = {.column = "y", .title = "y"},
                                          .series = "scheme",
                                          .is_own = true},
                                         own),
                               numbered_series(0, n_page));
  const Json& layers = spec.at("layer");
  const auto range = [](const Json& layer, const char* channel) {
    return layer.at("encoding").at(channel).at("scale").at("range");
  };
  std::vector<SeriesLook> looks;
  for (size_t k = 0; k < own.size(); ++k) {
    looks.push_back({.color = range(layers[0], "color")[k],
                     .dash = range(layers[0], "strokeDash")[k],
                     .shape = range(layers[1], "shape")[k]});
  }
  return looks;
}

TEST(Pictures, NoTwoSeriesShareAColourWhileOthersAreLeft) {
  const std::vector<Series> own = {
      {.name = "stranger"}, {.name = "11"}, {.name = "3"}, {.name = "19"}, {.name = "0"}};
  const std::vector<SeriesLook> looks = looks_in(own, 20);
  std::set<std::string> colors;
  for (const SeriesLook& look : looks) colors.insert(look.color);
  EXPECT_EQ(colors.size(), own.size());
  EXPECT_EQ(looks[2].color, look_of(3).color) << "the page's first ones keep theirs";
  EXPECT_EQ(looks[4].color, look_of(0).color);
}

TEST(Pictures, NoTwoSeriesAreAlikeWhateverThePageHas) {
  for (const size_t n_page : {1, 7, 19, 130}) {
    const std::vector<Series> own = numbered_series(n_page / 2, kDifferentLooks);
    const std::vector<SeriesLook> looks = looks_in(own, n_page);
    EXPECT_EQ(std::set<SeriesLook>(looks.begin(), looks.end()).size(), kDifferentLooks) << n_page;
  }
}

TEST(Page, HtmlEscapesAndAsksForNothing) {
  const std::string html = to_html(some_page());
  EXPECT_THAT(html, HasSubstr("less &lt; more"));
  EXPECT_THAT(html, HasSubstr("<em>(best &amp; only)</em>"));
  EXPECT_THAT(html, HasSubstr("data-v=\"1.23456\">1.23</td>"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  const std::string head = html.substr(0, html.find("<script>"));
  EXPECT_THAT(head, Not(HasSubstr("</script><b>"))) << "a text must not end the data's script";
  for (const char* asks : {"<link", " src=", "@import", "url("})
    EXPECT_THAT(head, Not(HasSubstr(asks)));
}

TEST(Page, LongNamesPartBehindTheirSignsAndEmptyLinesAreCounted) {
  Page page = some_page();
  page.sections[0].quotes = {{"who", "a\n\nb\n\n\n\n\n\n<c"}};
  const std::string html = to_html(page);
  EXPECT_THAT(html, HasSubstr("<span>cap,<wbr>window=8"));
  EXPECT_THAT(html, HasSubstr("a\n\nb\n<span class=\"gap\">5 empty lines</span>\n&lt;c"));
}

TEST(Page, HtmlCarriesItsDataAndOnlyListedSeries) {
  const std::string html = to_html(some_page());
  const Json data = Json::parse(
      between(html, "<script type=\"application/json\" id=\"page-data\">", "</script>"));
  EXPECT_EQ(data.at("tables").at("losses").size(), 2u);
  EXPECT_EQ(data.at("pictures").at("loss").at("table"), "losses");
  EXPECT_THAT(html, Not(HasSubstr("not listed")));
}

TEST(Page, EveryPictureSaysWhatItNeedsWhereItCannotBeDrawn) {
  const std::string html = to_html(some_page());
  if (can_draw()) {
    EXPECT_THAT(html, HasSubstr("id=\"licences\""));
    EXPECT_THAT(html, HasSubstr("University of Washington Interactive Data Lab"));
    EXPECT_THAT(html, HasSubstr("vegaEmbed="));
    EXPECT_THAT(html, HasSubstr("aria-label=\"lines &quot;of&quot; loss\""));
  } else {
    EXPECT_THAT(html, HasSubstr("scripts/build.sh fetches it"));
  }
}

TEST(Page, APictureWithoutItsTableAndAnEmptyTableAreSound) {
  Page page = some_page();
  page.sections[0].tables.clear();
  EXPECT_THAT(to_html(page), HasSubstr("</html>"));
  page.sections[0].tables = {some_table()};
  page.sections[0].tables[0].rows.clear();
  EXPECT_THAT(to_html(page), HasSubstr("</html>"));
  EXPECT_EQ(to_json(page).at("pictures").at("loss").at("data").at("values").size(), 0u);
}

}  // namespace
}  // namespace ropewalk
