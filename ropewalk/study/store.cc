#include "ropewalk/study/store.h"

#include <span>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/printable.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/study/database.h"
#include "ropewalk/study/study_lock.h"

namespace ropewalk {
namespace {

constexpr const char* kSchemaVersion = "3";
constexpr size_t kMostCellBytes = (size_t{1} << 24) * sizeof(double);

// Of losses and whose they are, so that damage is not taken for a measure.
std::string checksum(const CellKey& key, const std::vector<double>& losses) {
  Sha256 hash;
  for (const std::string& part : {key.scheme, key.text, std::to_string(key.window)}) {
    hash.update(std::as_bytes(std::span(part.c_str(), part.size() + 1)));
  }
  hash.update(std::as_bytes(std::span(losses)));
  return hash.hex();
}

// Cells of older schemas have no checksum.
bool is_sound(const CellKey& key, const std::vector<double>& losses, const std::string& stored) {
  return is_measured(losses) && (stored.empty() || stored == checksum(key, losses));
}

bool has_checksums(const StudyDatabase& database) {
  return database.number("SELECT count(*) FROM pragma_table_info('cell') WHERE name = 'sha256'") >
         0;
}

std::map<std::string, std::string> read_identity(const StudyDatabase& database) {
  std::map<std::string, std::string> stored;
  StudyStatement all(database, "SELECT name, value FROM identity");
  while (all.step()) stored[all.text(0)] = all.text(1);
  return stored;
}

template <typename Write>
void all_or_none(const StudyDatabase& database, const Write& write) {
  database.run("BEGIN IMMEDIATE");
  try {
    write();
    database.run("COMMIT");
  } catch (...) {
    database.roll_back();
    throw;
  }
}

// Schema 1 has cells alone, and 2 no checksums: what is missing is written by the next `extend`.
void check_schema(const std::string& path, const std::string& schema) {
  if (schema == kSchemaVersion || schema == "1" || schema == "2") return;
  throw Error(path, std::string("must be a study of schema ") + kSchemaVersion + " or older",
              printable(schema), "a newer Ropewalk made it: use that one");
}

}  // namespace

StudyStore::StudyStore(std::string path, const StudyIdentity& identity)
    : StudyStore(std::make_unique<StudyLock>(refuse_other_files(path)), path, identity) {}

StudyStore::StudyStore(std::unique_ptr<StudyLock> lock, std::string path,
                       const StudyIdentity& identity)
    : lock_(std::move(lock)),
      database_(std::make_unique<StudyDatabase>(std::move(path), StudyDatabase::Open::kCreate)) {
  all_or_none(*database_, [&] { create_or_check(identity); });
}

void StudyStore::create_or_check(const StudyIdentity& identity) {
  database_->run(
      "CREATE TABLE IF NOT EXISTS identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT "
      "ROWID");
  database_->run(
      "CREATE TABLE IF NOT EXISTS cell (scheme TEXT, text TEXT, window INTEGER, losses BLOB NOT "
      "NULL, seconds REAL, sha256 TEXT, PRIMARY KEY (scheme, text, window)) WITHOUT ROWID");
  database_->run(
      "CREATE TABLE IF NOT EXISTS record (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT "
      "ROWID");
  std::map<std::string, std::string> stored = read_identity(*database_);
  if (!stored.empty()) {
    check_schema(path(), stored["schema"]);
    for (const auto& [name, value] : identity) {
      if (stored[name] == value) continue;
      throw Error(path(), "the study is of another " + name + " (" + stored[name] + ")", value,
                  "name another file with --study");
    }
  }
  if (!has_checksums(*database_)) database_->run("ALTER TABLE cell ADD COLUMN sha256 TEXT");
  StudyIdentity wanted = identity;
  wanted.emplace_back("schema", kSchemaVersion);
  for (const auto& [name, value] : wanted) {
    if (stored[name] == value) continue;
    StudyStatement add(*database_, "INSERT OR REPLACE INTO identity VALUES (?, ?)");
    add.bind(1, name);
    add.bind(2, value);
    add.step();
  }
}

StudyStore::~StudyStore() = default;

const std::string& StudyStore::path() const { return database_->path(); }

std::optional<Cell> StudyStore::find(const CellKey& key) const {
  StudyStatement select(
      *database_,
      "SELECT losses, seconds, sha256 FROM cell WHERE scheme = ? AND text = ? AND window = ?");
  select.bind(1, key.scheme);
  select.bind(2, key.text);
  select.bind(3, key.window);
  if (!select.step() || select.bytes(0) > kMostCellBytes) return std::nullopt;
  const std::vector<double> losses = select.numbers(0);
  if (!is_sound(key, losses, select.text(2))) return std::nullopt;  // the pass is run again
  return Cell{.losses = losses, .seconds = select.number(1)};
}

std::vector<CellKey> StudyStore::keys() const {
  std::vector<CellKey> keys;
  StudyStatement all(*database_, "SELECT scheme, text, window FROM cell");
  while (all.step()) keys.push_back({all.text(0), all.text(1), all.integer(2)});
  return keys;
}

void StudyStore::insert(const CellKey& key, const Cell& cell) {
  StudyStatement add(*database_, "INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?, ?)");
  add.bind(1, key.scheme);
  add.bind(2, key.text);
  add.bind(3, key.window);
  add.bind(4, cell.losses);
  add.bind(5, cell.seconds);
  add.bind(6, checksum(key, cell.losses));
  add.step();
}

StudyStore::Kept StudyStore::find_or_measure(const CellKey& key, const IsWhole& is_whole,
                                             const Measure& measure) {
  if (std::optional<Cell> cell = find(key); cell && is_whole(cell->losses))
    return {.cell = std::move(*cell), .was_stored = true};
  Cell cell = timed_cell(measure);
  insert(key, cell);
  return {.cell = std::move(cell)};
}

void StudyStore::insert_all(const std::map<CellKey, Cell>& cells) {
  all_or_none(*database_, [&] {
    for (const auto& [key, cell] : cells) insert(key, cell);
  });
}

std::optional<std::string> StudyStore::record(const std::string& name) const {
  StudyStatement select(*database_, "SELECT json FROM record WHERE name = ?");
  select.bind(1, name);
  if (!select.step()) return std::nullopt;
  return select.text(0);
}

void StudyStore::put_records(const std::map<std::string, std::string>& records) {
  all_or_none(*database_, [&] {
    for (const auto& [name, json] : records) {
      StudyStatement add(*database_, "INSERT OR REPLACE INTO record VALUES (?, ?)");
      add.bind(1, name);
      add.bind(2, json);
      add.step();
    }
  });
}

namespace {

// A stranger's file may make up what it is asked for (SQLite's generated columns): no more is taken than
// its pages can hold.
class ReadBudget {
 public:
  explicit ReadBudget(const StudyDatabase& database)
      : path_(database.path()),
        left_(database.number("PRAGMA page_count") * database.number("PRAGMA page_size")) {}

