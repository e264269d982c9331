#include "ropewalk/study/study_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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

StudyLock::StudyLock(const std::string& study) : StudyLock(study, Untaken{}) {
  if (take()) return;
  throw Error(study, "the study is held by a living process", "process " + holder_,
              "wait for it, or name another file with --study");
}

std::unique_ptr<StudyLock> StudyLock::try_take(const std::string& study) {
  std::unique_ptr<StudyLock> lock(new StudyLock(study, Untaken{}));
  return lock->take() ? std::move(lock) : nullptr;
}

StudyLock::~StudyLock() {
  // Others may have taken us for dead.
  if (file_.is_open() && file_.is_named()) unlink(path_.c_str());
}

void StudyLock::give_sign() const { futimens(file_.descriptor(), nullptr); }

std::optional<std::chrono::nanoseconds> StudyLock::last_sign(const std::string& study) {
  // Opened, since a network's file system may answer for a name alone from memory.
  const int descriptor = open((study + "-lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct stat status = {};
  const bool known = fstat(descriptor, &status) == 0;
  close(descriptor);
  if (!known) return std::nullopt;
  return std::chrono::seconds(status.st_mtim.tv_sec) +
         std::chrono::nanoseconds(status.st_mtim.tv_nsec);
}

// False where a living process has it.
bool StudyLock::take() {
  while (try_lock()) {
    if (!file_.is_named()) continue;
    write_holder();
    return true;
  }
  return false;
}

bool StudyLock::try_lock() {
  NamedFile file(path_);
  if (!file.is_open()) throw Error(path_, "cannot be opened", std::strerror(errno));
  if (!is_lock(file.descriptor())) {
    throw Error(path_, "must be a lock of Ropewalk", "a file of another kind",
                "move that file, or name another with --study");
  }
  if (file.lock(LOCK_EX | LOCK_NB)) {
    file_ = std::move(file);
    return true;
  }
  std::array<char, 32> holder = {};
  const ssize_t size = pread(file.descriptor(), holder.data(), holder.size() - 1, 0);
  holder_ = size > 0 ? std::string(holder.data()) : "unknown";
  return false;
}

void StudyLock::write_holder() {
  const std::string own = std::to_string(getpid());
  const int file = file_.descriptor();
  if (ftruncate(file, 0) == 0 && pwrite(file, own.data(), own.size(), 0) >= 0) return;
  const int error = errno;
  unlink(path_.c_str());
  file_ = NamedFile();
  throw Error(path_, "cannot be written", std::strerror(error));
}

}  // namespace ropewalk
