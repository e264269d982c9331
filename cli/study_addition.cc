#include "cli/study_addition.h"

#include <filesystem>

#include "cli/option_checks.h"
#include "ropewalk/base/error.h"
#include "ropewalk/study/identity.h"
#include "ropewalk/study/record.h"

namespace ropewalk {
namespace {

constexpr const char* kMake = "make one with ropewalk extend --study";

// Opening would make a study of a name that is not there.
const std::string& existing(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed))
    throw Error(path, "must be a study of `extend`", "no such file", kMake);
  return path;
}

}  // namespace

StudyAddition::StudyAddition(const std::string& path, const std::string& model,
                             const std::string& precision)
    : store_(existing(path), model_identity(model, precision)) {
  if (!store_.record(kFactsRecord))
    throw Error(path, "must be a study of `extend`", "a study of another kind", kMake);
}

void add_into_option(CLI::App& command, std::string& path) {
  command
      .add_option("--into", path,
                  "A study of `extend` of this model and precision: its report shows the result")
      ->check(names_file());
}

}  // namespace ropewalk
