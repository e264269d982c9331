#include "ropewalk/study/cell_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class CellFolderTest : public testing::Test {
 protected:
  std::string study() const { return directory_.path() + "/study.db"; }
  std::string folder() const { return CellFolder::path_of(study()); }

  const TempDirectory directory_;
  const StudyIdentity identity_ = {{"model", "m1"}, {"text", "t1"}};
  const CellKey key_ = {"cap,window=8", "plain", 3};
  const Cell cell_ = {.losses = {0.1, 1e-300, 12345.678901234567}, .seconds = 0.1};
};

TEST_F(CellFolderTest, KeepsCellsToTheLastBit) {
  const CellFolder mine(study(), identity_);
  const CellFolder theirs(study(), identity_);
  EXPECT_FALSE(theirs.find(key_));
  mine.publish(key_, cell_);
  ASSERT_TRUE(theirs.find(key_));
  EXPECT_EQ(theirs.find(key_)->losses, cell_.losses);
  EXPECT_EQ(theirs.find(key_)->seconds, cell_.seconds);
  EXPECT_FALSE(theirs.find({"cap,window=8", "control", 3}));
}

TEST_F(CellFolderTest, TheFirstOfTwoEqualCellsStays) {
  const CellFolder mine(study(), identity_);
  mine.publish(key_, cell_);
  mine.publish(key_, {.losses = cell_.losses, .seconds = 99});
  EXPECT_EQ(mine.find(key_)->seconds, cell_.seconds);
  EXPECT_EQ(mine.names().size(), 1u);
}

TEST_F(CellFolderTest, WhatIsNoFileOfOursIsNeitherReadNorWaitedFor) {
  const CellFolder mine(study(), identity_);
  const std::string file = folder() + "/" + mine.name_of(key_);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(mine.find(key_));
  EXPECT_FALSE(mine.has(key_)) << "removed";
  std::ofstream(file) << "{";
  fs::resize_file(file, uint64_t{1} << 40);
  EXPECT_FALSE(mine.find(key_));
  EXPECT_FALSE(mine.has(key_)) << "removed";
  fs::create_directory(file);
  EXPECT_THROW((void)mine.find(key_), Error);
}

TEST_F(CellFolderTest, ACellIsClaimedByOne) {
  CellFolder mine(study(), identity_);
  CellFolder theirs(study(), identity_);
  auto claim = mine.claim(key_);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(theirs.claim(key_), nullptr);
  EXPECT_NE(theirs.claim({"cap,window=8", "plain", 4}), nullptr);
  claim.reset();
  EXPECT_NE(theirs.claim(key_), nullptr);
}

TEST_F(CellFolderTest, TheClaimOfAKilledProcessIsTakenOverAtOnce) {
  CellFolder mine(study(), identity_);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    CellFolder theirs(study(), identity_);
    const auto claim = theirs.claim(key_);
    const char sign = claim != nullptr ? 'y' : 'n';
    if (write(ready[1], &sign, 1) == 1) pause();
    _exit(0);
  }
  char sign = 0;
  ASSERT_EQ(read(ready[0], &sign, 1), 1);
  ASSERT_EQ(sign, 'y');
  EXPECT_EQ(mine.claim(key_), nullptr) << "it lives";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(mine.claim(key_), nullptr);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CellFolderTest, AClaimWithoutSignsOfLifeIsTakenOverInTime) {
  CellFolder mine(study(), identity_, milliseconds(40));
  const auto silent = StudyLock::try_take(folder() + "/" + mine.name_of(key_));
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(mine.claim(key_), nullptr);
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_NE(mine.claim(key_), nullptr);
}

TEST_F(CellFolderTest, AClaimWithSignsOfLifeIsKept) {
  CellFolder theirs(study(), identity_, milliseconds(80));  // a sign every 10
  CellFolder mine(study(), identity_, milliseconds(400));
  const auto claim = theirs.claim(key_);
  for (int k = 0; k < 12; ++k) {
    EXPECT_EQ(mine.claim(key_), nullptr);
    std::this_thread::sleep_for(milliseconds(50));
  }
}

