#include "cli/result_file.h"

#include <filesystem>
#include <fstream>

#include "ropewalk/base/error.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/formats/atomic_file.h"

namespace ropewalk {
namespace {

bool is_replaceable(const std::string& path, std::string_view beginning) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) || std::filesystem::is_empty(path, failed))
    return true;
  std::ifstream file(path, std::ios::binary);
  std::string found(beginning.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  return file && found == beginning;
}

}  // namespace

void refuse_inputs(const std::string& option, const std::string& output,
                   const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code none;
    if (input == output || std::filesystem::equivalent(input, output, none))
      throw Error(option, "must be a file of its own, not one that is read", output);
  }
}

void check_result(const std::string& option, const std::string& output, std::string_view beginning,
                  const std::vector<std::string>& inputs) {
  refuse_inputs(option, output, inputs);
  refuse_special(output);
  if (!is_replaceable(output, beginning)) {
    throw Error(option,
                "must be a new file, or hold a result of the same kind: others are not replaced",
                output, "choose another name");
  }
  const AtomicFile trial(output);
}

void write_result(const std::string& output, std::string_view content) {
  AtomicFile file(output);
  file.write(content);
  file.commit();
}

}  // namespace ropewalk
