#include "ropewalk/config/output_file.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/atomic_file.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

bool is_gguf(const std::string& path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string(magic, sizeof(magic)) == "GGUF";
}

bool is_json_object(const std::string& path) {
  try {
    return load_json(path).is_object();
  } catch (const Error&) {
    return false;
  }
}

// A file is written beside the output and renamed to it: that would replace the link or the device
// itself, not what it stands for.
void refuse_special(const std::string& output) {
  if (output.empty()) throw Error("output", "must name a file", "an empty name", "give a path");
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::symlink_status(output, failed);
  switch (status.type()) {
    case std::filesystem::file_type::not_found:
    case std::filesystem::file_type::regular:
      break;
    case std::filesystem::file_type::none:
      throw Error("output", "must be in a folder that can be read",
                  output + ": " + failed.message(), "choose another folder");
    case std::filesystem::file_type::symlink:
      throw Error("output", "must not be a symbolic link: the link itself would be replaced",
                  output, "name the file that it points to, or a new one");
    default:
      throw Error("output", "must be a regular file, not a folder, device or pipe", output,
                  "name a new file");
  }
}

}  // namespace

void check_replaceable(const std::string& model, const std::string& output) {
  refuse_same_file(model, output);
  refuse_special(output);
  std::error_code failed;
  if (!std::filesystem::exists(output, failed)) return;
  if (std::filesystem::file_size(output, failed) == 0) return;
  const bool json = std::filesystem::path(output).extension() == ".json";
  if (json ? is_json_object(output) : is_gguf(output)) return;
  throw Error("output",
              std::string("must be a new file, or one that holds a ") +
                  (json ? "JSON object" : "GGUF model") + ": other files are not replaced",
              output, "remove the file first if it may go");
}

void check_output(const std::string& model, const std::string& output) {
  if (output.empty()) check_replaceable(model, output);
  std::filesystem::path read = model;
  std::filesystem::path written = output;
  if (std::filesystem::is_directory(read)) read /= "config.json";
  if (read.extension() == ".json" && written.extension() != ".json") written /= "config.json";
  check_replaceable(read.string(), written.string());
  // A write makes the folder of a config.json, and no other.
  std::error_code failed;
  std::filesystem::path folder = written.parent_path();
  if (read.extension() == ".json") {
    while (!folder.empty() && !std::filesystem::exists(folder, failed)) {
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
  }
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, failed)) {
    throw Error("output", "must be in a folder that is there", output,
                "make the folder " + folder.string() + " first");
  }
  const AtomicFile trial((folder / written.filename()).string());
}

}  // namespace ropewalk
