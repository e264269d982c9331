// A study's SQLite file, opened and asked; every failure names the file.
#ifndef ROPEWALK_STUDY_DATABASE_H_
#define ROPEWALK_STUDY_DATABASE_H_

#include <cstdint>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace ropewalk {

// Throws Error where something else has the name, or it is none that SQLite takes for a file;
// nothing is made. A name that is free, or an empty file, may become a study. Returns the path.
const std::string& refuse_other_files(const std::string& path);

class StudyDatabase {
 public:
  enum class Open {
    kCreate,    // made where it is not there
    kExisting,  // never written, but for what SQLite itself takes back after a crash
  };

  // Throws Error, where it is a database of something else too.
  StudyDatabase(std::string path, Open how);
  ~StudyDatabase();
  StudyDatabase(const StudyDatabase&) = delete;
  StudyDatabase& operator=(const StudyDatabase&) = delete;

  const std::string& path() const { return path_; }
  bool has_table(const std::string& name) const;
  void run(const std::string& sql) const;
  void roll_back() const noexcept;               // nothing where no transaction is open
  int64_t number(const std::string& sql) const;  // of the first row, 0 where there is none

 private:
  friend class StudyStatement;

  std::string path_;
  sqlite3* handle_ = nullptr;
};

// A statement that finalises itself.
class StudyStatement {
 public:
  StudyStatement(const StudyDatabase& database, const std::string& sql);
  ~StudyStatement();
  StudyStatement(const StudyStatement&) = delete;
  StudyStatement& operator=(const StudyStatement&) = delete;

  // From 1.
  void bind(int index, const std::string& text);
  void bind(int index, int64_t number);
  void bind(int index, double number);
  void bind(int index, const std::vector<double>& numbers);

  bool step();  // true where there is a row

  // From 0.
  std::string text(int column) const;
  int64_t integer(int column) const;
  double number(int column) const;
  size_t bytes(int column) const;
  std::vector<double> numbers(int column) const;

 private:
  void check(int result) const;

  const StudyDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_DATABASE_H_
