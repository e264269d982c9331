// Models in several GGUF files, sound and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ropewalk/formats/damaged_files.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kParts = 3;

std::string part_name(uint32_t number, uint32_t count = kParts) {
  return "m-0000" + std::to_string(number + 1) + "-of-0000" + std::to_string(count) + ".gguf";
}

// A part with the keys of the split; the first has the architecture too.
SmallGguf split_keys(uint32_t number, uint32_t count = kParts, uint32_t total = 4) {
  SmallGguf part;
  if (number == 0) part.text("general.architecture", "llama");
  part.number("split.no", number).number("split.count", count);
  return part.number("split.tensors.count", total);
}

std::string numbers(float first) {
  ByteWriter out;
  for (int i = 0; i < 8; ++i) out.put(first + static_cast<float>(i));
  return out.text();
}

// Four tensors in three files: 1, 2 and 1.
class GgufParts : public testing::Test {
 protected:
  GgufParts() {
    write(0, split_keys(0).tensor("a", {8}, 0, numbers(0)));
    write(1, split_keys(1).tensor("b", {4, 2}, 0, numbers(10)).tensor("c", {8}, 0, numbers(20)));
    write(2, split_keys(2).tensor("d", {8}, 0, numbers(30)));
  }

  std::string path(uint32_t number) const { return folder_.path() + "/" + part_name(number); }
  void write(uint32_t number, const SmallGguf& part) { write(number, part.bytes()); }
  void write(uint32_t number, const std::string& bytes) { folder_.write(part_name(number), bytes); }

  TempDirectory folder_;
};

