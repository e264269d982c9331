#include "ropewalk/schemes/list_file.h"

#include <nlohmann/json.hpp>

#include "ropewalk/base/error.h"
#include "ropewalk/base/whole_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::json;

std::string read_bounded(const std::string& place, const std::string& path) {
  try {
    return read_whole_file(path, kMaxListFileBytes);
  } catch (const Error& error) {
    throw Error(place, error.rule(), path + (error.value().empty() ? "" : ", " + error.value()));
  }
}

void append_numbers(const std::string& place, const std::string& path, const Json& array,
                    std::vector<double>& numbers) {
  for (const Json& entry : array) {
    if (!entry.is_number()) throw Error(place, "must hold numbers only, in " + path, entry.dump());
    numbers.push_back(entry.get<double>());
  }
}

}  // namespace

std::vector<double> read_list_file(const std::string& place, const std::string& path, bool pairs) {
  const std::string text = read_bounded(place, path);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) throw Error(place, "must be a file that holds one JSON array", path);

  std::vector<double> numbers;
  if (!pairs) {
    append_numbers(place, path, json, numbers);
    return numbers;
  }
  for (const Json& pair : json) {
    if (!pair.is_array() || pair.size() != 2) {
      throw Error(place, "must hold [distance, value] pairs only, in " + path, pair.dump());
    }
    append_numbers(place, path, pair, numbers);
  }
  return numbers;
}

}  // namespace ropewalk
