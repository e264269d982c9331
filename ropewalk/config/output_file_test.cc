#include "ropewalk/config/output_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

class OutputFile : public testing::Test {
 protected:
  std::string said(const std::string& output) const {
    return message_of([&] { check_replaceable(model_, output); });
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  const TempDirectory folder_;
  const std::string model_ = folder_.write("model.gguf", plain_gguf().file());
};

TEST_F(OutputFile, OnlyModelsAreReplaced) {
  for (const std::string& fine :
       {path("new.gguf"), folder_.write("old.gguf", plain_gguf().file()),
        folder_.write("config.json", "{\"model_type\": \"llama\"}"), folder_.write("empty", "")}) {
    EXPECT_NO_THROW(check_replaceable(model_, fine)) << fine;
  }
  for (const char* name : {"thesis.txt", "thesis.gguf", "list.json", "broken.json"}) {
    const std::string content = std::string(name) == "list.json" ? "[1]" : "not a model";
    EXPECT_THAT(said(folder_.write(name, content)), HasSubstr("are not replaced, got ")) << name;
  }
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

}  // namespace
}  // namespace ropewalk
