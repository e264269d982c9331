#include "cli/golden/cases.h"

#include <nlohmann/json.hpp>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk::golden {
namespace {

using Path = std::filesystem::path;

void add_cases(const Path& folder, std::set<Path>& files) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Path name = entry.path().filename();
    if (name.extension() != ".json" || name == "index.json" || name == "atlas.json") continue;
    files.insert(entry.path());
  }
}

// index.json: [{"id": ..., "split": folder}, ...]; of folders that are there.
void add_listed(const Path& folder, std::set<Path>& files) {
  for (const auto& entry : load_json((folder / "index.json").string())) {
    if (!entry.is_object() || !entry.contains("id")) continue;
    const Path split = folder / entry.value("split", "");
    if (!std::filesystem::is_directory(split)) continue;
    files.insert((split / (entry["id"].get<std::string>() + ".json")).lexically_normal());
  }
}

}  // namespace

std::vector<std::filesystem::path> case_files(const Path& given) {
  const Path folder = given.lexically_normal();
  if (!std::filesystem::is_directory(folder)) {
    throw Error(folder.string(), "must be a folder that can be read");
  }
  std::set<Path> files;
  add_cases(folder, files);
  const bool has_index = std::filesystem::is_regular_file(folder / "index.json");
  if (has_index || files.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_directory()) add_cases(entry.path(), files);
    }
  }
  if (has_index) add_listed(folder, files);
  if (files.empty()) throw Error(folder.string(), "must hold cases", "none");
  return {files.begin(), files.end()};
}

}  // namespace ropewalk::golden
