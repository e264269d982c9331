#include "ropewalk/formats/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const TempDirectory directory;
  const MappedFile file = MappedFile::open(directory.write("file", "rope"));
  EXPECT_EQ(text_of(file), "rope");
}

TEST(MappedFile, MovesWithoutMovingTheBytes) {
  const TempDirectory directory;
  MappedFile first = MappedFile::open(directory.write("first", "first"));
  const std::byte* const address = first.bytes().data();
  MappedFile second = MappedFile::open(directory.write("second", "second"));
  second = std::move(first);
  EXPECT_EQ(second.bytes().data(), address);
  EXPECT_EQ(text_of(second), "first");
}

TEST(MappedFile, MapsAnEmptyFileToNothing) {
  const TempDirectory directory;
  EXPECT_TRUE(MappedFile::open(directory.write("empty", "")).bytes().empty());
}

TEST(MappedFile, NamesThePathItCannotOpen) {
  EXPECT_THAT(message_of([] { MappedFile::open("/nowhere/model.gguf"); }),
              HasSubstr("/nowhere/model.gguf: must be readable, got No such file"));
}

TEST(MappedFile, RefusesDirectoriesAndPipes) {
  const TempDirectory directory;
  EXPECT_THAT(message_of([&] { MappedFile::open(directory.path()); }), HasSubstr("a directory"));
  const std::string pipe = directory.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { MappedFile::open(pipe); }), HasSubstr("regular file"));
}

}  // namespace
}  // namespace ropewalk
