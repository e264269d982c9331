#include "ropewalk/config/output_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OutputFile : public testing::Test {
 protected:
  std::string said(const std::string& output) const { return said_of(model_, output); }
  std::string said_of(const std::string& model, const std::string& output) const {
    return message_of([&] { check_replaceable(model, output); });
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  const TempDirectory folder_;
  const std::string model_ = folder_.write("model.gguf", plain_gguf().file());
};

TEST_F(OutputFile, OnlyModelsAreReplaced) {
  for (const std::string& fine :
       {path("new.gguf"), folder_.write("old.gguf", plain_gguf().file()),
        folder_.write("config.json", "{\"model_type\": \"llama\"}"), folder_.write("empty", "")}) {
    EXPECT_NO_THROW(check_replaceable(model_, fine, Replace::kModels)) << fine;
  }
  for (const char* name : {"thesis.txt", "thesis.gguf", "list.json", "broken.json"}) {
    const std::string content = std::string(name) == "list.json" ? "[1]" : "not a model";
    EXPECT_THAT(said(folder_.write(name, content)), HasSubstr("are not replaced, got ")) << name;
  }
}

TEST_F(OutputFile, AnotherModelNeedsForce) {
  const std::string other = folder_.write("other.gguf", plain_gguf("qwen2").file());
  EXPECT_THAT(said(other),
              AllOf(HasSubstr("written from this model before"), HasSubstr("--force")));
  const std::string config = folder_.write("config.json", "{\"model_type\": \"llama\"}");
  const std::string twin = folder_.write("twin.json", "{\"model_type\": \"llama\"}");
  EXPECT_THAT(message_of([&] { check_replaceable(config, twin); }), HasSubstr("--force"));
}

TEST_F(OutputFile, WhatWasWrittenFromTheModelIsWrittenAgain) {
  const std::string out = path("out.gguf");
  const auto write = [&](const std::string& model, const std::string& scheme, bool undo = false) {
    write_model({.model = model, .scheme = scheme, .output = out, .undo = undo});
  };
  write(model_, "yarn,factor=2");
  write(model_, "linear,factor=4");
  const std::string other = folder_.write("other.gguf", plain_gguf("qwen2").file());
  EXPECT_THAT(message_of([&] { write(other, "linear,factor=2"); }), HasSubstr("--force"));
  // From the same one in two steps, and undone to what is there already.
  const std::string first = path("first.gguf");
  write_model({.model = model_, .scheme = "linear,factor=2", .output = first});
  write(first, "yarn,factor=2");
  write(first, "declared", true);
  write(first, "declared", true);
  EXPECT_EQ(read_file(out), read_file(model_));
  EXPECT_THAT(message_of([&] { write(model_, "yarn,factor=2"); }), HasSubstr("--force"));
}

TEST_F(OutputFile, WhatWasConvertedFromTheModelIsWrittenAgain) {
  const std::string model = fixture("tiny_llama.gguf");
  const std::string out = path("out.gguf");
  const std::string first = path("first.gguf");
  write_model({.model = model, .scheme = "linear,factor=2", .output = first});
  for (const WriteType type : {WriteType::kF32, WriteType::kBf16}) {
    const std::string converted = path(type == WriteType::kF32 ? "f32.gguf" : "bf16.gguf");
    write_model({.model = model, .scheme = "yarn,factor=2", .type = type, .output = converted});
    EXPECT_NO_THROW(check_replaceable(model, converted));
    EXPECT_NO_THROW(check_replaceable(first, converted)) << "which counts from the same model";
  }
}

