#include "ropewalk/study/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "ropewalk/base/error.h"
#include "ropewalk/study/database.h"

namespace ropewalk {
namespace {

class StudyStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("ropewalk-store-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "study.db").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string message(const StudyIdentity& identity) {
    try {
      StudyStore store(path_, identity);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
  std::string path_;
  const StudyIdentity identity_ = {{"model", "m1"}, {"text", "t1"}};
  const CellKey key_ = {"cap,window=8", "plain", 3};
};

TEST_F(StudyStoreTest, KeepsCellsToTheLastBit) {
  const Cell cell{.losses = {0.1, 1e-300, 12345.678901234567}, .seconds = 2.5};
  {
    StudyStore store(path_, identity_);
    EXPECT_FALSE(store.find(key_));
    store.insert(key_, cell);
  }
  const StudyStore again(path_, identity_);
  ASSERT_TRUE(again.find(key_));
  EXPECT_EQ(again.find(key_)->losses, cell.losses);
  EXPECT_EQ(again.find(key_)->seconds, 2.5);
  EXPECT_FALSE(again.find({"cap,window=8", "control", 3}));
}

TEST_F(StudyStoreTest, ALossThatNoPassGivesIsNotMeasured) {
  StudyStore store(path_, identity_);
  for (const double loss : {std::nan(""), HUGE_VAL, -0.5}) {
    store.insert(key_, {.losses = {1.0, loss}, .seconds = 1});
    EXPECT_FALSE(store.find(key_)) << loss;
    EXPECT_TRUE(read_study(path_).cells.empty()) << loss;
  }
  store.insert(key_, {.losses = {1.0, 2.0}, .seconds = 1});
  EXPECT_TRUE(store.find(key_));
}

TEST_F(StudyStoreTest, ALossThatWasDamagedIsNotMeasured) {
  StudyStore store(path_, identity_);
  const CellKey other{"rope", "plain", 3};
  for (const char* damage :
       {"UPDATE cell SET losses = x'000000000000f03f0000000000000840' WHERE scheme <> 'rope'",
        "UPDATE cell SET scheme = 'rope'", "UPDATE cell SET window = 4",
        "UPDATE cell SET text = 'control'"}) {
    store.insert(key_, {.losses = {1.0, 2.0}, .seconds = 1});
    EXPECT_EQ(read_study(path_).cells.size(), 1u);
    const StudyDatabase database(path_, StudyDatabase::Open::kCreate);
    database.run(damage);
    EXPECT_FALSE(store.find(key_)) << damage;
    EXPECT_FALSE(store.find(other)) << damage;
    EXPECT_TRUE(read_study(path_).cells.empty()) << damage;
    database.run("DELETE FROM cell");
  }
}

// Files of nobody else can be closed to root, who runs this as another user.
TEST_F(StudyStoreTest, AStudyThatCannotBeReadIsCalledSo) {
  { StudyStore store(path_, identity_); }
  std::filesystem::permissions(path_, std::filesystem::perms::none);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string said = message(identity_);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_NE(said.find("cannot be read, got Permission denied"), std::string::npos) << said;
}

TEST_F(StudyStoreTest, ALockThatCannotBeWrittenIsNotLeft) {
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const std::string said = message(identity_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(said.find("-lock: cannot be written"), std::string::npos) << said;
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(StudyStoreTest, LossesThatAreMadeUpAreRefused) {
  { StudyStore store(path_, identity_); }
  {
    const StudyDatabase database(path_, StudyDatabase::Open::kExisting);
    database.run("DROP TABLE cell");
    database.run(
        "CREATE TABLE cell (scheme TEXT, text TEXT, window INTEGER, seconds REAL, losses BLOB "
        "GENERATED ALWAYS AS (zeroblob(1000000)))");
    database.run("INSERT INTO cell (scheme, text, window, seconds) VALUES ('a', 'plain', 0, 1)");
  }
  try {
    read_study(path_);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("must hold what it says"), std::string::npos)
        << error.what();
  }
}

TEST_F(StudyStoreTest, AnotherModelOrTextIsRefusedByName) {
  { StudyStore store(path_, identity_); }
  EXPECT_NE(message({{"model", "m2"}, {"text", "t1"}}).find("another model"), std::string::npos);
  EXPECT_NE(message({{"model", "m1"}, {"text", "t2"}}).find("another text"), std::string::npos);
  EXPECT_EQ(message(identity_), "");
}

TEST_F(StudyStoreTest, AFileThatIsNoStudyIsRefusedAndKept) {
  std::ofstream(path_) << "a letter to somebody, long enough to be no empty database at all";
  EXPECT_NE(message(identity_).find("must be a study of Ropewalk"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_ + "-lock"));
  std::ifstream stream(path_);
  std::string text;
  std::getline(stream, text);
  EXPECT_EQ(text.substr(0, 8), "a letter");
}

TEST_F(StudyStoreTest, NoLockIsLeftBehind) {
  {
    const StudyStore store(path_, identity_);
    EXPECT_TRUE(std::filesystem::exists(path_ + "-lock"));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + "-lock"));
  EXPECT_NE(message({{"model", "m2"}, {"text", "t1"}}), "");
  EXPECT_FALSE(std::filesystem::exists(path_ + "-lock"));
  path_ = folder_.string();
  EXPECT_NE(message(identity_).find("got a folder"), std::string::npos);
}

TEST_F(StudyStoreTest, AFileOfTheLocksNameIsRefusedAndKept) {
  const std::string lock = path_ + "-lock";
  std::ofstream(lock) << "12 letters";
  EXPECT_NE(message(identity_).find("-lock: must be a lock of Ropewalk"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(lock), 10u);
  std::filesystem::rename(lock, folder_ / "kept");
  std::filesystem::create_symlink("kept", lock);
  EXPECT_NE(message(identity_).find("-lock: cannot be opened"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "kept"), 10u);
  EXPECT_TRUE(std::filesystem::is_symlink(lock));
}

TEST_F(StudyStoreTest, NamesThatAreNoFilesToSqliteAreRefused) {
  for (const char* name : {"", ":memory:", "file:study.db"}) {
    path_ = name;
    EXPECT_NE(message(identity_).find("must name a file"), std::string::npos) << name;
  }
}

// The holder is a process of its own: one's own lock would be taken over.
TEST_F(StudyStoreTest, ALivingHolderIsNamedAndADeadOneTakenOver) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    StudyStore store(path_, identity_);
    store.insert(key_, {.losses = {1.0}, .seconds = 0});
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const std::string refused = message(identity_);
  EXPECT_NE(refused.find("held by a living process"), std::string::npos) << refused;
  EXPECT_NE(refused.find(std::to_string(holder)), std::string::npos) << refused;

  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  const StudyStore store(path_, identity_);
  EXPECT_TRUE(store.find(key_)) << "what the dead process had finished";
}

TEST_F(StudyStoreTest, RecordsAreKeptAndReadWithTheCells) {
  {
    StudyStore store(path_, identity_);
    store.insert(key_, {.losses = {1.5, 2.5}, .seconds = 3});
    store.put_records({{"facts", "{}"}, {"table/a", "[1]"}});
    EXPECT_EQ(store.record("facts"), "{}");
    EXPECT_EQ(store.record("other"), std::nullopt);
    // As a report reads a study that is running.
    EXPECT_EQ(read_study(path_).cells.size(), 1u);
  }
  const StudyContents contents = read_study(path_);
  EXPECT_EQ(contents.identity, identity_);
  EXPECT_EQ(contents.cells.at(key_).losses, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(contents.records.at("table/a"), "[1]");
}

// What one writes by hand as the first schema did.
TEST_F(StudyStoreTest, AStudyOfCellsAloneGoesOnAndANewerOneIsRefused) {
  {
    const StudyDatabase old(path_, StudyDatabase::Open::kCreate);
    old.run("CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    old.run("INSERT INTO identity VALUES ('model', 'm1'), ('text', 't1'), ('schema', '1')");
    old.run(
        "CREATE TABLE cell (scheme TEXT, text TEXT, window INTEGER, losses BLOB NOT NULL, "
        "seconds REAL, PRIMARY KEY (scheme, text, window)) WITHOUT ROWID");
    old.run("INSERT INTO cell VALUES ('cap,window=8', 'plain', 3, x'000000000000f03f', 1.0)");
  }
  EXPECT_TRUE(read_study(path_).records.empty());
  {
    StudyStore store(path_, identity_);
    EXPECT_EQ(store.find(key_)->losses, std::vector<double>{1.0});
    store.put_records({{"facts", "{}"}});
  }
  const StudyDatabase newer(path_, StudyDatabase::Open::kCreate);
  EXPECT_EQ(newer.number("SELECT value FROM identity WHERE name = 'schema'"), 3);
  newer.run("UPDATE identity SET value = '4' WHERE name = 'schema'");
  EXPECT_NE(message(identity_).find("must be a study of schema 3 or older, got 4"),
            std::string::npos);
  EXPECT_THROW(read_study(path_), Error);
}

// A limit on the file's size stands for a disk that is full.
TEST_F(StudyStoreTest, AFullDiskCostsNoRowThatWasWritten) {
  const std::vector<double> losses(2048, 1.25);
  int64_t kept = 0;
  {
    StudyStore store(path_, identity_);
    rlimit old = {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little = {.rlim_cur = 300000, .rlim_max = old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    std::string said;
    try {
      for (; kept < 1000; ++kept) store.insert({"s", "plain", kept}, {losses, 1});
    } catch (const Error& error) {
      said = error.what();
    }
    std::string records;
    try {
      store.put_records({{"a", "1"}, {"facts", std::string(400000, ' ')}});
    } catch (const Error& error) {
      records = error.what();
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_NE(said.find("is there room on the disk?"), std::string::npos) << said;
    EXPECT_FALSE(records.empty());
    EXPECT_GT(kept, 5);
    EXPECT_LT(kept, 1000);
    EXPECT_EQ(store.record("a"), std::nullopt) << "all records or none";
    store.insert({"s", "plain", kept}, {losses, 1});  // there is room again
  }
  const StudyContents contents = read_study(path_);
  EXPECT_EQ(contents.cells.size(), static_cast<size_t>(kept) + 1);
  for (const auto& [key, cell] : contents.cells) EXPECT_EQ(cell.losses, losses);
}

// Processes that write without pause, each killed after a few rows.
TEST_F(StudyStoreTest, RowsBeforeAKillStay) {
  const std::vector<double> losses(512, 0.5);
  int64_t told = 0;
  for (int round = 0; round < 10; ++round) {
    int rows[2];
    ASSERT_EQ(pipe(rows), 0);
    const pid_t writer = fork();
    if (writer == 0) {
      StudyStore store(path_, identity_);
      for (int64_t w = told;; ++w) {
        store.insert({"s", "plain", w}, {losses, 1});
        if (write(rows[1], "x", 1) != 1) _exit(1);
      }
    }
    char byte = 0;
    for (int k = 0; k < 3; ++k, ++told) ASSERT_EQ(read(rows[0], &byte, 1), 1);
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    close(rows[0]);
    close(rows[1]);
    const StudyContents contents = read_study(path_);
    ASSERT_GE(contents.cells.size(), static_cast<size_t>(told));
    for (const auto& [key, cell] : contents.cells) ASSERT_EQ(cell.losses, losses);
  }
}

}  // namespace
}  // namespace ropewalk
