#include "ropewalk/engine/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ropewalk {
namespace {

// A machine's /proc and /sys in a folder.
class AvailableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) / ("machine_" + std::string(info.name()));
    std::filesystem::remove_all(root_);
    write("proc/meminfo", "MemTotal: 2000 kB\nMemFree: 10 kB\nMemAvailable: 1000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::optional<AvailableMemory> available() const { return available_memory(root_.string()); }

  std::filesystem::path root_;
};

TEST_F(AvailableMemoryTest, TakesWhatTheMachineHas) {
  EXPECT_EQ(available()->bytes, 1000 * 1024);
  EXPECT_EQ(available()->source, "MemAvailable");
}

TEST_F(AvailableMemoryTest, TellsNothingWhereTheSystemDoesNot) {
  write("proc/meminfo", "MemTotal: 2000 kB\n");
  EXPECT_FALSE(available());
}

TEST_F(AvailableMemoryTest, TakesTheLimitOfTheSecondVersion) {
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "500000\n");
  write("sys/fs/cgroup/jobs/one/memory.current", "300000\n");
  write("sys/fs/cgroup/jobs/one/memory.stat", "anon 1\ninactive_file 50000\nactive_file 7000\n");
  EXPECT_EQ(available()->bytes, 500000 - 300000 + 57000);
  EXPECT_TRUE(available()->source.ends_with("/jobs/one/memory.max"));
}

TEST_F(AvailableMemoryTest, TakesTheLimitOfAGroupAround) {
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/one/memory.current", "300000\n");
  write("sys/fs/cgroup/jobs/memory.max", "700000\n");
  write("sys/fs/cgroup/jobs/memory.current", "600000\n");
  EXPECT_EQ(available()->bytes, 100000);
}

TEST_F(AvailableMemoryTest, TakesTheLimitOfTheFirstVersion) {
  write("proc/self/cgroup", "5:cpu,memory:/job\n3:pids:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "400000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "350000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 9\ntotal_inactive_file 20000\n");
  EXPECT_EQ(available()->bytes, 70000);
}

// In a container the path is that of the machine outside, and the mount's root is the own group.
TEST_F(AvailableMemoryTest, TakesTheMountWhereThePathIsNotThere) {
  write("proc/self/cgroup", "0::/docker/abc\n");
  write("sys/fs/cgroup/memory.max", "200000\n");
  write("sys/fs/cgroup/memory.current", "150000\n");
  EXPECT_EQ(available()->bytes, 50000);
}

TEST_F(AvailableMemoryTest, IsNotNegative) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "200000\n");
  write("sys/fs/cgroup/memory.current", "250000\n");
  EXPECT_EQ(available()->bytes, 0);
}

TEST(ResidentMemory, IsThatOfAProcessThatRuns) { EXPECT_GT(resident_memory(), 1 << 20); }

}  // namespace
}  // namespace ropewalk
