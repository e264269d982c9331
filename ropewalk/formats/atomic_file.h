// A file that appears whole or not at all.
#ifndef ROPEWALK_FORMATS_ATOMIC_FILE_H_
#define ROPEWALK_FORMATS_ATOMIC_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ropewalk {

// Writes to a temporary file in the same directory and gives it the final name at the end, so that
// whatever has that name stays as it is until then, and stays for good where writing fails. Only a
// killed process leaves the temporary file behind, ".NAME.ropewalk-*", until the same name is
// written again. A file that is replaced hands on its permissions.
//
// Members throw Error naming the path, never the temporary file, where the system refuses.
class AtomicFile {
 public:
  // Throws Error too where `path` is there and no regular file.
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // removes the temporary file unless it was committed

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  uint64_t size() const { return size_; }

  // Hands all bytes to the system: what was written can be read at temporary_path().
  void flush();
  const std::string& temporary_path() const { return temporary_; }

  // Flushes to the disk, renames, and flushes the directory. Last call.
  void commit();

 private:
  std::string path_;
  std::string directory_;
  std::string temporary_;
  int descriptor_ = -1;
  mode_t mode_ = 0644;  // of the file when it has its name
  std::string buffer_;
  uint64_t size_ = 0;
};

// Throws Error where `output` is the same file as `original`, by whatever name or link.
void refuse_same_file(const std::string& original, const std::string& output);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_ATOMIC_FILE_H_
