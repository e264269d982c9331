#include "cli/model_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace ropewalk {
namespace {

constexpr const char* kTotal = "split.tensors.count";

// Where all parts are; nothing where one of them is not there, or the file's name does not tell.
std::optional<std::vector<std::string>> find_parts(const GgufFile& file) {
  const auto is_there = [](const std::string& path) {
    std::error_code failed;
    return std::filesystem::is_regular_file(path, failed);
  };
  try {
    std::vector<std::string> paths = part_paths(file);
    if (std::ranges::all_of(paths, is_there)) return paths;
  } catch (const Error&) {
    // It does not run then, and that is said where it is opened.
  }
  return std::nullopt;
}

// The tensors of all parts, where they are there.
std::optional<uint64_t> count_all(const GgufFile& file) {
  const auto paths = find_parts(file);
  if (!paths) return std::nullopt;
  uint64_t count = file.tensors().size();
  for (const std::string& path : *paths) {
    if (path != file.name()) count += GgufFile::open(path, GgufData::kOptional).tensors().size();
  }
  return count;
}

bool is_weights(const std::string& name) {
  return name.ends_with(".safetensors") ||
         (name.starts_with("pytorch_model") && name.ends_with(".bin"));
}

}  // namespace

std::optional<Error> find_part_mismatch(const GgufFile& file) {
  const std::optional<uint64_t> total = file.metadata().find_u64(kTotal);
  if (!total) return std::nullopt;
  const uint64_t parts = file.metadata().find_u64("split.count").value_or(1);
  file.metadata().find_u64("split.no");  // refuses a negative one
  const uint64_t own = file.tensors().size();
  const std::optional<uint64_t> all = parts > 1 ? count_all(file) : own;
  if (all ? *all == *total : own <= *total) return std::nullopt;
  return Error(file.name() + ": " + kTotal,
               all ? fmt::format("must be {}, the number of tensors", *all)
                   : fmt::format("must be at least {}, the number of tensors in this part", own),
               std::to_string(*total), "a part is of another model, or cut off: split it again")
      .of(FaultKind::kSumMismatch);
}

std::shared_ptr<const GgufFile> with_other_parts(std::shared_ptr<const GgufFile> file) {
  if (!file->is_part() || !find_parts(*file)) return file;
  const GgufData data = file->has_data() ? GgufData::kRequired : GgufData::kOptional;
  return std::make_shared<GgufFile>(GgufFile::open_all(file->name(), data));
}

UnreadWeights find_unread_weights(const std::filesystem::path& folder) {
  UnreadWeights found;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!is_weights(name)) continue;
    const bool shard = name.starts_with("model-") && name.find("-of-") != std::string::npos;
    (shard ? found.shards : found.others).push_back(name);
  }
  std::ranges::sort(found.shards);
  std::ranges::sort(found.others);
  return found;
}

}  // namespace ropewalk
