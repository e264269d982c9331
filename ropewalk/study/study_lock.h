// The lock of a study, or of a name that a study is being written for.
#ifndef ROPEWALK_STUDY_STUDY_LOCK_H_
#define ROPEWALK_STUDY_STUDY_LOCK_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "ropewalk/study/named_file.h"

namespace ropewalk {

// A file of the study's name with "-lock" behind it, while this lives. The kernel drops the lock of a
// process that dies, however it dies; the number in the file only names the holder.
class StudyLock {
 public:
  // Throws Error, naming the holder, where a living process has it; and where that file is another.
  explicit StudyLock(const std::string& study);
  // Null where a living process has it.
  static std::unique_ptr<StudyLock> try_take(const std::string& study);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

  // A sign that the holder is at work: last_sign() of whoever waits for it changes.
  void give_sign() const;
  // The time of the last one by the clock of the file's machine: to be compared with itself alone.
  // Nothing where there is no such lock.
  static std::optional<std::chrono::nanoseconds> last_sign(const std::string& study);

 private:
  struct Untaken {};
  StudyLock(const std::string& study, Untaken /*unused*/) : path_(study + "-lock") {}

  bool take();
  bool try_lock();
  void write_holder();

  std::string path_;
  std::string holder_;  // where another has it
  NamedFile file_;      // open while it is held
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_STUDY_LOCK_H_
