#include "ropewalk/study/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr const char* kSchemaVersion = "1";
constexpr int64_t kApplicationId = 0x526f7065;  // "Rope", in the file's header

// A statement that finalises itself; its failures name the study.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const char* sql)
      : database_(database), path_(path) {
    check(sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& text) {
    check(sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
  }
  void bind(int index, int64_t number) { check(sqlite3_bind_int64(statement_, index, number)); }
  void bind(int index, double number) { check(sqlite3_bind_double(statement_, index, number)); }
  void bind(int index, const std::vector<double>& numbers) {
    check(sqlite3_bind_blob64(statement_, index, numbers.data(), numbers.size() * sizeof(double),
                              SQLITE_TRANSIENT));
  }

  // True where there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) check(result);
    return result == SQLITE_ROW;
  }

  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr
               ? ""
               : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  double number(int column) const { return sqlite3_column_double(statement_, column); }
  size_t bytes(int column) const {
    return static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  }
  std::vector<double> numbers(int column) const {
    const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    std::vector<double> values(bytes / sizeof(double));
    if (!values.empty())
      std::memcpy(values.data(), sqlite3_column_blob(statement_, column),
                  values.size() * sizeof(double));
    return values;
  }

 private:
  void check(int result) const {
    if (result == SQLITE_OK) return;
    throw Error(path_, "the study's file cannot be used", sqlite3_errmsg(database_),
                "is it a study, and is there room on the disk?");
  }

  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

// Before anything is made beside it. A name that is free, or an empty file, may become a study.
const std::string& refuse_other_files(const std::string& path) {
  if (path.empty() || path.starts_with(':') || path.starts_with("file:")) {
    throw Error("--study",
                "must name a file: SQLite would keep nothing under this name, or elsewhere",
                path.empty() ? "an empty name" : path, "put ./ before the name");
  }
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return path;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string start(kMagic.size(), ' ');
  if (S_ISREG(status.st_mode)) {
    if (status.st_size == 0) return path;
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(path, "the study's file cannot be read", std::strerror(errno));
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    if (start == kMagic) return path;
  }
  throw Error(path, "must be a study of Ropewalk",
              S_ISDIR(status.st_mode) ? "a folder" : "a file of another kind",
              "name another file with --study: a new one is made");
}

// A regular file that holds nothing but the number of a process, or nothing yet: no other file may be
// written over or removed.
bool is_lock(int descriptor) {
  struct stat status = {};
  std::array<char, 32> text = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1)
    return false;
  if (status.st_size >= static_cast<off_t>(text.size())) return false;
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return size >= 0 && std::all_of(text.begin(), text.begin() + size,
                                  [](char byte) { return byte >= '0' && byte <= '9'; });
}

}  // namespace

// The kernel drops the lock of a process that dies, however it dies; the number in the file only
// names the holder.
class StudyStore::Lock {
 public:
  explicit Lock(const std::string& study) : path_(study + "-lock") {
    do {
      take(study);
    } while (!is_still_there());
    const std::string own = std::to_string(getpid());
    if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, own.data(), own.size(), 0) < 0) {
      const int error = errno;
      unlink(path_.c_str());
      close(descriptor_);
      throw Error(path_, "cannot be written", std::strerror(error));
    }
  }
  ~Lock() {
    unlink(path_.c_str());
    close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  void take(const std::string& study) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (descriptor_ < 0) throw Error(path_, "cannot be opened", std::strerror(errno));
    if (!is_lock(descriptor_)) {
      close(descriptor_);
      throw Error(path_, "must be a lock of Ropewalk", "a file of another kind",
                  "move that file, or name another with --study");
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    std::array<char, 32> holder = {};
    const ssize_t size = pread(descriptor_, holder.data(), holder.size() - 1, 0);
    close(descriptor_);
    throw Error(study, "the study is held by a living process",
                "process " + (size > 0 ? std::string(holder.data()) : "unknown"),
                "wait for it, or name another file with --study");
  }

  // Not where the holder before removed the file between our opening and our locking it.
  bool is_still_there() {
    struct stat held = {};
    struct stat named = {};
    if (fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &named) == 0 &&
        held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
      return true;
    }
    close(descriptor_);
    return false;
  }

  std::string path_;
  int descriptor_ = -1;
};

struct StudyStore::Database {
  sqlite3* handle = nullptr;
  ~Database() { sqlite3_close(handle); }
};

StudyStore::StudyStore(std::string path, const StudyIdentity& identity)
    : path_(std::move(path)),
      lock_(std::make_unique<Lock>(refuse_other_files(path_))),
      database_(std::make_unique<Database>()) {
  if (sqlite3_open(path_.c_str(), &database_->handle) != SQLITE_OK) {
    throw Error(path_, "the study's file cannot be opened", sqlite3_errmsg(database_->handle));
  }
  sqlite3_busy_timeout(database_->handle, 5000);
  const auto run = [&](const char* sql) { Statement(database_->handle, path_, sql).step(); };
  const auto number = [&](const char* sql) {
    Statement query(database_->handle, path_, sql);
    return query.step() ? static_cast<int64_t>(query.number(0)) : 0;
  };
  run("PRAGMA synchronous = FULL");
  run("BEGIN IMMEDIATE");
  if (number("SELECT count(*) FROM sqlite_master") > 0 &&
      number("PRAGMA application_id") != kApplicationId) {
    throw Error(path_, "must be a study of Ropewalk", "a database of something else",
                "name another file with --study");
  }
  run(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  run("CREATE TABLE IF NOT EXISTS identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT "
      "ROWID");
  run("CREATE TABLE IF NOT EXISTS cell (scheme TEXT, text TEXT, window INTEGER, losses BLOB NOT "
      "NULL, seconds REAL, "
      "PRIMARY KEY (scheme, text, window)) WITHOUT ROWID");

  std::map<std::string, std::string> stored;
  Statement all(database_->handle, path_, "SELECT name, value FROM identity");
  while (all.step()) stored[all.text(0)] = all.text(1);
  StudyIdentity wanted = identity;
  wanted.emplace_back("schema", kSchemaVersion);
  for (const auto& [name, value] : wanted) {
    if (stored.empty()) {
      Statement add(database_->handle, path_, "INSERT INTO identity VALUES (?, ?)");
      add.bind(1, name);
      add.bind(2, value);
      add.step();
    } else if (stored[name] != value) {
      throw Error(path_, "the study is of another " + name + " (" + stored[name] + ")", value,
                  "name another file with --study");
    }
  }
  run("COMMIT");
}

StudyStore::~StudyStore() = default;

std::optional<Cell> StudyStore::find(const CellKey& key) const {
  Statement select(database_->handle, path_,
                   "SELECT losses, seconds FROM cell WHERE scheme = ? AND text = ? AND window = ?");
  select.bind(1, key.scheme);
  select.bind(2, key.text);
  select.bind(3, key.window);
  // What no pass gives is not measured: the pass is run again.
  constexpr size_t kMostBytes = (size_t{1} << 24) * sizeof(double);
  if (!select.step() || select.bytes(0) > kMostBytes) return std::nullopt;
  const std::vector<double> losses = select.numbers(0);
  if (!std::all_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) {
    return std::nullopt;
  }
  return Cell{.losses = losses, .seconds = select.number(1)};
}

void StudyStore::insert(const CellKey& key, const Cell& cell) {
  Statement add(database_->handle, path_, "INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?)");
  add.bind(1, key.scheme);
  add.bind(2, key.text);
  add.bind(3, key.window);
  add.bind(4, cell.losses);
  add.bind(5, cell.seconds);
  add.step();
}

}  // namespace ropewalk
