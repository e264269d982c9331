// Which files of a model that lies in several are not there.
#ifndef ROPEWALK_FORMATS_MISSING_FILES_H_
#define ROPEWALK_FORMATS_MISSING_FILES_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace ropewalk {

struct MissingFiles {
  size_t first = 0;  // which one
  std::string
      others;  // "neither it nor b, c and 2 more", by names without folders; empty: it alone
};

// Nothing where all are there.
inline std::optional<MissingFiles> find_missing(std::span<const std::string> paths) {
  constexpr size_t kNamed = 8;
  std::optional<MissingFiles> missing;
  size_t count = 0;
  for (size_t k = 0; k < paths.size(); ++k) {
    std::error_code failed;
    if (std::filesystem::exists(paths[k], failed)) continue;
    if (!missing) {
      missing = MissingFiles{.first = k, .others = {}};
    } else if (++count <= kNamed) {
      const std::string name = std::filesystem::path(paths[k]).filename().string();
      missing->others += (count == 1 ? "neither it nor " : ", ") + name;
    }
  }
  if (count > kNamed) missing->others += " and " + std::to_string(count - kNamed) + " more";
  return missing;
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_MISSING_FILES_H_
