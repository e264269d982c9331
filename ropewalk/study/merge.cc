#include "ropewalk/study/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/study/database.h"
#include "ropewalk/study/record.h"
#include "ropewalk/study/study_lock.h"

namespace ropewalk {
namespace {

void check_identity(const StudyContents& a, const StudyContents& b) {
  std::map<std::string, std::string> first(a.identity.begin(), a.identity.end());
  std::map<std::string, std::string> second(b.identity.begin(), b.identity.end());
  for (const auto& [name, value] : first) second.try_emplace(name);
  for (const auto& [name, value] : second) {
    if (first[name] == value) continue;
    throw Error(b.path,
                fmt::format("the study is of another {} than {} ({})", name, a.path, first[name]),
                value.empty() ? "none" : value, "only studies of the same thing can be merged");
  }
}

void add_cell(const StudyContents& a, const StudyContents& b, const CellKey& key, const Cell& cell,
              std::map<CellKey, Cell>& cells) {
  const auto [place, is_new] = cells.try_emplace(key, cell);
  const std::vector<double>& losses = place->second.losses;
  if (is_new || losses == cell.losses) return;
  const auto differs =
      std::mismatch(losses.begin(), losses.end(), cell.losses.begin(), cell.losses.end());
  const std::string found = differs.first == losses.end() || differs.second == cell.losses.end()
                                ? fmt::format("{} and {} losses", losses.size(), cell.losses.size())
                                : fmt::format("{} and {} nats for token {}", *differs.first,
                                              *differs.second, differs.first - losses.begin() + 1);
  throw Error(b.path,
              fmt::format("contradicts {} on {}, {} text, window {}", a.path, key.scheme, key.text,
                          key.window + 1),
              found, "one of the two was not measured as it says: measure that cell again");
}

void join_scheme(const StudyContents& a, const StudyContents& b, const std::string& name,
                 std::map<std::string, std::string>& records) {
  const auto only = [&](const StudyContents& study) {
    return all_scheme_facts({.path = study.path, .records = {{name, study.records.at(name)}}})
        .front();
  };
  SchemeFacts facts = only(a);
  facts.finalist = facts.finalist || only(b).finalist;
  records[name] = to_json(facts);
}

// A window chooses where it chose in both, for else not every candidate ran it; what one held out
// and the other had no time for is held out.
void join_window(WindowFacts& window, const WindowFacts& other) {
  if (window.repeats.empty()) window.repeats = other.repeats;
  if (window.left_out == other.left_out && window.held_out == other.held_out) return;
  const auto chose_nothing = [](const WindowFacts& one) { return one.held_out != one.left_out; };
  window.left_out = !chose_nothing(window) || !chose_nothing(other);
  window.held_out = true;
}

std::map<std::string, std::string> merged_records(const StudyContents& a, const StudyContents& b) {
  std::map<std::string, std::string> records = a.records;
  for (const auto& [name, json] : b.records) {
    const bool is_new = records.try_emplace(name, json).second;
    if (is_new || records[name] == json) continue;
    if (name.starts_with(kSchemeRecords)) join_scheme(a, b, name, records);
  }
  StudyFacts facts = study_facts(a);
  const StudyFacts other = study_facts(b);
  facts.started = std::min(facts.started, other.started);
  facts.finished = facts.finished.empty() || other.finished.empty()
                       ? ""
                       : std::max(facts.finished, other.finished);
  for (size_t w = 0; w < std::min(facts.windows.size(), other.windows.size()); ++w)
    join_window(facts.windows[w], other.windows[w]);
  if (facts.left_out.empty()) facts.left_out = other.left_out;
  if (std::ranges::none_of(facts.windows, &WindowFacts::left_out)) facts.left_out.clear();
  records[kFactsRecord] = to_json(facts);
  records.erase(kOutcomeRecord);
  records.erase(kJobRecord);
  return records;
}

}  // namespace

StudyContents merged(StudyContents a, const StudyContents& b) {
  check_identity(a, b);
  std::map<CellKey, Cell> cells = a.cells;
  for (const auto& [key, cell] : b.cells) add_cell(a, b, key, cell, cells);
  a.records = merged_records(a, b);
  a.cells = std::move(cells);
  return a;
}

void write_study(const StudyContents& study, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const StudyLock lock(refuse_other_files(path));  // another may write the same name
  if (fs::exists(path, failed)) {
    throw Error(path, "must be a name that is free", "a study", "name another file");
  }
  const std::string part = path + "-part";
  if (fs::exists(part, failed)) {
    refuse_other_files(part);
    fs::remove(part, failed);  // of a run that was killed
  }
  try {
    StudyStore store(part, study.identity);
    store.insert_all(study.cells);
    store.put_records(study.records);
  } catch (...) {
    fs::remove(part, failed);
    throw;
  }
  fs::rename(part, path, failed);
  if (!failed) return;
  const std::string why = failed.message();
  fs::remove(part, failed);
  throw Error(path, "cannot be written", why);
}

}  // namespace ropewalk
