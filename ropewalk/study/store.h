// A study on disk: every finished cell is a row, so that a kill costs one cell.
#ifndef ROPEWALK_STUDY_STORE_H_
#define ROPEWALK_STUDY_STORE_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
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

  auto operator<=>(const CellKey&) const = default;
};

// What a study measures. All of it must be equal for a study to go on.
using StudyIdentity = std::vector<std::pair<std::string, std::string>>;  // name, value

class StudyDatabase;
class StudyLock;

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

  const std::string& path() const;

  std::optional<Cell> find(const CellKey& key) const;

  // On disk when it returns. Throws Error where that fails (a full disk): the rows before stay as
  // they are.
  void insert(const CellKey& key, const Cell& cell);
  // The cell that the study has, where it is whole; else what `measure` gives, with the seconds that
  // took, which is on disk when this returns.
  struct Kept {
    Cell cell;
    bool was_stored = false;
  };
  Kept find_or_measure(const CellKey& key,
                       const std::function<bool(const std::vector<double>&)>& is_whole,
                       const std::function<std::vector<double>()>& measure);

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
