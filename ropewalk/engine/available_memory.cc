// Sources: proc(5), cgroups(7), and the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and
// cgroup-v2.rst.
#include "ropewalk/engine/available_memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ropewalk {
namespace {

// The file's first word as a number; nothing where there is none: "max".
std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The number behind a name, of lines "name number" or "name: number kB".
std::optional<int64_t> read_field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return std::nullopt;
}

// How one version of cgroups names things.
struct Names {
  std::string mount;  // below the root
  std::string limit;
  std::string usage;
  std::string prefix;  // of the fields of memory.stat that count a group with those below it
};

const Names kFirst = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                      "total_"};
const Names kSecond = {"/sys/fs/cgroup", "memory.max", "memory.current", ""};

std::optional<AvailableMemory> left_in(const std::string& folder, const Names& names) {
  const std::string limit_file = folder + "/" + names.limit;
  const std::optional<int64_t> limit = read_number(limit_file);
  const std::optional<int64_t> usage = read_number(folder + "/" + names.usage);
  if (!limit || !usage) return std::nullopt;
  int64_t droppable = 0;
  for (const char* list : {"inactive_file", "active_file"})
    droppable += read_field(folder + "/memory.stat", names.prefix + list).value_or(0);
  const int64_t held = std::max<int64_t>(0, *usage - droppable);
  return AvailableMemory{.bytes = std::max<int64_t>(0, *limit - held), .source = limit_file};
}

void take_less(std::optional<AvailableMemory>& least, const std::optional<AvailableMemory>& other) {
  if (other && (!least || other->bytes < least->bytes)) least = other;
}

// Of a group and of all around it. In a container the path may be that of the machine outside: the
// groups that are not there are passed over.
void take_groups(const std::string& root, const Names& names, std::filesystem::path group,
                 std::optional<AvailableMemory>& least) {
  for (;; group = group.parent_path()) {
    take_less(least, left_in(root + names.mount + group.string(), names));
    if (!group.has_relative_path()) return;
  }
}

}  // namespace

std::optional<AvailableMemory> available_memory(const std::string& root) {
  std::optional<AvailableMemory> least;
  if (const auto kib = read_field(root + "/proc/meminfo", "MemAvailable:"))
    least = {.bytes = *kib * 1024, .source = "MemAvailable"};
  std::ifstream groups(root + "/proc/self/cgroup");  // "number:controllers:path"
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (controllers.empty()) take_groups(root, kSecond, path, least);
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      take_groups(root, kFirst, path, least);
  }
  return least;
}

int64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace ropewalk
