// Models in several GGUF files. Source: llama.cpp's tools/gguf-split and src/llama-model-loader.cpp:
// every part has split.no, split.count and split.tensors.count, the first the rest of the metadata.
#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/missing_files.h"
#include "ropewalk/formats/name_index.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kNumber = "split.no";
constexpr const char* kCount = "split.count";
constexpr const char* kTotal = "split.tensors.count";
constexpr const char* kArchitecture = "general.architecture";
constexpr uint64_t kMostParts = 65535;  // the key is a u16

std::string part_text(uint64_t number, uint64_t count) {
  return "part " + std::to_string(number + 1) + " of " + std::to_string(count);
}

// "-00001-of-00003.gguf" for number 0 of 3.
std::string part_ending(uint64_t number, uint64_t count) {
  std::ostringstream text;
  text << std::setfill('0') << '-' << std::setw(5) << number + 1 << "-of-" << std::setw(5) << count
       << ".gguf";
  return text.str();
}

uint64_t part_count(const GgufFile& part) {
  const uint64_t count = part.metadata().get_u64(kCount);
  if (count <= kMostParts) return count;
  throw Error(part.name() + ": " + kCount, "must be at most " + std::to_string(kMostParts),
              std::to_string(count))
      .of(FaultKind::kOutOfRange);
}

uint64_t part_number(const GgufFile& part, uint64_t count) {
  const uint64_t number = part.metadata().get_u64(kNumber);
  if (number < count) return number;
  throw Error(part.name() + ": " + kNumber, "must be below split.count " + std::to_string(count),
              std::to_string(number), "the parts count from 0: split the model again")
      .of(FaultKind::kOutOfRange);
}

void refuse_missing(const std::vector<std::string>& paths) {
  const std::optional<MissingFiles> missing = find_missing(paths);
  if (!missing) return;
  throw Error(paths[missing->first],
              "must be there: it is " + part_text(missing->first, paths.size()) + " of the model",
              missing->others, "put all parts into one directory")
      .of(FaultKind::kMissingKey);
}

// One that is another part than its name says, or another model's.
void check_part(const GgufFile& part, uint64_t number, uint64_t count, const GgufFile& first) {
  const GgufMetadata& metadata = part.metadata();
  const uint64_t said = metadata.get_u64(kNumber);
  if (said != number) {
    throw Error(part.name() + ": " + kNumber,
                "must be " + std::to_string(number) + ", as the file's name says",
                std::to_string(said), "one part lies under the name of another: fetch it anew")
        .of(FaultKind::kConflict);
  }
  const uint64_t parts = metadata.get_u64(kCount);
  if (parts != count) {
    throw Error(part.name() + ": " + kCount, "must be " + std::to_string(count) + " in all parts",
                std::to_string(parts))
        .of(FaultKind::kConflict);
  }
  const auto architecture = metadata.find_string(kArchitecture);
  const auto expected = first.metadata().find_string(kArchitecture);
  if (architecture && expected && *architecture != *expected) {
    throw Error(part.name() + ": " + kArchitecture,
                "must be " + printable(*expected) + " as in the first part",
                printable(*architecture), "the part is of another model")
        .of(FaultKind::kConflict);
  }
}

// Every part that tells the number of all tensors must tell the right one.
void check_totals(const std::vector<GgufFile>& parts) {
  uint64_t all = 0;
  for (const GgufFile& part : parts) all += part.tensors().size();
  for (const GgufFile& part : parts) {
    const uint64_t total = part.metadata().find_u64(kTotal).value_or(all);
    if (total == all) continue;
    throw Error(part.name() + ": " + kTotal,
                "must be " + std::to_string(all) + ", the number of tensors in all parts",
                std::to_string(total), "a part is of another model, or cut off: split it again")
        .of(FaultKind::kSumMismatch);
  }
}

void refuse_twins(const std::vector<TensorInfo>& tensors, const std::vector<GgufFile>& parts) {
  const std::span<const TensorInfo> all(tensors);
  const auto name_of = [](const TensorInfo& info) -> const std::string& { return info.name; };
  const std::vector<uint32_t> order = index_by_name(all, name_of);
  const TensorInfo* const twice = find_duplicate(all, std::span(order), name_of);
  if (twice == nullptr) return;
  const auto earlier = std::ranges::find(tensors, twice->name, &TensorInfo::name);
  throw Error(parts[twice->file].name() + ": tensor " + printable(twice->name),
              "must be in one part only", "also in " + parts[earlier->file].name())
      .of(FaultKind::kConflict);
}

}  // namespace

bool GgufFile::is_part() const {
  return files_.size() == 1 && metadata_.find_u64(kCount).value_or(1) > 1;
}

std::vector<std::string> part_paths(const GgufFile& part) {
  const std::string& name = part.name();
  const uint64_t count = part_count(part);
  const uint64_t own = part_number(part, count);
  const std::string ending = part_ending(own, count);
  if (!name.ends_with(ending)) {
    throw Error(name, "must be named as the " + part_text(own, count) + " that its keys say it is",
                {}, "let its name end in " + ending + ", and the others' likewise");
  }
  const std::string stem = name.substr(0, name.size() - ending.size());
  std::vector<std::string> paths;
  for (uint64_t number = 0; number < count; ++number) {
    paths.push_back(stem + part_ending(number, count));
  }
  return paths;
}

GgufFile GgufFile::open_all(const std::string& path, GgufData data) {
  GgufFile given = open(path, data);
  if (!given.is_part()) return given;
  const std::vector<std::string> paths = part_paths(given);
  refuse_missing(paths);
  std::vector<GgufFile> parts;
  for (size_t number = 0; number < paths.size(); ++number) {
    parts.push_back(paths[number] == path ? std::move(given) : open(paths[number], data));
    check_part(parts.back(), number, paths.size(), parts.front());
  }
  check_totals(parts);
  return join(std::move(parts));
}

GgufFile GgufFile::join(std::vector<GgufFile> parts) {
  std::vector<TensorInfo> tensors;
  std::vector<File> files;
  Layout layout = parts.front().layout_;
  for (size_t number = 0; number < parts.size(); ++number) {
    for (TensorInfo info : parts[number].tensors()) {
      info.file = number;
      tensors.push_back(std::move(info));
    }
    files.push_back(parts[number].files_.front());
    layout.has_data = layout.has_data && parts[number].has_data();
  }
  refuse_twins(tensors, parts);
  return GgufFile(std::move(files), std::move(parts.front().metadata_), std::move(tensors), layout);
}

}  // namespace ropewalk
