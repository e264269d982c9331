// A study on disk: every finished cell is a row, so that a kill costs one cell.
#ifndef ROPEWALK_STUDY_STORE_H_
#define ROPEWALK_STUDY_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// What one pass gave.
struct Cell {
  std::vector<double> losses;  // of every token of the window but the first
  double seconds = 0;          // what the pass cost when it was run
};

// Names a cell within its study: a scheme, and one window under one reading of it.
struct CellKey {
  std::string scheme;  // canonical
  std::string text;    // "plain", "repeated", "control"
  int64_t window = 0;
};

// What a study measures. All of it must be equal for a study to go on.
using StudyIdentity = std::vector<std::pair<std::string, std::string>>;  // name, value

// One SQLite file, held by one process at a time.
class StudyStore {
 public:
  // Opens or creates the study and takes its lock; the lock of a dead process is taken over.
  //   path      of the SQLite file; its lock is a file of that name with "-lock" behind it
  //   identity  what is measured
  // Throws Error, naming what differs, where the file belongs to another study, and naming the
  // holder where a living process has it; and where the file is no study at all.
  StudyStore(std::string path, const StudyIdentity& identity);
  ~StudyStore();
  StudyStore(const StudyStore&) = delete;
  StudyStore& operator=(const StudyStore&) = delete;

  const std::string& path() const { return path_; }

  std::optional<Cell> find(const CellKey& key) const;

  // On disk when it returns. Throws Error where that fails (a full disk): the rows before stay as
  // they are.
  void insert(const CellKey& key, const Cell& cell);

 private:
  class Lock;
  struct Database;

  std::string path_;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<Database> database_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_STORE_H_
