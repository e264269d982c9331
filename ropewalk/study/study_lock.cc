#include "ropewalk/study/study_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// A regular file that holds nothing but the number of a process, or nothing yet: no other file may be
// written over or removed.
bool is_lock(int descriptor) {
  struct stat status = {};
  std::array<char, 32> text = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1)
    return false;
  if (status.st_size >= static_cast<off_t>(text.size())) return false;
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return size >= 0 && std::all_of(text.begin(), text.begin() + size,
                                  [](char byte) { return byte >= '0' && byte <= '9'; });
}

}  // namespace

StudyLock::StudyLock(const std::string& study) : path_(study + "-lock") {
  do {
    take(study);
  } while (!is_still_there());
  const std::string own = std::to_string(getpid());
  if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, own.data(), own.size(), 0) < 0) {
    const int error = errno;
    unlink(path_.c_str());
    close(descriptor_);
    throw Error(path_, "cannot be written", std::strerror(error));
  }
}

StudyLock::~StudyLock() {
  unlink(path_.c_str());
  close(descriptor_);
}

void StudyLock::take(const std::string& study) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor_ < 0) throw Error(path_, "cannot be opened", std::strerror(errno));
  if (!is_lock(descriptor_)) {
    close(descriptor_);
    throw Error(path_, "must be a lock of Ropewalk", "a file of another kind",
                "move that file, or name another with --study");
  }
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  std::array<char, 32> holder = {};
  const ssize_t size = pread(descriptor_, holder.data(), holder.size() - 1, 0);
  close(descriptor_);
  throw Error(study, "the study is held by a living process",
              "process " + (size > 0 ? std::string(holder.data()) : "unknown"),
              "wait for it, or name another file with --study");
}

// Not where the holder before removed the file between our opening and our locking it.
bool StudyLock::is_still_there() {
  struct stat held = {};
  struct stat named = {};
  if (fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &named) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
    return true;
  }
  close(descriptor_);
  return false;
}

}  // namespace ropewalk