// What the one that was taken for dead leaves behind must not free the claim of the living.
TEST_F(CellFolderTest, AClaimThatWasLostFreesNothing) {
  CellFolder mine(study(), identity_, milliseconds(1));
  auto silent = StudyLock::try_take(folder() + "/" + mine.name_of(key_));
  EXPECT_EQ(mine.claim(key_), nullptr);
  std::this_thread::sleep_for(milliseconds(5));
  const auto claim = mine.claim(key_);
  ASSERT_NE(claim, nullptr);
  silent.reset();
  CellFolder third(study(), identity_);
  EXPECT_EQ(third.claim(key_), nullptr);
}

TEST_F(CellFolderTest, DamagedCellsAreRemovedAndOthersFilesStay) {
  const CellFolder mine(study(), identity_);
  mine.publish(key_, cell_);
  const std::string file = folder() + "/" + mine.name_of(key_);
  const std::string whole = read_file(file);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() - 1), whole + "more",
        "[]\n" + whole, std::string(4096, '{')}) {
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(mine.find(key_));
    EXPECT_FALSE(fs::exists(file)) << damaged.substr(0, 30);
    std::ofstream(file, std::ios::binary) << damaged;
    mine.for_each([](const CellKey& key, const Cell&) { FAIL() << key.scheme; });
    EXPECT_FALSE(fs::exists(file)) << damaged.substr(0, 30);
  }
  std::ofstream(folder() + "/notes.txt") << "of somebody";
  {
    CellFolder last(study(), identity_);
    last.leave_for_good();
  }
  EXPECT_TRUE(fs::exists(folder() + "/notes.txt"));
}

TEST_F(CellFolderTest, WhatNoPassGivesIsDamage) {
  const CellFolder mine(study(), identity_);
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Cell& cell : {Cell{.losses = {1, NAN}}, Cell{.losses = {infinite}},
                           Cell{.losses = {-1}}, Cell{.losses = {1}, .seconds = -1}}) {
    mine.publish(key_, cell);
    EXPECT_FALSE(mine.find(key_));
    EXPECT_FALSE(mine.has(key_));
    mine.publish(key_, cell);
    mine.for_each([](const CellKey& key, const Cell&) { FAIL() << key.scheme; });
    EXPECT_FALSE(mine.has(key_));
  }
}

TEST_F(CellFolderTest, CellsOfAnotherStudyAreRefused) {
  {
    const CellFolder other(study(), {{"model", "m2"}});
    other.publish(key_, cell_);
  }
  const CellFolder mine(study(), identity_);
  EXPECT_FALSE(mine.find(key_)) << "has another name";
  EXPECT_THROW(mine.for_each([](const CellKey&, const Cell&) {}), Error);
  EXPECT_EQ(mine.names().size(), 1u) << "it stays";
}

TEST_F(CellFolderTest, TheLastWhoLeavesRemovesIt) {
  std::optional<CellFolder> first(std::in_place, study(), identity_);
  std::optional<CellFolder> second(std::in_place, study(), identity_);
  first->publish(key_, cell_);
  first->put_note("note");
  EXPECT_EQ(second->note(), "note");
  first->leave_for_good();
  first.reset();
  EXPECT_TRUE(second->find(key_)) << "somebody is there";
  second->leave_for_good();
  second.reset();
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(CellFolderTest, AFileOfItsNameIsRefused) {
  std::ofstream(folder()) << "of somebody";
  EXPECT_THROW(CellFolder(study(), identity_), Error);
  fs::remove(folder());
  fs::create_directory(folder() + "-elsewhere");
  fs::create_directory_symlink(folder() + "-elsewhere", folder());
  EXPECT_THROW(CellFolder(study(), identity_), Error);
}

}  // namespace
}  // namespace ropewalk
