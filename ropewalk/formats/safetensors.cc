#include "ropewalk/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/byte_reader.h"
#include "ropewalk/formats/checked_math.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/missing_files.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using Metadata = std::map<std::string, std::string>;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

struct Header {
  std::vector<TensorInfo> tensors;
  Metadata metadata;
};

// One file's header and the checks that the format asks for.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& place)
      : bytes_(bytes), place_(place) {}

  Header read() {
    const Json table = read_table();
    Header header;
    for (const auto& [name, value] : table.get_ref<const Json::object_t&>()) {
      if (name == kMetadataKey) {
        header.metadata = read_metadata(value);
      } else {
        header.tensors.push_back(read_tensor_info(name, value));
      }
    }
    check_coverage(header.tensors);
    return header;
  }

 private:
  Json read_table() {
    ByteReader reader(bytes_, place_);
    const auto length = reader.read<uint64_t>("the header's length");
    if (length > kMaxHeaderBytes) {
      throw Error(place_,
                  "its header must have at most 100000000 bytes, or it is no safetensors file",
                  std::to_string(length));
    }
    const std::span<const std::byte> text = reader.take(length, "the header");
    data_offset_ = reader.offset();
    if (text.empty() || text.front() != std::byte{'{'}) {
      throw Error(place_, "not a safetensors file: its header must start with \"{\"");
    }
    return parse_json({reinterpret_cast<const char*>(text.data()), text.size()},
                      place_ + ": header", kMaxHeaderBytes);
  }

  Metadata read_metadata(const Json& value) const {
    Metadata metadata;
    if (!value.is_object()) throw refusal(kMetadataKey, "must be an object of strings");
    for (const auto& [key, text] : value.get_ref<const Json::object_t&>()) {
      if (!text.is_string()) throw refusal(kMetadataKey, "must be an object of strings");
      metadata.emplace(key, text.get_ref<const std::string&>());
    }
    return metadata;
  }

  TensorInfo read_tensor_info(const std::string& name, const Json& value) const {
    TensorInfo info;
    info.name = name;
    const Json* dtype = nullptr;
    const Json* shape = nullptr;
    const Json* offsets = nullptr;
    if (value.is_object()) {
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        if (key == "dtype") dtype = &member;
        if (key == "shape") shape = &member;
        if (key == "data_offsets") offsets = &member;
      }
    }
    if (dtype == nullptr || shape == nullptr || offsets == nullptr) {
      throw refusal(name, "must be an object with dtype, shape and data_offsets");
    }
    if (!dtype->is_string()) throw refusal(name, "dtype must be a string");
    info.type_name = printable(dtype->get_ref<const std::string&>());
    info.type = type_from_safetensors(dtype->get_ref<const std::string&>());
    info.shape = read_numbers(name, "shape", *shape);
    place(info, read_numbers(name, "data_offsets", *offsets));
    return info;
  }

  std::vector<uint64_t> read_numbers(const std::string& name, const char* what,
                                     const Json& value) const {
    const auto refuse = [&] {
      throw refusal(name, std::string(what) + " must be an array of non-negative integers");
    };
    if (!value.is_array()) refuse();
    std::vector<uint64_t> numbers;
    numbers.reserve(value.size());
    for (const Json& number : value) {
      if (!number.is_number_unsigned()) refuse();
      numbers.push_back(number.get<uint64_t>());
    }
    return numbers;
  }

  // Sets offset and bytes from [begin, end), which count from the first byte of data.
  void place(TensorInfo& info, const std::vector<uint64_t>& offsets) const {
    const uint64_t data_bytes = bytes_.size() - data_offset_;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
      throw refusal(info.name,
                    "data_offsets must be [begin, end) within the " + std::to_string(data_bytes) +
                        " bytes of data",
                    shape_text(offsets));
    }
    info.offset = data_offset_ + offsets[0];
    info.bytes = offsets[1] - offsets[0];
    const std::optional<uint64_t> elements = checked_product(info.shape);
    if (!elements) throw refusal(info.name, "must have a shape below 2^64", shape_text(info.shape));
    if (info.type == TensorType::kUnknown) return;
    const std::optional<uint64_t> bytes = checked_product(*elements, block_bytes(info.type));
    if (bytes != info.bytes) {
      throw refusal(
          info.name,
          "data_offsets must span the bytes of " + info.type_name + " " + shape_text(info.shape),
          std::to_string(info.bytes) + " bytes");
    }
  }

  // Each tensor must begin where another ended, from the first byte of data to the last.
  void check_coverage(const std::vector<TensorInfo>& tensors) const {
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(tensors[a].offset, tensors[a].bytes) <
             std::pair(tensors[b].offset, tensors[b].bytes);
    });
    uint64_t end = data_offset_;
    for (const size_t index : order) {
      const TensorInfo& info = tensors[index];
      if (info.offset != end) {
        throw refusal(info.name,
                      std::string("must begin where the tensor before it ends") +
                          (info.offset < end ? ": they overlap" : ": there is a hole"),
                      "byte " + std::to_string(info.offset) + " for " + std::to_string(end));
      }
      end = info.offset + info.bytes;
    }
    if (end != bytes_.size()) {
      throw Error(place_, "must end with its last tensor, at byte " + std::to_string(end),
                  std::to_string(bytes_.size()) + " bytes");
    }
  }

  Error refusal(std::string_view tensor, std::string rule, std::string value = {}) const {
    return Error(place_ + ": tensor " + printable(tensor), std::move(rule), std::move(value));
  }

  std::span<const std::byte> bytes_;
  const std::string& place_;
  uint64_t data_offset_ = 0;
};

