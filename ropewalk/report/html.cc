// The page as one HTML file.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "ropewalk/report/assets.h"
#include "ropewalk/report/page.h"
#include "ropewalk/report/pictures.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTallRows = 14;  // more get a box of their own that scrolls
constexpr size_t kWords = 16;     // characters: more go over lines of some width

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Text inside <script>: nothing in it may end it.
std::string script_text(std::string text) {
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6)
    text.replace(at, 1, "\\u003c");
  return text;
}

bool is_number(const ResultValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

// A column without any text, and of numbers if it has any values.
bool is_numeric(const ResultTable& table, size_t column) {
  bool any = table.columns[column].digits >= 0 || !table.columns[column].unit.empty();
  for (const auto& row : table.rows) {
    any = any || is_number(row[column]);
    if (!is_number(row[column]) && !std::holds_alternative<std::monostate>(row[column]))
      return false;
  }
  return any;
}

// Names of settings part behind their signs, not within words.
std::string breakable(std::string_view text) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    out += escaped(text.substr(k, 1));
    const bool sign = text[k] == ',' || text[k] == '+' || text[k] == ':';
    if (sign && k + 1 < text.size() && text[k + 1] != ' ') out += "<wbr>";
  }
  return out;
}

// Text as it is, but of many empty lines their count.
std::string quoted(const std::string& text) {
  constexpr size_t kMostLines = 3;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of('\n', at), text.size());
    if (end - at > kMostLines + 1) {
      out += fmt::format("\n<span class=\"gap\">{} empty lines</span>\n", end - at - 1);
    } else {
      out.append(end - at, '\n');
    }
    at = std::min(text.find('\n', end), text.size());
    out += escaped(std::string_view(text).substr(end, at - end));
  }
  return out;
}

std::string cell(const ResultValue& value, const ResultColumn& column, bool numeric, bool head) {
  const std::string text = shown(value, column);
  constexpr size_t kLong = 40;  // characters that get lines of their own
  if (head) return "<th scope=\"row\">" + breakable(text) + "</th>";
  if (!numeric) {
    const char* kind = text.size() > kLong    ? " class=\"long\""
                       : text.size() > kWords ? " class=\"words\""
                                              : "";
    return fmt::format("<td{}>{}</td>", kind, breakable(text));
  }
  std::string full;
  if (const auto* number = std::get_if<double>(&value)) full = fmt::format("{}", *number);
  if (const auto* whole = std::get_if<int64_t>(&value)) full = std::to_string(*whole);
  return "<td class=\"n\" data-v=\"" + full + "\">" + text + "</td>";
}

const char* column_class(const ResultColumn& column, bool numeric) {
  if (column.title.size() > kWords) return numeric ? " class=\"n words\"" : " class=\"words\"";
  return numeric ? " class=\"n\"" : "";
}

// What its box is styled by.
std::string box_classes(const ResultTable& table) {
  constexpr size_t kFewColumns = 6;    // that fit side by side on paper
  constexpr size_t kManyColumns = 10;  // that need small letters there
  std::string classes = "scroll";
  if (table.rows.size() > kTallRows) classes += " tall";
  if (table.columns.size() <= kFewColumns) classes += " few";
  if (table.columns.size() >= kManyColumns) classes += " many";
  return classes;
}

//   picture  its section's id; empty where no picture shows the table
//   series   column that says which series a row is of, which paper leaves out where it is not shown
std::string table_html(const ResultTable& table, const std::string& picture,
                       const std::string& series) {
  const size_t of_series = table.column(series);
  std::vector<bool> numeric;
  for (size_t c = 0; c < table.columns.size(); ++c) numeric.push_back(is_numeric(table, c));
  // The first column of words names the rows.
  const auto words = std::find(numeric.begin(), numeric.end(), false) - numeric.begin();
  std::string out;
  if (!table.about.empty()) out += "<p>" + breakable(table.about) + "</p>\n";
  out += fmt::format(
      "<div class=\"{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n"
      "<caption>{}</caption>\n<thead><tr>",
      box_classes(table), escaped(table.title), escaped(table.title));
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const ResultColumn& column = table.columns[c];
    out += fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button>{}</th>",
                       column_class(column, numeric[c]), breakable(column.title),
                       column.unit.empty() ? "" : "<small>" + escaped(column.unit) + "</small>");
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    const auto* name = of_series < row.size() ? std::get_if<std::string>(&row[of_series]) : nullptr;
    out += name == nullptr ? "<tr>" : "<tr data-s=\"" + escaped(*name) + "\">";
    for (size_t c = 0; c < row.size(); ++c) {
      out += cell(row[c], table.columns[c], numeric[c], static_cast<ptrdiff_t>(c) == words);
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n<div class=\"tools\">";
  out += fmt::format("<button type=\"button\" data-csv=\"{}\">Save these numbers (CSV)</button>",
                     table.name);
  if (!picture.empty()) {
    out += fmt::format(
        "<button type=\"button\" data-spec=\"{}\">Save the picture (Vega-Lite "
        "JSON)</button>",
        picture);
  }
  return out + "</div>\n";
}

