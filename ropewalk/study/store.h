// A study on disk: every finished cell is a row, so that a kill costs one cell.
#ifndef ROPEWALK_STUDY_STORE_H_
#define ROPEWALK_STUDY_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/cell.h"

namespace ropewalk {

class StudyDatabase;
class StudyLock;

// One SQLite file, held by one process at a time.
class StudyStore : public CellSource {
 public:
  // Opens or creates the study and takes its lock; the lock of a dead process is taken over.
  //   path      of the SQLite file; its lock is a file of that name with "-lock" behind it
  //   identity  what is measured
  // Throws Error, naming what differs, where the file belongs to another study, and naming the
  // holder where a living process has it; and where the file is no study at all.
  StudyStore(std::string path, const StudyIdentity& identity);
  // The same with a lock that is taken already.
  StudyStore(std::unique_ptr<StudyLock> lock, std::string path, const StudyIdentity& identity);
  ~StudyStore() override;
  StudyStore(const StudyStore&) = delete;
  StudyStore& operator=(const StudyStore&) = delete;

  const std::string& path() const;

  std::optional<Cell> find(const CellKey& key) const;
  std::vector<CellKey> keys() const;  // of all that it has, whole or not

  // On disk when it returns. Throws Error where that fails (a full disk): the rows before stay as
  // they are.
  void insert(const CellKey& key, const Cell& cell);
  Kept find_or_measure(const CellKey& key, const IsWhole& is_whole,
                       const Measure& measure) override;

  // All of them or, where it throws Error, none.
  void insert_all(const std::map<CellKey, Cell>& cells);

  // What else is known of the study, one JSON document for each name: study/record.h says which.
  std::optional<std::string> record(const std::string& name) const;
  // All of them or, where it throws Error, none.
  void put_records(const std::map<std::string, std::string>& records);

 private:
  void create_or_check(const StudyIdentity& identity);

  std::unique_ptr<StudyLock> lock_;
  std::unique_ptr<StudyDatabase> database_;
};

// All that a study's file holds.
struct StudyContents {
  std::string path;
  StudyIdentity identity = {};
  std::map<CellKey, Cell> cells = {};
  std::map<std::string, std::string> records = {};  // name, JSON
};

// Reads a study as it stands, be it finished, running or killed; its file is left as it is. Throws
// Error where it is no study.
StudyContents read_study(const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_STORE_H_
