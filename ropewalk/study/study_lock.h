// The lock of a study, or of a name that a study is being written for.
#ifndef ROPEWALK_STUDY_STUDY_LOCK_H_
#define ROPEWALK_STUDY_STUDY_LOCK_H_

#include <string>

namespace ropewalk {

// A file of the study's name with "-lock" behind it, while this lives. The kernel drops the lock of a
// process that dies, however it dies; the number in the file only names the holder.
class StudyLock {
 public:
  // Throws Error, naming the holder, where a living process has it; and where that file is another.
  explicit StudyLock(const std::string& study);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

 private:
  void take(const std::string& study);
  bool is_still_there();

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_STUDY_LOCK_H_
