#include "ropewalk/formats/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int kNameTrials = 100;
constexpr size_t kSuffixDigits = 8;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;
constexpr size_t kLongestStem = 200;  // bytes of the name that a temporary's repeats, of 255

std::string errno_text() { return std::generic_category().message(errno); }

void write_all(int descriptor, const std::string& path, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw Error(path, "must be writable", errno_text());
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

// Of a directory or a file, so that a crash of the machine does not lose what it holds.
void sync(int descriptor, const std::string& path) {
  if (fsync(descriptor) != 0) throw Error(path, "must reach the disk", errno_text());
}

std::string random_suffix() {
  std::random_device random;
  std::string suffix;
  for (size_t i = 0; i < kSuffixDigits; ++i) suffix += kDigits[random() & 15];
  return suffix;
}

// A living writer holds a lock on its temporary file, and the system drops that with the process,
// however it dies.
bool lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

bool is_temporary(const std::string& name, const std::string& stem) {
  return name.starts_with(stem) && name.size() == stem.size() + kSuffixDigits &&
         name.find_first_not_of(kDigits, stem.size()) == std::string::npos;
}

// The sticky bit, which means nothing on a file, marks a temporary: a file of the user's that has such
// a name, the model itself among them, does not have it.
constexpr mode_t kMark = S_ISVTX;

bool is_marked(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & kMark) != 0;
}

// Removes what killed writers of the same file left behind. What cannot be looked at is left alone.
void remove_abandoned(const std::filesystem::path& directory, const std::string& stem) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!is_temporary(entry->path().filename().string(), stem)) continue;
    const int descriptor =
        open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (is_marked(descriptor) && lock(descriptor)) unlink(entry->path().c_str());
    close(descriptor);
  }
}

// Whether somebody took the file for an abandoned one before it was locked.
bool is_removed(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path target(path_);
  if (!target.has_filename()) throw Error(path_, "must name a file");
  struct stat status = {};
  const bool replaces = stat(path_.c_str(), &status) == 0;
  if (replaces && !S_ISREG(status.st_mode)) {
    throw Error(path_, "must be a regular file, or not be there yet",
                S_ISDIR(status.st_mode) ? "a directory" : "");
  }
  directory_ = target.has_parent_path() ? target.parent_path().string() : ".";
  const std::string stem = "." + target.filename().string().substr(0, kLongestStem) + ".ropewalk-";
  remove_abandoned(directory_, stem);
  for (int trial = 0; descriptor_ < 0 && trial < kNameTrials; ++trial) {
    temporary_ = (std::filesystem::path(directory_) / (stem + random_suffix())).string();
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      if (errno != EEXIST) break;
    } else if (!lock(descriptor_) && errno == EWOULDBLOCK) {
      close(std::exchange(descriptor_, -1));
    } else if (is_removed(descriptor_)) {
      close(std::exchange(descriptor_, -1));
    }
  }
  if (descriptor_ < 0) throw Error(path_, "must be writable", errno_text());
  struct stat made = {};
  if (fstat(descriptor_, &made) == 0) mode_ = (replaces ? status : made).st_mode & kPermissions;
  // Where a file system refuses, an abandoned file is not known again, and stays.
  if (fchmod(descriptor_, mode_ | S_IRUSR | S_IWUSR | kMark) != 0) errno = 0;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::write(std::string_view text) {
  size_ += text.size();
  if (buffer_.size() + text.size() > kBufferBytes) flush();
  if (text.size() >= kBufferBytes) {
    write_all(descriptor_, path_, text.data(), text.size());
  } else {
    buffer_ += text;
  }
}

void AtomicFile::flush() {
  write_all(descriptor_, path_, buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (fchmod(descriptor_, mode_) != 0 && is_marked(descriptor_)) {
    throw Error(path_, "must take permissions", errno_text());
  }
  sync(descriptor_, path_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw Error(path_, "must be replaceable", errno_text());
  }
  close(std::exchange(descriptor_, -1));
  const int directory = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw Error(directory_, "must be readable", errno_text());
  try {
    sync(directory, directory_);
  } catch (...) {
    close(directory);
    throw;
  }
  close(directory);
}

void refuse_same_file(const std::string& original, const std::string& output) {
  struct stat first = {};
  struct stat second = {};
  if (stat(original.c_str(), &first) != 0 || stat(output.c_str(), &second) != 0) return;
  if (first.st_dev == second.st_dev && first.st_ino == second.st_ino) {
    throw Error("output", "must be another file than the model: the original is never modified",
                output);
  }
}

}  // namespace ropewalk
