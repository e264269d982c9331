#include "ropewalk/base/whole_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

class WholeFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "whole-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string pipe(const std::string& name) const {
    EXPECT_EQ(mkfifo(path(name).c_str(), 0600), 0);
    return path(name);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string said(const std::string& path, size_t most = 10) {
    try {
      read_whole_file(path, most);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  std::string folder_;
};

TEST_F(WholeFile, BytesAreTakenAsTheyAre) {
  std::string content;
  for (int k = 0; k < 300000; ++k) content += static_cast<char>(k % 251);
  EXPECT_EQ(read_whole_file(file("long", content), content.size()), content);
  EXPECT_EQ(read_whole_file(file("empty", ""), 0), "");
}

TEST_F(WholeFile, MoreThanTheBoundIsRefused) {
  EXPECT_EQ(read_whole_file(file("ten", "0123456789"), 10).size(), 10u);
  EXPECT_THAT(said(file("eleven", "0123456789x")),
              HasSubstr("/eleven: must hold at most 10 bytes"));
}

TEST_F(WholeFile, WhatIsNoFileIsRefused) {
  EXPECT_THAT(said("/dev/zero"), HasSubstr("/dev/zero: must be a regular file or a pipe"));
  EXPECT_THAT(said(folder_), HasSubstr("a directory"));
  EXPECT_THAT(said(path("missing")), HasSubstr("must be readable"));
}

TEST_F(WholeFile, APipeWithoutAWriterIsEmpty) { EXPECT_EQ(read_whole_file(pipe("p"), 10), ""); }

TEST_F(WholeFile, APipeIsWaitedForWhileItHasAWriter) {
  const std::string name = pipe("p");
  const int writer = open(name.c_str(), O_RDWR);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(write(writer, "late", 4), 4);
    close(writer);
  });
  EXPECT_EQ(read_whole_file(name, 10), "late");
  late.join();
}

}  // namespace
}  // namespace ropewalk