std::string shape_path(const std::string& shape) {
  if (shape == "square") return "M-4-4h8v8h-8z";
  if (shape == "triangle-up") return "M0-5L5 4H-5z";
  if (shape == "triangle-down") return "M0 5L5-4H-5z";
  if (shape == "diamond") return "M0-5.5L5.5 0 0 5.5-5.5 0z";
  if (shape == "cross") return "M-5-1.7h3.3v-3.3h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3z";
  return "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z";
}

std::string choice(const Series& series, size_t index) {
  const SeriesLook look = look_of(index);
  std::string dash;
  for (const int length : look.dash) dash += std::to_string(length) + " ";
  return fmt::format(
      "<label{}><input type=\"checkbox\" data-series=\"{}\"{}><svg class=\"swatch\" width=\"40\" "
      "height=\"14\" aria-hidden=\"true\"><path d=\"M0 7H40\" stroke=\"var(--s{})\" "
      "stroke-width=\"2\" stroke-dasharray=\"{}\"/><path d=\"{}\" transform=\"translate(20 7)\" "
      "fill=\"var(--s{})\"/></svg><span>{}{}</span></label>\n",
      series.shown ? "" : " class=\"unchosen\"", escaped(series.name),
      series.shown ? " checked" : "", index % kLookColors, dash, shape_path(look.shape),
      index % kLookColors, breakable(series.name),
      series.role.empty() ? "" : " <em>(" + escaped(series.role) + ")</em>");
}

// Names of series that the rows have.
std::set<std::string> present(const ResultTable& table, const std::string& column) {
  std::set<std::string> names;
  const size_t c = table.column(column);
  for (const auto& row : table.rows) {
    if (c >= row.size()) break;
    if (const auto* name = std::get_if<std::string>(&row[c])) names.insert(*name);
  }
  return names;
}

std::string choices(const Page& page, const std::set<std::string>& names) {
  std::string first;
  std::string others;
  size_t n_others = 0;
  for (size_t k = 0; k < page.series.size(); ++k) {
    const Series& series = page.series[k];
    if (!names.contains(series.name)) continue;
    const bool is_first = series.shown || !series.role.empty();
    (is_first ? first : others) += choice(series, k);
    n_others += is_first ? 0 : 1;
  }
  std::string out =
      "<fieldset><legend>Settings shown</legend>\n<div class=\"choices\">\n" + first + "</div>\n";
  if (!others.empty()) {
    out += fmt::format(
        "<details class=\"others\"><summary>{} more setting{}</summary>\n<div "
        "class=\"choices\">\n{}</div>\n</details>\n",
        n_others, n_others == 1 ? "" : "s", others);
  }
  return out + "</fieldset>\n";
}

// Without the rows of series that the page does not list.
ResultTable listed(const Page& page, const ResultTable& table, const std::string& column) {
  ResultTable kept = table;
  const size_t c = table.column(column);
  if (c >= table.columns.size()) return kept;
  std::set<std::string> names;
  for (const Series& series : page.series) names.insert(series.name);
  std::erase_if(kept.rows, [&](const std::vector<ResultValue>& row) {
    const auto* name = std::get_if<std::string>(&row[c]);
    return name != nullptr && !names.contains(*name);
  });
  return kept;
}

std::string figure(const Page& page, const Section& section, const ResultTable* table) {
  const Picture& picture = *section.picture;
  std::string out = "<figure>\n";
  if (!picture.series.empty() && table != nullptr)
    out += choices(page, present(*table, picture.series));
  if (can_draw()) {
    out += "<div class=\"picture\" role=\"img\" aria-label=\"" + escaped(picture.description) +
           "\"></div>\n<noscript><p class=\"no-picture\">Pictures need JavaScript; the numbers are "
           "below.</p></noscript>\n";
  } else {
    out +=
        "<p class=\"no-picture\">This Ropewalk was built without Vega, which draws the pictures: "
        "scripts/build.sh fetches it where npm is reachable. The numbers are below.</p>\n";
  }
  return out + "</figure>\n";
}