TEST_F(GgufParts, AnyPartOpensAll) {
  for (uint32_t given = 0; given < kParts; ++given) {
    const GgufFile file = GgufFile::open_all(path(given));
    EXPECT_EQ(file.name(), path(0));
    EXPECT_EQ(file.metadata().get_string("general.architecture"), "llama");
    EXPECT_FALSE(file.is_part());
    EXPECT_TRUE(file.has_data());
    std::vector<std::string> names;
    std::vector<size_t> files;
    std::vector<float> firsts;
    for (const TensorInfo& info : file.tensors()) {
      names.push_back(info.name);
      files.push_back(info.file);
      std::vector<float> values(element_count(info));
      file.read_f32(info, values);
      firsts.push_back(values.front());
    }
    EXPECT_THAT(names, ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(files, ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(firsts, ElementsAre(0, 10, 20, 30));
  }
}

TEST_F(GgufParts, OnePartAloneIsAPart) {
  const GgufFile part = GgufFile::open(path(1));
  EXPECT_TRUE(part.is_part());
  EXPECT_EQ(part.tensors().size(), 2u);
  EXPECT_THAT(part_paths(part), ElementsAre(path(0), path(1), path(2)));
}

TEST_F(GgufParts, AFileThatIsNotSplitIsAll) {
  for (const uint32_t count : {0u, 1u}) {  // merged from parts, or never split
    const std::string bytes = split_keys(0, count, 1).tensor("a").bytes();
    const GgufFile file = GgufFile::open_all(folder_.write("any.gguf", bytes));
    EXPECT_FALSE(file.is_part());
    EXPECT_EQ(file.tensors().size(), 1u);
  }
}

// The first part may hold metadata alone.
TEST_F(GgufParts, PartsMayBeEmptyAndTellNoTotal) {
  write(0, SmallGguf().number("split.no", 0).number("split.count", kParts));
  write(1, SmallGguf().number("split.no", 1).number("split.count", kParts).tensor("b"));
  write(2, SmallGguf().number("split.no", 2).number("split.count", kParts).tensor("c"));
  EXPECT_EQ(GgufFile::open_all(path(0)).tensors().size(), 2u);
}

TEST_F(GgufParts, HeadersOfPartsAreEnoughWhereDataIsOptional) {
  const std::string whole = read_file(path(2));
  write(2, whole.substr(0, GgufFile::open(path(2)).data_offset()));
  const GgufFile file = GgufFile::open_all(path(0), GgufData::kOptional);
  EXPECT_FALSE(file.has_data());
  EXPECT_EQ(read_vector(file, "c", 8).front(), 20);
  EXPECT_THAT(message_of([&] { read_vector(file, "d", 8); }),
              HasSubstr(part_name(2) + ": tensor d: must be read from a whole file"));
}

TEST_F(GgufParts, ScalesOfEveryPartAreLookedAt) {
  write(2, split_keys(2).tensor("d", {32}, 8, std::string(34, '\xff')));
  const GgufFile file = GgufFile::open_all(path(0));
  EXPECT_THAT(message_of([&] { read_vector(file, "d", 32); }),
              HasSubstr("tensor d: must have finite scales"));
}

// ---- damaged splits

struct DamagedSplit {
  const char* what;
  std::function<void(const TempDirectory&)> damage;
  std::string says;
};

void expect_refusals(const std::vector<DamagedSplit>& rows, const std::vector<std::string>& parts) {
  std::vector<DamagedFile> files;
  for (const DamagedSplit& row : rows) {
    files.push_back({row.what,
                     [&row, &parts] {
                       const TempDirectory folder;
                       for (uint32_t k = 0; k < kParts; ++k) folder.write(part_name(k), parts[k]);
                       row.damage(folder);
                       GgufFile::open_all(folder.path() + "/" + part_name(0));
                     },
                     row.says});
  }
  expect_named_errors(files);
}

TEST_F(GgufParts, DamagedSplitsAreNamed) {
  namespace fs = std::filesystem;
  const auto put = [](uint32_t number, const SmallGguf& part) {
    return [number, bytes = part.bytes()](const TempDirectory& folder) {
      folder.write(part_name(number), bytes);
    };
  };
  const auto remove = [](const TempDirectory& folder, uint32_t number) {
    fs::remove(fs::path(folder.path()) / part_name(number));
  };
  const auto link = [remove](uint32_t number, const std::string& to) {
    return [=](const TempDirectory& folder) {
      remove(folder, number);
      fs::create_symlink(to, fs::path(folder.path()) / part_name(number));
    };
  };
  const std::vector<std::string> parts = {read_file(path(0)), read_file(path(1)),
                                          read_file(path(2))};
  const std::string second = part_name(1);
  const std::string third = part_name(2);
  expect_refusals(
      {
          {"a part is missing", [&](const TempDirectory& folder) { remove(folder, 1); },
           second + ": must be there: it is part 2 of 3 of the model"},
          {"the last part is missing", [&](const TempDirectory& folder) { remove(folder, 2); },
           third + ": must be there: it is part 3 of 3"},
          {"both others are missing",
           [&](const TempDirectory& folder) {
             remove(folder, 1);
             remove(folder, 2);
           },
           second + ": must be there: it is part 2 of 3 of the model, got neither it nor " + third},
          {"no split.no", put(0, SmallGguf().number("split.count", kParts).tensor("a")),
           "split.no: must be present"},
          {"no split.no in a later part",
           put(1, SmallGguf().number("split.count", kParts).tensor("b").tensor("c")),
           second + ": split.no: must be present"},
          {"a worded split.count", put(0, SmallGguf().text("split.count", "3").tensor("a")),
           "split.count: must be a non-negative integer"},
          {"split.no past the count", put(0, split_keys(3).tensor("a")),
           "split.no: must be below split.count 3, got 3"},
          {"an absurd count", put(0, split_keys(0, UINT32_MAX).tensor("a")),
           "split.count: must be at most 65535, got 4294967295"},
          {"a count that the name does not tell", put(0, split_keys(0, 9).tensor("a")),
           "must be named as the part 1 of 9 that its keys say it is"},
          {"a number that the name does not tell", put(0, split_keys(1).tensor("a")),
           "must be named as the part 2 of 3 that its keys say it is"},
          {"the first part again", link(1, part_name(0)), second + ": split.no: must be 1"},
          {"the third part in place of the second", link(1, third),
           second + ": split.no: must be 1, as the file's name says, got 2"},
          {"a link to itself", link(1, second), second + ": must be there"},
          {"a circle of links", link(2, third + ".gguf"), third + ": must be there"},
          {"a part of a split in four", put(2, split_keys(2, 4).tensor("d")),
           third + ": split.count: must be 3 in all parts, got 4"},
          {"too few tensors", put(1, split_keys(1).tensor("b")),
           "split.tensors.count: must be 3, the number of tensors in all parts, got 4"},
          {"too many tensors", put(2, split_keys(2).tensor("d").tensor("e")),
           "split.tensors.count: must be 5, the number of tensors in all parts, got 4"},
          {"another total in one part", put(2, split_keys(2, kParts, 5).tensor("d")),
           third + ": split.tensors.count: must be 4"},
          {"a tensor in two parts", put(2, split_keys(2).tensor("a")),
           third + ": tensor a: must be in one part only, got also in "},
          {"a part of another model",
           put(2, split_keys(2).text("general.architecture", "gpt2").tensor("d")),
           third + ": general.architecture: must be llama as in the first part, got gpt2"},
          {"a part that is cut off",
           [&](const TempDirectory& folder) {
             folder.write(third, parts[2].substr(0, parts[2].size() - 4));
           },
           third + ": tensor d: must end within the file"},
          {"a part that is no GGUF",
           [&](const TempDirectory& folder) { folder.write(second, "{}"); },
           second + ": not a GGUF file"},
          {"a part that is a directory",
           [&](const TempDirectory& folder) {
             remove(folder, 1);
             fs::create_directory(fs::path(folder.path()) / second);
           },
           second + ": must be a regular file, got a directory"},
      },
      parts);
}

}  // namespace
}  // namespace ropewalk
