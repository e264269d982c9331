#include "ropewalk/config/all_faults.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/formats/append_bytes.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRounds = 20;

// Reads, and on a fault removes its key: `remove` returns whether there was one to remove.
AllFaults collect(const std::string& place, const std::function<ModelConfig()>& read,
                  const std::function<bool(const std::string& key)>& remove) {
  AllFaults found;
  for (int round = 0; round < kRounds; ++round) {
    try {
      found.config = read();
      return found;
    } catch (const Error& error) {
      const std::string key = fault_key(error, place);
      const bool was_removed = std::ranges::find(found.removed, key) != found.removed.end();
      if (was_removed) return found;  // missing because it was faulty
      found.faults.push_back(error);
      if (error.kind() == FaultKind::kMissingKey || !remove(key)) return found;
      found.removed.push_back(key);
    }
  }
  return found;
}

// "layer_types[3]" is in layer_types.
std::string without_index(const std::string& key) { return key.substr(0, key.find('[')); }

// Removes the member at a dotted path; a name that holds dots itself is tried whole first.
bool remove_path(Json& object, const std::string& path) {
  if (!object.is_object()) return false;
  if (object.erase(path) != 0) return true;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const auto found = object.find(path.substr(0, dot));
    if (found != object.end() && remove_path(*found, path.substr(dot + 1))) return true;
  }
  return false;
}

// ---- GGUF

// Of the list of tensors, without the padding behind it: name, dimensions, type and offset of each.
uint64_t tensor_list_bytes(const GgufFile& file) {
  uint64_t count = 0;
  for (const TensorInfo& info : file.tensors()) {
    count += 8 + info.name.size() + 4 + 8 * info.shape.size() + 4 + 8;
  }
  return count;
}

// The file without some keys: its header anew, its data, where there is any and it counts, behind it.
std::string without_key(const GgufFile& file, const std::vector<std::string>& keys,
                        bool with_data) {
  const auto bytes = [&](uint64_t first, uint64_t count) {
    return std::string_view(reinterpret_cast<const char*>(file.bytes().data()) + first, count);
  };
  constexpr size_t kMagicAndVersion = 8;
  std::string out(bytes(0, kMagicAndVersion));
  append_number<uint64_t>(out, file.tensors().size());
  append_number<uint64_t>(out, file.metadata().entries().size() - keys.size());
  for (const GgufEntry& entry : file.metadata().entries()) {
    if (std::ranges::find(keys, std::string(entry.key)) != keys.end()) continue;
    out += bytes(entry.entry_offset, entry.entry_bytes);
  }
  out += bytes(file.tensor_list_offset(), tensor_list_bytes(file));
  while (out.size() % file.alignment() != 0) out += '\0';
  if (with_data && file.has_data()) {
    out += bytes(file.data_offset(), file.bytes().size() - file.data_offset());
  }
  return out;
}

bool has_frequency_tensors(const GgufFile& file) {
  return std::ranges::any_of(file.tensors(),
                             [](const TensorInfo& info) { return info.name.starts_with("rope_"); });
}

}  // namespace

std::string fault_key(const Error& fault, const std::string& place) {
  const std::string& found = fault.place();
  return found.starts_with(place + ": ") ? found.substr(place.size() + 2) : found;
}

AllFaults find_hf_faults(Json document, const std::string& place) {
  return collect(
      place, [&] { return read_hf_positions(document, place); },
      [&](const std::string& key) { return remove_path(document, without_index(key)); });
}

AllFaults find_gguf_faults(const GgufFile& file) {
  constexpr uint64_t kMostCopied = uint64_t{64} << 20;
  const bool with_data = has_frequency_tensors(file);
  const bool can_copy = !with_data || file.bytes().size() <= kMostCopied;
  std::vector<std::string> removed;
  std::string copy;
  const auto read = [&] {
    if (removed.empty()) return read_gguf_positions(file);
    copy = without_key(file, removed, with_data);
    return read_gguf_positions(
        GgufFile::parse(std::as_bytes(std::span(copy)), file.name(), GgufData::kOptional));
  };
  return collect(file.name(), read, [&](const std::string& key) {
    if (!can_copy || !file.metadata().contains(key)) return false;
    removed.push_back(key);
    return true;
  });
}

}  // namespace ropewalk
