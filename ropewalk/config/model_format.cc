#include "ropewalk/config/model_format.h"

#include <filesystem>
#include <system_error>

namespace ropewalk {

std::string positions_file(const std::string& model) {
  std::error_code failed;
  const std::filesystem::path path(model);
  return std::filesystem::is_directory(path, failed) ? (path / "config.json").string() : model;
}

ModelFormat model_format(const std::string& model) {
  const std::filesystem::path file(positions_file(model));
  return file.extension() == ".json" ? ModelFormat::kHuggingFace : ModelFormat::kGguf;
}

}  // namespace ropewalk
