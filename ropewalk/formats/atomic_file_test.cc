#include "ropewalk/formats/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

size_t files_in(const TempDirectory& directory) {
  const fs::directory_iterator all(directory.path());
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(AtomicFile, AppearsWholeWhenCommitted) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/out";
  const std::string large(3 << 20, 'x');
  AtomicFile file(path);
  file.write("small ");
  file.write(large);
  file.write(as_bytes(" end"));
  EXPECT_EQ(file.size(), large.size() + 10);
  EXPECT_FALSE(fs::exists(path));
  file.flush();
  EXPECT_EQ(read_file(file.temporary_path()), "small " + large + " end");
  EXPECT_EQ(fs::path(file.temporary_path()).parent_path(), directory.path());
  file.commit();
  EXPECT_EQ(read_file(path), "small " + large + " end");
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(AtomicFile, LeavesEverythingAsItWasWhenGivenUp) {
  const TempDirectory directory;
  const std::string path = directory.write("out", "old");
  {
    AtomicFile file(path);
    file.write("new");
    file.flush();
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(AtomicFile, ReplacesTheNameAndNotWhatALinkPointsTo) {
  const TempDirectory directory;
  const std::string target = directory.write("target", "old");
  const std::string link = directory.path() + "/link";
  fs::create_symlink(target, link);
  AtomicFile file(link);
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(target), "old");
  EXPECT_EQ(read_file(link), "new");
}

TEST(AtomicFile, RemovesWhatAKilledWriterLeft) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/out";
  const pid_t writer = fork();
  if (writer == 0) {
    AtomicFile file(path);
    file.write("half");
    file.flush();
    kill(getpid(), SIGKILL);
  }
  waitpid(writer, nullptr, 0);
  ASSERT_EQ(files_in(directory), 1u);
  AtomicFile living(path);
  living.write("living");
  AtomicFile other(path);
  EXPECT_EQ(files_in(directory), 2u) << "of the living alone";
  living.commit();
  EXPECT_EQ(read_file(path), "living");
}

TEST(AtomicFile, LeavesFilesOfOtherNamesAlone) {
  const TempDirectory directory;
  directory.write(".out.ropewalk-notes.txt", "mine");
  directory.write(".output.ropewalk-01234567", "of another");
  // As long as the digits of a temporary name, but no such digits; such a name, but no file.
  directory.write(".out.ropewalk-notes.md", "mine");
  directory.write(".out.ropewalk-ABCDEF01", "mine");
  ASSERT_EQ(mkfifo((directory.path() + "/.out.ropewalk-01234567").c_str(), 0600), 0);
  const AtomicFile file(directory.path() + "/out");
  EXPECT_EQ(files_in(directory), 6u);
}

TEST(AtomicFile, LeavesAUsersFileOfATemporarysNameAlone) {
  const TempDirectory directory;
  const std::string model = directory.write(".out.ropewalk-12345678", "a model");
  AtomicFile file(directory.path() + "/out");
  file.write("x");
  file.commit();
  EXPECT_EQ(read_file(model), "a model");
}

TEST(AtomicFile, KeepsThePermissionsOfWhatItReplaces) {
  const TempDirectory directory;
  const std::string path = directory.write("out", "old");
  for (const mode_t mode : {0600, 0640, 0444}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    AtomicFile file(path);
    file.write("new");
    file.commit();
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
  }
}

TEST(AtomicFile, NamesAreAsLongAsTheyMayBe) {
  const TempDirectory directory;
  AtomicFile file(directory.path() + "/" + std::string(255, 'n'));
  file.write("x");
  file.commit();
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(AtomicFile, RefusesWhatCannotBeWritten) {
  const TempDirectory directory;
  EXPECT_THAT(message_of([&] { AtomicFile file(directory.path()); }), HasSubstr("regular file"));
  EXPECT_THAT(message_of([&] { AtomicFile file(directory.path() + "/"); }),
              HasSubstr("must name a file"));
  const std::string nowhere = directory.path() + "/none/out";
  EXPECT_THAT(message_of([&] { const AtomicFile file(nowhere); }),
              HasSubstr(nowhere + ": must be writable"));
}

TEST(RefuseSameFile, KnowsTheOriginalByEveryName) {
  const TempDirectory directory;
  const std::string original = directory.write("model", "x");
  const std::string link = directory.path() + "/link";
  const std::string twin = directory.path() + "/twin";
  fs::create_symlink(original, link);
  fs::create_hard_link(original, twin);
  for (const std::string& output : {original, directory.path() + "/./model", link, twin}) {
    EXPECT_THAT(message_of([&] { refuse_same_file(original, output); }),
                HasSubstr("must be another file"));
  }
  EXPECT_NO_THROW(refuse_same_file(original, directory.path() + "/other"));
  EXPECT_NO_THROW(refuse_same_file(original, directory.write("copy", "x")));
}

}  // namespace
}  // namespace ropewalk
