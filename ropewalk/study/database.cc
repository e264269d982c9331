#include "ropewalk/study/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr int64_t kApplicationId = 0x526f7065;  // "Rope", in the file's header

}  // namespace

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

StudyDatabase::StudyDatabase(std::string path, Open how) : path_(std::move(path)) {
  refuse_other_files(path_);
  struct stat status = {};
  if (how == Open::kExisting && stat(path_.c_str(), &status) != 0) {
    throw Error(path_, "must be a study of Ropewalk", std::strerror(errno),
                "`ropewalk extend ... --study FILE` makes one");
  }
  const int flags = SQLITE_OPEN_READWRITE | (how == Open::kCreate ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw Error(path_, "the study's file cannot be opened", why);
  }
  sqlite3_busy_timeout(handle_, 5000);
  // Nothing that a stranger's file says of itself is run.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  try {
    run(how == Open::kCreate ? "BEGIN IMMEDIATE" : "BEGIN");
    const int64_t application = number("PRAGMA application_id");
    const int64_t tables = number("SELECT count(*) FROM sqlite_master");
    if (application != kApplicationId && (tables > 0 || how == Open::kExisting)) {
      throw Error(path_, "must be a study of Ropewalk",
                  tables > 0 ? "a database of something else" : "an empty file",
                  "name another file with --study");
    }
    if (how == Open::kCreate) run("PRAGMA application_id = " + std::to_string(kApplicationId));
    run("COMMIT");
    run("PRAGMA synchronous = FULL");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

StudyDatabase::~StudyDatabase() { sqlite3_close(handle_); }

bool StudyDatabase::has_table(const std::string& name) const {
  StudyStatement query(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  query.bind(1, name);
  return query.step();
}

void StudyDatabase::run(const std::string& sql) const { StudyStatement(*this, sql).step(); }

void StudyDatabase::roll_back() const noexcept {
  sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

int64_t StudyDatabase::number(const std::string& sql) const {
  StudyStatement query(*this, sql);
  return query.step() ? query.integer(0) : 0;
}

StudyStatement::StudyStatement(const StudyDatabase& database, const std::string& sql)
    : database_(database) {
  check(sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &statement_, nullptr));
}

StudyStatement::~StudyStatement() { sqlite3_finalize(statement_); }

void StudyStatement::bind(int index, const std::string& text) {
  check(sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}
void StudyStatement::bind(int index, int64_t number) {
  check(sqlite3_bind_int64(statement_, index, number));
}
void StudyStatement::bind(int index, double number) {
  check(sqlite3_bind_double(statement_, index, number));
}
void StudyStatement::bind(int index, const std::vector<double>& numbers) {
  check(sqlite3_bind_blob64(statement_, index, numbers.data(), numbers.size() * sizeof(double),
                            SQLITE_TRANSIENT));
}

bool StudyStatement::step() {
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) check(result);
  return result == SQLITE_ROW;
}

std::string StudyStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? "" : std::string(bytes, this->bytes(column));
}
int64_t StudyStatement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double StudyStatement::number(int column) const {
  return sqlite3_column_double(statement_, column);
}
size_t StudyStatement::bytes(int column) const {
  return static_cast<size_t>(sqlite3_column_bytes(statement_, column));
}
std::vector<double> StudyStatement::numbers(int column) const {
  std::vector<double> values(bytes(column) / sizeof(double));
  if (!values.empty()) {
    std::memcpy(values.data(), sqlite3_column_blob(statement_, column),
                values.size() * sizeof(double));
  }
  return values;
}

void StudyStatement::check(int result) const {
  if (result == SQLITE_OK) return;
  throw Error(database_.path(), "the study's file cannot be used",
              sqlite3_errmsg(database_.handle_), "is it a study, and is there room on the disk?");
}

}  // namespace ropewalk
