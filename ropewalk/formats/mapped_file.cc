#include "ropewalk/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "ropewalk/base/descriptor.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  // Non-blocking, so that a named pipe is refused instead of waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw Error(path, "must be readable", errno_text());
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) throw Error(path, "must be readable", errno_text());
  if (!S_ISREG(status.st_mode)) {
    throw Error(path, "must be a regular file", S_ISDIR(status.st_mode) ? "a directory" : "");
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile(path, {});
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) throw Error(path, "must be mappable", errno_text());
  return MappedFile(path, {static_cast<const std::byte*>(address), size});
}

void MappedFile::release(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace ropewalk
