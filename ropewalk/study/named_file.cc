#include "ropewalk/study/named_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace ropewalk {

NamedFile::NamedFile(const std::string& path)
    : path_(path),
      descriptor_(
          open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)) {}

NamedFile::~NamedFile() {
  if (is_open()) close(descriptor_);
}

NamedFile::NamedFile(NamedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

NamedFile& NamedFile::operator=(NamedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool NamedFile::lock(int operation) const { return flock(descriptor_, operation) == 0; }

bool NamedFile::is_named() const {
  struct stat held = {};
  struct stat named = {};
  return fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace ropewalk
