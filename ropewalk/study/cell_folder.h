// The folder beside a study in which several processes measure it: a file for every finished cell,
// which never changes, and a lock for every one that is being measured. SQLite is safe over a
// network for one writer alone; here nothing is ever written twice.
#ifndef ROPEWALK_STUDY_CELL_FOLDER_H_
#define ROPEWALK_STUDY_CELL_FOLDER_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ropewalk/study/cell.h"
#include "ropewalk/study/named_file.h"
#include "ropewalk/study/study_lock.h"

namespace ropewalk {

// The right to measure a cell, while this lives; it gives signs of life from a thread of its own.
class CellClaim {
 public:
  explicit CellClaim(std::unique_ptr<StudyLock> lock, std::chrono::milliseconds pause);
  ~CellClaim();
  CellClaim(const CellClaim&) = delete;
  CellClaim& operator=(const CellClaim&) = delete;

 private:
  struct Beat;

  std::unique_ptr<StudyLock> lock_;
  std::unique_ptr<Beat> beat_;
};

class CellFolder {
 public:
  // Makes the folder where it is not there, and is present in it while this lives.
  //   study     path of the study; the folder has its name with "-ranks" behind it
  //   identity  of the study
  //   silence   without a sign from the holder of a claim, after which it counts as dead. A process
  //             of this machine, or of a file system that keeps locks, counts as dead at once where
  //             it is.
  // Throws Error where it cannot be made, or something else has the name.
  CellFolder(const std::string& study, const StudyIdentity& identity,
             std::chrono::milliseconds silence = std::chrono::minutes(2));
  // Removes what belongs to it where leave_for_good() was called and nobody else is present.
  ~CellFolder();
  CellFolder(const CellFolder&) = delete;
  CellFolder& operator=(const CellFolder&) = delete;

  static std::string path_of(const std::string& study) { return study + "-ranks"; }
  const std::string& path() const { return path_; }

  // What others have put into the folder is seen from here on.
  void look() const;
  bool has(const CellKey& key) const;
  // Nothing where it is not there; a damaged file is removed, and one of what no pass gives. Throws Error where it is of another
  // study, or cannot be removed.
  std::optional<Cell> find(const CellKey& key) const;
  // The first that is published stays: cells of equal key differ in their seconds.
  void publish(const CellKey& key, const Cell& cell) const;
  void remove(const CellKey& key) const;  // throws Error where that fails
  // All that are whole; damaged files are removed. Throws Error where one is of another study.
  void for_each(const std::function<void(const CellKey&, const Cell&)>& visit) const;
  // Names of the files of all cells.
  std::set<std::string> names() const;
  std::string name_of(const CellKey& key) const;

  // Null where a living process has it.
  std::unique_ptr<CellClaim> claim(const CellKey& key);

  // A line that whoever holds the study leaves for the others; replaced as a whole.
  void put_note(const std::string& note) const;
  std::string note() const;  // empty where there is none

  // There is nothing in it that the study has not.
  void leave_for_good() { for_good_ = true; }

 private:
  std::string file_of(const CellKey& key) const { return path_ + "/" + name_of(key); }
  std::optional<std::pair<CellKey, Cell>> parse(const std::string& file,
                                                const std::string& bytes) const;
  void write(const std::string& name, const std::string& bytes, bool replace) const;
  void be_present();
  bool is_last();
  void remove_all() const;

  // The sign of a claim that others hold, and since when it has not changed by our clock.
  struct Silence {
    std::chrono::nanoseconds sign;
    std::chrono::steady_clock::time_point since;
  };

  std::string path_;
  std::string identity_;  // digest
  std::chrono::milliseconds silence_;
  std::map<std::string, Silence> silent_;
  NamedFile present_;  // that all who are present have locked together
  bool for_good_ = false;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_CELL_FOLDER_H_
