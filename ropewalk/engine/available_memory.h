// How much memory the machine can give to this process.
#ifndef ROPEWALK_ENGINE_AVAILABLE_MEMORY_H_
#define ROPEWALK_ENGINE_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace ropewalk {

struct AvailableMemory {
  int64_t bytes = 0;
  std::string source;  // who sets the bound: "MemAvailable", or the file of the cgroup's limit
};

// The least of MemAvailable and of what each cgroup around the process (versions 1 and 2) leaves below
// its limit; pages of files that it could drop count as free. Nothing where the system tells none.
//   root  where /proc and /sys lie, for tests
std::optional<AvailableMemory> available_memory(const std::string& root = "");

// What of this process is resident by now, in bytes; 0 where the system does not tell.
int64_t resident_memory();

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_AVAILABLE_MEMORY_H_