// One exponent of a matrix, one letter of the metadata: types and shapes stay those of the model.
TEST_F(OutputFile, WhatWasConvertedFromAnotherModelNeedsForce) {
  const std::string model = fixture("tiny_llama.gguf");
  std::string bytes = read_file(model);
  const std::string old = path("old.gguf");
  const auto refused = [&](const std::string& other) {
    for (const WriteType type : {WriteType::kF32, WriteType::kBf16}) {
      write_model({.model = folder_.write("other.gguf", other),
                   .scheme = "linear,factor=2",
                   .type = type,
                   .output = old,
                   .force = true});
      EXPECT_THAT(said_of(model, old), HasSubstr("--force"));
    }
  };
  std::string tensor = bytes;
  const GgufFile file = GgufFile::parse(as_bytes(bytes), model);
  const auto matrix = std::ranges::find_if(
      file.tensors(), [](const TensorInfo& info) { return info.shape.size() > 1; });
  ASSERT_NE(matrix, file.tensors().end());
  tensor[static_cast<size_t>(file.tensor_bytes(*matrix).data() - file.bytes().data()) + 3] ^= 0x40;
  refused(tensor);
  std::string metadata = bytes;
  const std::string key = "general.name";
  const size_t place = metadata.find(key);
  ASSERT_NE(place, std::string::npos);
  metadata[place + key.size() + sizeof(uint32_t) + sizeof(uint64_t)] ^= 1;  // its first letter
  refused(metadata);
}

TEST_F(OutputFile, WhatWasChangedSinceItWasWrittenNeedsForce) {
  const std::string model = fixture("tiny_llama.gguf");
  const std::string out = path("out.gguf");
  write_model({.model = model, .scheme = "linear,factor=2", .output = out});
  EXPECT_NO_THROW(check_replaceable(model, out));
  std::string bytes = read_file(out);
  bytes.back() ^= 1;
  folder_.write("out.gguf", bytes);
  EXPECT_THAT(said_of(model, out), HasSubstr("--force"));
}

TEST_F(OutputFile, TheModelItselfIsNotReplacedByAnyName) {
  EXPECT_THAT(said(model_), HasSubstr("never modified"));
  EXPECT_THAT(said(path("./model.gguf")), HasSubstr("never modified"));
  std::filesystem::create_symlink(model_, path("link.gguf"));
  std::filesystem::create_symlink("link.gguf", path("link_to_link"));
  std::filesystem::create_hard_link(model_, path("twin.gguf"));
  for (const char* name : {"link.gguf", "link_to_link", "twin.gguf"}) {
    EXPECT_THAT(said(path(name)), HasSubstr("never modified")) << name;
  }
  // And the other way round: the model is given by a link.
  EXPECT_THAT(message_of([&] { check_replaceable(path("link.gguf"), model_); }),
              HasSubstr("never modified"));
}

TEST_F(OutputFile, LinksAreNotReplaced) {
  folder_.write("old.gguf", plain_gguf().file());
  std::filesystem::create_symlink("old.gguf", path("link.gguf"));
  std::filesystem::create_symlink("nowhere.gguf", path("dangling.gguf"));
  for (const char* name : {"link.gguf", "dangling.gguf"}) {
    EXPECT_THAT(said(path(name)), AllOf(HasSubstr("must not be a symbolic link"),
                                        HasSubstr(path(name) + "; name the file")));
  }
  EXPECT_THAT(said("/dev/stdout"), HasSubstr("/dev/stdout; name"));
}

TEST_F(OutputFile, WhatIsNoRegularFileIsNotReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& special : {folder_.path(), path("pipe"), std::string("/dev/null")}) {
    EXPECT_THAT(said(special), AllOf(HasSubstr("must be a regular file"),
                                     HasSubstr(special + "; name a new file")));
  }
  EXPECT_THAT(said(""), HasSubstr("must name a file"));
}

TEST_F(OutputFile, TheFolderMustTakeAFile) {
  const auto tried = [&](const std::string& model, const std::string& output) {
    return message_of([&] { check_output(model, output); });
  };
  EXPECT_NO_THROW(check_output(model_, path("new.gguf")));
  EXPECT_FALSE(std::filesystem::exists(path("new.gguf")));
  EXPECT_THAT(tried(model_, path("none/new.gguf")), HasSubstr("must be in a folder that is there"));
  EXPECT_THAT(tried(model_, path("model.gguf/new.gguf")), HasSubstr("must be in a folder"));
  EXPECT_THAT(tried(model_, "/proc/new.gguf"), HasSubstr("must be writable"));
  EXPECT_THAT(tried(model_, ""), HasSubstr("must name a file"));
  const std::string config = folder_.write("config.json", "{}");
  EXPECT_NO_THROW(check_output(config, path("made/later")));
  EXPECT_FALSE(std::filesystem::exists(path("made")));
  EXPECT_THAT(tried(folder_.path(), folder_.path()), HasSubstr("never modified"));
}

}  // namespace
}  // namespace ropewalk
