// ropewalk-golden: computes every case of a folder of golden values with the library, and says
// where it differs. Exit status 0: all pass; 1: some do not; 2: the folder cannot be read, or the
// command line was not understood.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/golden/cases.h"
#include "cli/golden/compute.h"
#include "cli/golden/value.h"
#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"

namespace {

using ropewalk::golden::Failure;
using ropewalk::golden::Json;
using ropewalk::golden::Value;

constexpr int kFailures = 1;
constexpr int kUnreadable = 2;

// One case, computed and compared.
struct Result {
  std::string id;
  std::string kind;
  std::string rule;
  Json values = Json::object();
  std::vector<Failure> failures;

  bool passed() const {
    return std::ranges::all_of(failures, [](const Failure& failure) { return failure.is_note; });
  }
};

std::string text_field(const Json& golden, const char* name) {
  const auto found = golden.find(name);
  return found != golden.end() && found->is_string() ? found->get<std::string>() : "";
}

Result run_case(const std::filesystem::path& file) {
  Result result{.id = file.stem().string()};
  try {
    const Json golden = ropewalk::load_json(file.string());
    if (!golden.is_object()) throw ropewalk::Error(file.string(), "must be an object");
    if (const std::string id = text_field(golden, "id"); !id.empty()) result.id = id;
    result.kind = text_field(golden, "kind");
    result.rule = text_field(golden, "rule");
    const Value computed = ropewalk::golden::compute(golden);
    result.values = computed.to_json();
    result.failures = ropewalk::golden::compare(computed, golden, ropewalk::golden::given_fields());
  } catch (const std::bad_alloc&) {
    result.failures.push_back({"", "asks for more memory than there is"});
  } catch (const std::length_error&) {
    result.failures.push_back({"", "asks for more memory than there can be"});
  } catch (const std::exception& error) {
    result.failures.push_back({"", error.what()});
  }
  return result;
}

void print_failures(const Result& result) {
  for (const Failure& failure : result.failures) {
    fmt::print("{} {}: {}{}{}\n", failure.is_note ? "NOTE" : "FAIL", result.id, failure.where,
               failure.where.empty() ? "" : ": ", failure.what);
  }
}

struct Count {
  int passed = 0;
  int total = 0;
};

void print_counts(const std::vector<Result>& results) {
  std::map<std::string, Count> by_rule;
  Count all;
  for (const Result& result : results) {
    const std::string rule = result.rule.empty() ? "(no rule)" : result.rule;
    for (Count* const count : {&by_rule[rule], &all}) {
      ++count->total;
      if (result.passed()) ++count->passed;
    }
  }
  for (const auto& [rule, count] : by_rule) {
    fmt::print("{:<28} {:>4} of {:>4}\n", rule, count.passed, count.total);
  }
  fmt::print("{:<28} {:>4} of {:>4}\n", "all", all.passed, all.total);
}

void print_json(const std::vector<Result>& results) {
  Json list = Json::array();
  for (const Result& result : results) {
    Json entry = {{"id", result.id}, {"kind", result.kind}, {"rule", result.rule}};
    for (const auto& [name, value] : result.values.items()) entry[name] = value;
    for (const char* const name : {"failures", "notes"}) entry[name] = Json::array();
    for (const Failure& failure : result.failures) {
      entry[failure.is_note ? "notes" : "failures"].push_back(
          {{"field", failure.where}, {"text", failure.what}});
    }
    list.push_back(std::move(entry));
  }
  fmt::print("{}\n", list.dump(1, ' ', false, Json::error_handler_t::replace));
}

int run(const std::string& folder, bool json) {
  std::vector<Result> results;
  for (const auto& file : ropewalk::golden::case_files(folder)) results.push_back(run_case(file));
  if (json) {
    print_json(results);
  } else {
    for (const Result& result : results) print_failures(result);
    print_counts(results);
  }
  if (std::fflush(stdout) != 0) throw ropewalk::Error("standard output", "cannot be written");
  for (const Result& result : results) {
    if (!result.passed()) return kFailures;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Computes every golden case of a folder and says where it differs.",
               "ropewalk-golden");
  std::string folder;
  bool json = false;
  app.add_option("DIR", folder, "folder of cases, or of folders of them beside an index.json")
      ->required();
  app.add_flag("--json", json, "print the computed values under the cases' own field names");
  try {
    app.parse(argc, argv);
    return run(folder, json);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUnreadable;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "ropewalk-golden: %s\n", error.what());
    return kUnreadable;
  }
}