// A shard must lie beside its index: nothing that could name another directory passes.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// The index's {tensor: shard}, shards numbered in the order they come up.
struct ShardMap {
  std::vector<std::string> shards;
  std::vector<std::pair<std::string, size_t>> tensors;
};

ShardMap read_index(const std::string& path) {
  const Json index = load_json(path);
  const auto weight_map = index.is_object() ? index.find("weight_map") : index.end();
  if (weight_map == index.end() || !weight_map->is_object()) {
    throw Error(path + ": weight_map", "must be an object of tensor names to shards");
  }
  ShardMap map;
  std::map<std::string_view, size_t> numbers;
  for (const auto& [tensor, shard] : weight_map->get_ref<const Json::object_t&>()) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>())) {
      throw Error(path + ": tensor " + printable(tensor), "must be in a file beside the index",
                  printable(shard.dump(-1, ' ', true)));
    }
    const auto& name = shard.get_ref<const std::string&>();
    const auto [entry, is_new] = numbers.try_emplace(name, map.shards.size());
    if (is_new) map.shards.push_back(name);
    map.tensors.emplace_back(tensor, entry->second);
  }
  return map;
}

void refuse_missing(const std::vector<std::string>& paths, const std::string& index) {
  const std::optional<MissingFiles> missing = find_missing(paths);
  if (!missing) return;
  throw Error(paths[missing->first],
              "must be there: it is one of the " + std::to_string(paths.size()) + " shards that " +
                  std::filesystem::path(index).filename().string() + " names",
              missing->others, "fetch it from where the index comes from")
      .of(FaultKind::kMissingKey);
}

}  // namespace

Safetensors Safetensors::open(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path single = fs::path(path) / kSingleFile;
    const fs::path index = fs::path(path) / kIndexFile;
    if (fs::exists(single, ignored)) return open_file(single.string());
    if (fs::exists(index, ignored)) return open_index(index.string());
    throw Error(path, std::string("must hold ") + kSingleFile + " or " + kIndexFile);
  }
  return path.ends_with(".json") ? open_index(path) : open_file(path);
}

Safetensors Safetensors::open_file(const std::string& path) {
  auto mapping = std::make_shared<const MappedFile>(MappedFile::open(path));
  Safetensors file = parse(mapping->bytes(), path);
  file.mappings_.push_back(std::move(mapping));
  return file;
}

Safetensors Safetensors::open_index(const std::string& path) {
  const ShardMap map = read_index(path);
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::vector<std::string> paths;
  for (const std::string& name : map.shards) paths.push_back((directory / name).string());
  refuse_missing(paths, path);
  std::vector<Safetensors> shards;
  for (const std::string& shard : paths) shards.push_back(open_file(shard));

  std::vector<TensorInfo> tensors;
  for (const auto& [name, number] : map.tensors) {
    const TensorInfo* const info = shards[number].find_tensor(name);
    if (info == nullptr) {
      throw Error(path + ": tensor " + printable(name), "must be in the shard the index names",
                  map.shards[number]);
    }
    for (size_t other = 0; other < shards.size(); ++other) {
      if (other == number || shards[other].find_tensor(name) == nullptr) continue;
      throw Error(path + ": tensor " + printable(name), "must be in one shard only",
                  map.shards[number] + " and " + map.shards[other])
          .of(FaultKind::kConflict);
    }
    tensors.push_back(*info);
    tensors.back().file = number;
  }

  std::vector<std::span<const std::byte>> files;
  std::vector<std::shared_ptr<const MappedFile>> mappings;
  for (const Safetensors& shard : shards) {
    files.push_back(shard.files_.front());
    mappings.push_back(shard.mappings_.front());
  }
  Metadata metadata = shards.empty() ? Metadata{} : shards.front().metadata_;
  Safetensors model(path, std::move(tensors), std::move(metadata), std::move(files));
  model.mappings_ = std::move(mappings);
  return model;
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::string name) {
  Header header = HeaderReader(bytes, name).read();
  return Safetensors(std::move(name), std::move(header.tensors), std::move(header.metadata),
                     {bytes});
}

Safetensors::Safetensors(std::string name, std::vector<TensorInfo> tensors, Metadata metadata,
                         std::vector<std::span<const std::byte>> files)
    : TensorSource(std::move(name), std::move(tensors)),
      files_(std::move(files)),
      metadata_(std::move(metadata)) {}

std::span<const std::byte> Safetensors::tensor_bytes(const TensorInfo& info) const {
  return files_[info.file].subspan(static_cast<size_t>(info.offset),
                                   static_cast<size_t>(info.bytes));
}

void Safetensors::release(std::span<const std::byte> bytes) const {
  if (!mappings_.empty()) MappedFile::release(bytes);
}

}  // namespace ropewalk
