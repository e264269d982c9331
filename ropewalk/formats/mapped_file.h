// A file seen as bytes, without reading it.
#ifndef ROPEWALK_FORMATS_MAPPED_FILE_H_
#define ROPEWALK_FORMATS_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

namespace ropewalk {

// A regular file mapped read-only for as long as the object lives. Moving it does not move the
// bytes. Whoever truncates the file meanwhile takes the pages away (SIGBUS): the owner of the file
// must not.
class MappedFile {
 public:
  // Throws Error naming `path` when it cannot be opened or is no regular file. An empty file maps
  // to an empty span.
  static MappedFile open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Gives back the memory that holds `bytes`, as far as they are whole pages of the mapping; reading
  // them fetches them from the file again.
  static void release(std::span<const std::byte> bytes);

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes);

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_MAPPED_FILE_H_
