#include "ropewalk/base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ropewalk/base/descriptor.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr size_t kFirstBytes = size_t{1} << 16;  // doubled as the text grows

Error unreadable(const std::string& place) {
  return {place, "must be readable", std::generic_category().message(errno)};
}

}  // namespace

std::string read_whole_stream(int descriptor, const std::string& place, size_t most) {
  std::string text;
  for (size_t used = 0;;) {
    text.resize(std::min(std::max(kFirstBytes, 2 * used), most + 1));
    const ssize_t count = read(descriptor, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw unreadable(place);
    used += static_cast<size_t>(count);
    if (used > most) throw Error(place, "must hold at most " + std::to_string(most) + " bytes");
    if (count > 0) continue;
    text.resize(used);
    return text;
  }
}

std::string read_whole_file(const std::string& path, size_t most) {
  // Opening a pipe waits for its writer unless told not to; reading then ends where there is none.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw unreadable(path);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw Error(path, "must be a regular file or a pipe",
                S_ISDIR(status.st_mode) ? "a directory" : "");
  }
  if (fcntl(file.get(), F_SETFL, 0) != 0) throw unreadable(path);
  return read_whole_stream(file.get(), path, most);
}

}  // namespace ropewalk