std::string section_html(const Page& page, const Section& section, Json& tables) {
  std::string out =
      fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", section.id, escaped(section.title));
  for (const std::string& text : section.paragraphs) out += "<p>" + breakable(text) + "</p>\n";
  for (const std::string& text : section.cautions)
    out += "<p class=\"caution\">" + breakable(text) + "</p>\n";
  for (const auto& [title, text] : section.quotes)
    out += "<h3>" + breakable(title) + "</h3>\n<blockquote>" + quoted(text) + "</blockquote>\n";
  std::vector<ResultTable> kept;
  for (const ResultTable& table : section.tables) {
    const bool drawn = section.picture && section.picture->table == table.name;
    kept.push_back(drawn ? listed(page, table, section.picture->series) : table);
    tables[table.name] = rows_json(kept.back());
  }
  if (section.picture) {
    const auto table = std::find_if(kept.begin(), kept.end(), [&](const ResultTable& one) {
      return one.name == section.picture->table;
    });
    out += figure(page, section, table == kept.end() ? nullptr : &*table);
  }
  for (const ResultTable& table : kept) {
    const bool drawn = section.picture && section.picture->table == table.name;
    const std::string html =
        drawn ? table_html(table, section.id, section.picture->series) : table_html(table, "", "");
    const bool lid = drawn && !section.tables_open;
    out += lid ? "<details class=\"numbers\"><summary>The numbers of this picture</summary>\n" +
                     html + "</details>\n"
               : html;
  }
  for (const auto& [purpose, line] : section.commands) {
    out += "<h3>" + breakable(purpose) + "</h3>\n<pre tabindex=\"0\"><code>" + escaped(line) +
           "</code></pre>\n";
  }
  return out + "</section>\n";
}

Json page_data(const Page& page, Json tables) {
  Json data = {{"series", Json::array()}, {"colors", Json::array()}, {"rule", kRuleColor}};
  for (const Series& series : page.series)
    data["series"].push_back({{"name", series.name}, {"shown", series.shown}});
  for (size_t k = 0; k < kLookColors; ++k) data["colors"].push_back(look_of(k).color);
  data["pictures"] = Json::object();
  for (const Section& section : page.sections) {
    if (!section.picture) continue;
    data["pictures"][section.id] = {{"spec", section.picture->spec},
                                    {"table", section.picture->table},
                                    {"series", section.picture->series}};
  }
  data["tables"] = std::move(tables);
  return data;
}

std::string head_html(const Page& page) {
  std::string out = fmt::format(
      "<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" content=\"light dark\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src "
      "data:\">\n<title>{}</title>\n<style>\n",
      escaped(page.title));
  out += kPageStyle;
  return out + "</style>\n</head>\n";
}

std::string body_html(const Page& page, const std::string& nav, const std::string& sections) {
  return fmt::format(
      "<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n<header>"
      "\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n</header>\n<nav aria-label=\"Sections\">\n<ul>"
      "\n{}</ul>\n</nav>\n<main id=\"content\">\n{}</main>\n<footer>\n<p>Made by Ropewalk.{}</p>\n"
      "</footer>\n",
      escaped(page.title), escaped(page.subtitle), nav, sections,
      can_draw()
          ? " Pictures are drawn by Vega and Vega-Lite, which this page carries with it; the "
            "licences of all their parts stand at the end of its source."
          : "");
}

std::string script_html(const char* attributes, std::string_view content) {
  return fmt::format("<script{}>\n{}</script>\n", attributes, content);
}

}  // namespace

std::string to_html(const Page& page) {
  std::string nav;
  std::string body;
  Json tables = Json::object();
  for (const Section& section : page.sections) {
    nav += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(section.title));
    body += section_html(page, section, tables);
  }
  std::string out(kHtmlBeginning);
  out += head_html(page) + body_html(page, nav, body);
  const Json data = page_data(page, std::move(tables));
  out += "<script type=\"application/json\" id=\"page-data\">" +
         script_text(data.dump(-1, ' ', false, Json::error_handler_t::replace)) + "</script>\n";
  if (can_draw()) out += script_html("", kVegaScript);
  out += script_html("", kPageScript);
  if (can_draw()) out += script_html(" type=\"text/plain\" id=\"licences\"", kVegaLicences);
  return out + "</body>\n</html>\n";
}

}  // namespace ropewalk