  void take(size_t bytes) {
    left_ -= static_cast<int64_t>(bytes);
    if (left_ < 0) throw Error(path_, "must hold what it says", "more bytes than its pages have");
  }

 private:
  const std::string& path_;
  int64_t left_;
};

}  // namespace

StudyContents read_study(const std::string& path) {
  const StudyDatabase database(path, StudyDatabase::Open::kExisting);
  database.run("BEGIN");  // one moment of a study that may still be running
  for (const char* table : {"identity", "cell"}) {
    if (database.has_table(table)) continue;
    throw Error(path, "must hold a study", std::string("no table ") + table);
  }
  StudyContents contents{.path = path};
  for (const auto& [name, value] : read_identity(database)) {
    if (name == "schema") {
      check_schema(path, value);
    } else {
      contents.identity.emplace_back(name, value);
    }
  }
  ReadBudget budget(database);
  StudyStatement cells(database, std::string("SELECT scheme, text, window, losses, seconds, ") +
                                     (has_checksums(database) ? "sha256" : "NULL") + " FROM cell");
  while (cells.step()) {
    budget.take(cells.bytes(0) + cells.bytes(1) + cells.bytes(3) + cells.bytes(5));
    if (cells.bytes(3) > kMostCellBytes) continue;
    const CellKey key{cells.text(0), cells.text(1), cells.integer(2)};
    Cell cell{.losses = cells.numbers(3), .seconds = cells.number(4)};
    if (!is_sound(key, cell.losses, cells.text(5))) continue;
    contents.cells[key] = std::move(cell);
  }
  if (!database.has_table("record")) return contents;
  StudyStatement records(database, "SELECT name, json FROM record");
  while (records.step()) {
    budget.take(records.bytes(0) + records.bytes(1));
    contents.records[records.text(0)] = records.text(1);
  }
  return contents;
}

}  // namespace ropewalk
