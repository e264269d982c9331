#include "ropewalk/study/identity.h"

#include <algorithm>
#include <filesystem>

#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/sha256.h"

namespace ropewalk {
namespace {

// Raised whenever the same model and text would give other numbers within one version of the
// program.
constexpr const char* kMeasuresVersion = ROPEWALK_VERSION "/1";

void digest_file(const std::filesystem::path& path, Sha256& digest) {
  digest.update(MappedFile::open(path.string()).bytes());
}

}  // namespace

std::string model_digest(const std::string& model) {
  Sha256 digest;
  std::error_code failed;
  if (!std::filesystem::is_directory(model, failed)) {
    digest_file(model, digest);
    return digest.hex();
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(model)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".json" || extension == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) digest_file(file, digest);
  return digest.hex();
}

StudyIdentity model_identity(const std::string& model, const std::string& precision) {
  return {{"version", kMeasuresVersion}, {"model", model_digest(model)}, {"precision", precision}};
}

StudyIdentity study_identity(const std::string& model, const std::string& precision,
                             const std::vector<Window>& windows, int64_t target_length) {
  Sha256 text;
  for (const Window& window : windows) {
    const auto size = static_cast<uint64_t>(window.ids.size());
    text.update(std::as_bytes(std::span(&size, 1)));
    text.update(std::as_bytes(std::span(window.ids)));
  }
  return {{"version", kMeasuresVersion},
          {"model", model_digest(model)},
          {"text", text.hex()},
          {"target length", std::to_string(target_length)},
          {"precision", precision}};
}

std::string identity_digest(const StudyIdentity& identity) {
  std::string all;
  for (const auto& [name, value] : identity) all += name + "=" + value + "\n";
  return sha256_hex(std::as_bytes(std::span(all)));
}

}  // namespace ropewalk
