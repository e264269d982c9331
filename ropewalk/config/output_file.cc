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

}  // namespace

void check_replaceable(const std::string& model, const std::string& output) {
  refuse_same_file(model, output);
  std::error_code failed;
  if (!std::filesystem::is_regular_file(output, failed)) return;  // AtomicFile refuses the rest
  if (std::filesystem::file_size(output, failed) == 0) return;
  const bool json = std::filesystem::path(output).extension() == ".json";
  if (json ? is_json_object(output) : is_gguf(output)) return;
  throw Error("output",
              std::string("must be a new file, or one that holds a ") +
                  (json ? "JSON object" : "GGUF model") + ": other files are not replaced",
              output, "remove the file first if it may go");
}

}  // namespace ropewalk
