#include "ropewalk/config/model_format.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ropewalk {
namespace {

TEST(ModelFormat, GoesByTheFileThatSaysThePositions) {
  const std::string folder = testing::TempDir() + "model.gguf";  // whatever its name
  std::filesystem::create_directories(folder);
  EXPECT_EQ(positions_file(folder), folder + "/config.json");
  EXPECT_EQ(model_format(folder), ModelFormat::kHuggingFace);
  EXPECT_EQ(positions_file("config.json"), "config.json");
  EXPECT_EQ(model_format("config.json"), ModelFormat::kHuggingFace);
  EXPECT_EQ(positions_file("nowhere/model.gguf"), "nowhere/model.gguf");
  EXPECT_EQ(model_format("nowhere/model.gguf"), ModelFormat::kGguf);
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace ropewalk
