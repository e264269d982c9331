#include "ropewalk/formats/atomic_file.h"

#include <fcntl.h>
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
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string suffix;
  for (int i = 0; i < 8; ++i) suffix += kDigits[random() & 15];
  return suffix;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path target(path_);
  if (!target.has_filename()) throw Error(path_, "must name a file");
  struct stat status = {};
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error(path_, "must be a regular file, or not be there yet",
                S_ISDIR(status.st_mode) ? "a directory" : "");
  }
  directory_ = target.has_parent_path() ? target.parent_path().string() : ".";
  for (int trial = 0; descriptor_ < 0 && trial < kNameTrials; ++trial) {
    const std::string name = "." + target.filename().string() + ".ropewalk-" + random_suffix();
    temporary_ = (std::filesystem::path(directory_) / name).string();
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) throw Error(temporary_, "must be writable", errno_text());
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
    write_all(descriptor_, temporary_, text.data(), text.size());
  } else {
    buffer_ += text;
  }
}

void AtomicFile::flush() {
  write_all(descriptor_, temporary_, buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  sync(descriptor_, temporary_);
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
