// A file by which processes lock each other out: it lives by its name.
#ifndef ROPEWALK_STUDY_NAMED_FILE_H_
#define ROPEWALK_STUDY_NAMED_FILE_H_

#include <string>

namespace ropewalk {

// Open for reading and writing, made where it is not there, and closed with this. Whoever held its
// lock before may have removed it between our opening and our locking: what is locked by its name is
// what is_named() afterwards.
class NamedFile {
 public:
  NamedFile() = default;
  // errno says why it is not open.
  explicit NamedFile(const std::string& path);
  ~NamedFile();
  NamedFile(NamedFile&& other) noexcept;
  NamedFile& operator=(NamedFile&& other) noexcept;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // As flock() has it; errno says why where it is false.
  bool lock(int operation) const;
  bool is_named() const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_NAMED_FILE_H_
