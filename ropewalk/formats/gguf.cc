#include "ropewalk/formats/gguf.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/byte_reader.h"
#include "ropewalk/formats/checked_math.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint32_t kMaxDimensions = 4;
// Key length, value type, and a one-byte value; name length, dimension count, type, offset.
constexpr uint64_t kMinEntryBytes = 8 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;
// What fits the 32-bit indices of the look-up by name.
constexpr uint64_t kMaxItems = std::numeric_limits<uint32_t>::max();

}  // namespace

// Walks the header once, front to back.
class GgufFile::Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string name, GgufData data)
      : bytes_(bytes), data_(data), reader_(bytes, std::move(name)) {}

  GgufFile parse() {
    read_version();
    const uint64_t tensor_count = reader_.read_count(1, "the tensor count");
    GgufMetadata metadata = read_metadata();
    layout_.tensor_list_offset = reader_.offset();
    read_alignment(metadata);
    std::vector<TensorInfo> tensors = read_tensor_list(tensor_count);
    place_tensors(tensors);
    return GgufFile({{place(), bytes_, nullptr}}, std::move(metadata), std::move(tensors), layout_);
  }

 private:
  const std::string& place() const { return reader_.place(); }

  void read_version() {
    if (bytes_.size() < sizeof(kMagic) || reader_.read<uint32_t>("the magic") != kMagic) {
      throw Error(place(), "not a GGUF file: it must start with \"GGUF\"");
    }
    layout_.version = reader_.read<uint32_t>("the version");
    const uint32_t swapped = __builtin_bswap32(layout_.version);
    if (swapped >= 1 && swapped <= 0xffff) {
      throw Error(place(), "must be little endian",
                  "big-endian GGUF version " + std::to_string(swapped));
    }
    if (layout_.version != 2 && layout_.version != 3) {
      throw Error(place(), "must be GGUF version 2 or 3", std::to_string(layout_.version));
    }
  }

  GgufMetadata read_metadata() {
    const uint64_t count = reader_.read_count(kMinEntryBytes, "the count of metadata entries");
    if (count > kMaxItems)
      throw Error(place(), "must have fewer metadata entries", std::to_string(count));
    std::vector<GgufEntry> entries;
    entries.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) entries.push_back(read_entry());
    return GgufMetadata(place(), std::move(entries));
  }

  GgufEntry read_entry() {
    GgufEntry entry;
    entry.entry_offset = reader_.offset();
    entry.key = reader_.read_string("a metadata key");
    if (entry.key.empty() || entry.key.size() > kMaxKeyBytes) {
      throw Error(place() + ": byte " + std::to_string(entry.entry_offset),
                  "a metadata key must have 1 to 65535 bytes", std::to_string(entry.key.size()));
    }
    entry.value.type = read_type(entry.key);
    entry.value_offset = reader_.offset();
    if (entry.value.type == GgufType::kArray) {
      read_array(entry.key, entry.value);
    } else {
      entry.value.scalar = read_scalar(entry.key, entry.value.type);
    }
    entry.value_bytes = reader_.offset() - entry.value_offset;
    entry.entry_bytes = reader_.offset() - entry.entry_offset;
    return entry;
  }

  GgufType read_type(std::string_view key) {
    const auto id = reader_.read<uint32_t>("a value's type");
    if (id > static_cast<uint32_t>(GgufType::kFloat64)) {
      throw Error(key_place(key), "must have one of the value types 0 to 12", std::to_string(id));
    }
    return static_cast<GgufType>(id);
  }

  GgufScalar read_scalar(std::string_view key, GgufType type) {
    constexpr const char* kWhat = "a metadata value";
    switch (type) {
      case GgufType::kUint8:
        return uint64_t{reader_.read<uint8_t>(kWhat)};
      case GgufType::kInt8:
        return int64_t{reader_.read<int8_t>(kWhat)};
      case GgufType::kUint16:
        return uint64_t{reader_.read<uint16_t>(kWhat)};
      case GgufType::kInt16:
        return int64_t{reader_.read<int16_t>(kWhat)};
      case GgufType::kUint32:
        return uint64_t{reader_.read<uint32_t>(kWhat)};
      case GgufType::kInt32:
        return int64_t{reader_.read<int32_t>(kWhat)};
      case GgufType::kFloat32:
        return double{reader_.read<float>(kWhat)};
      case GgufType::kBool:
        return check_bool(key, reader_.read<uint8_t>(kWhat));
      case GgufType::kString:
        return reader_.read_string(kWhat);
      case GgufType::kUint64:
        return reader_.read<uint64_t>(kWhat);
      case GgufType::kInt64:
        return reader_.read<int64_t>(kWhat);
      case GgufType::kFloat64:
        return reader_.read<double>(kWhat);
      case GgufType::kArray:
        break;
    }
    throw Error(key_place(key), "must be no array");
  }

  void read_array(std::string_view key, GgufValue& value) {
    value.element_type = read_type(key);
    if (value.element_type == GgufType::kArray) {
      throw Error(key_place(key), "must not be an array of arrays");
    }
    const bool has_strings = value.element_type == GgufType::kString;
    const uint64_t element_bytes = has_strings ? sizeof(uint64_t) : type_bytes(value.element_type);
    value.count = reader_.read_count(element_bytes, "an array's length");
    if (has_strings) {
      value.strings.reserve(static_cast<size_t>(value.count));
      for (uint64_t i = 0; i < value.count; ++i) {
        value.strings.push_back(reader_.read_string("a string in an array"));
      }
      return;
    }
    value.elements = reader_.take(value.count * element_bytes, "an array");
    if (value.element_type == GgufType::kBool) {
      for (const std::byte element : value.elements) {
        check_bool(key, std::to_integer<uint8_t>(element));
      }
    }
  }

  bool check_bool(std::string_view key, uint8_t stored) {
    if (stored > 1) throw Error(key_place(key), "a bool must be 0 or 1", std::to_string(stored));
    return stored == 1;
  }

  void read_alignment(const GgufMetadata& metadata) {
    constexpr std::string_view kKey = "general.alignment";
    layout_.alignment = metadata.find_u64(kKey).value_or(kDefaultAlignment);
    if (!std::has_single_bit(layout_.alignment) || layout_.alignment > (uint64_t{1} << 31)) {
      throw Error(key_place(kKey), "must be a power of two up to 2^31",
                  std::to_string(layout_.alignment));
    }
  }

  std::vector<TensorInfo> read_tensor_list(uint64_t count) {
    if (count > reader_.remaining() / kMinTensorBytes || count > kMaxItems) {
      throw Error(place(),
                  "the tensor count must be at most the " +
                      std::to_string(reader_.remaining() / kMinTensorBytes) +
                      " that the rest of the file can hold",
                  std::to_string(count));
    }
    std::vector<TensorInfo> tensors;
    tensors.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) tensors.push_back(read_tensor_info());
    return tensors;
  }

  // The offset is left as stored: relative to data_offset, which is not known yet.
  TensorInfo read_tensor_info() {
    TensorInfo info;
    info.name = reader_.read_string("a tensor's name");
    const auto dimensions = reader_.read<uint32_t>("a tensor's dimension count");
    if (dimensions > kMaxDimensions) {
      throw Error(tensor_place(info), "must have at most 4 dimensions", std::to_string(dimensions));
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
      info.shape.push_back(reader_.read<uint64_t>("a tensor's dimension"));
    }
    std::reverse(info.shape.begin(), info.shape.end());
    const auto type_id = reader_.read<uint32_t>("a tensor's type");
    info.type = type_from_ggml(type_id);
    info.type_name = info.type == TensorType::kUnknown ? "ggml type " + std::to_string(type_id)
                                                       : std::string(type_name(info.type));
    info.offset = reader_.read<uint64_t>("a tensor's offset");
    info.bytes = stored_bytes(info);
    return info;
  }

  // Zero for unknown types.
  uint64_t stored_bytes(const TensorInfo& info) {
    const std::optional<uint64_t> elements = checked_product(info.shape);
    if (!elements || *elements == 0) {
      throw Error(tensor_place(info), "must have positive dimensions with a product below 2^64",
                  shape_text(info.shape));
    }
    if (info.type == TensorType::kUnknown) return 0;
    if (row_length(info) % block_elements(info.type) != 0) {
      throw Error(tensor_place(info),
                  "rows of " + info.type_name + " must be a multiple of " +
                      std::to_string(block_elements(info.type)),
                  shape_text(info.shape));
    }
    const std::optional<uint64_t> bytes =
        checked_product(*elements / block_elements(info.type), block_bytes(info.type));
    if (!bytes)
      throw Error(tensor_place(info), "must have fewer than 2^64 bytes", shape_text(info.shape));
    return *bytes;
  }

  // Turns offsets into absolute ones and checks that tensors lie apart and inside.
  void place_tensors(std::vector<TensorInfo>& tensors) {
    const uint64_t mask = layout_.alignment - 1;
    layout_.data_offset = (reader_.offset() + mask) & ~mask;
    uint64_t data_end = layout_.data_offset;
    for (TensorInfo& info : tensors) {
      if ((info.offset & mask) != 0) {
        throw Error(tensor_place(info),
                    "its offset must be a multiple of " + std::to_string(layout_.alignment),
                    std::to_string(info.offset));
      }
      constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
      if (info.offset > kMax - layout_.data_offset ||
          info.bytes > kMax - layout_.data_offset - info.offset) {
        throw Error(tensor_place(info), "must end below 2^64",
                    "offset " + std::to_string(info.offset));
      }
      info.offset += layout_.data_offset;
      data_end = std::max(data_end, info.offset + info.bytes);
      if (data_ == GgufData::kRequired && info.offset + info.bytes > bytes_.size()) {
        throw Error(tensor_place(info),
                    "must end within the file of " + std::to_string(bytes_.size()) + " bytes",
                    std::to_string(info.bytes) + " bytes at " + std::to_string(info.offset),
                    "the file is cut off");
      }
    }
    layout_.has_data = tensors.empty() || data_end <= bytes_.size();
    refuse_overlaps(tensors);
  }

  void refuse_overlaps(const std::vector<TensorInfo>& tensors) {
    std::vector<uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), uint32_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return tensors[a].offset < tensors[b].offset; });
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo& before = tensors[order[i - 1]];
      const TensorInfo& info = tensors[order[i]];
      if (before.offset == info.offset || before.offset + before.bytes > info.offset) {
        throw Error(tensor_place(info), "must not overlap tensor " + printable(before.name),
                    "offset " + std::to_string(info.offset));
      }
    }
  }

  std::string key_place(std::string_view key) const { return place() + ": " + printable(key); }
  std::string tensor_place(const TensorInfo& info) const {
    return place() + ": tensor " + printable(info.name);
  }

  std::span<const std::byte> bytes_;
  GgufData data_;
  ByteReader reader_;
  Layout layout_;
};

GgufFile GgufFile::open(const std::string& path, GgufData data) {
  auto mapping = std::make_shared<const MappedFile>(MappedFile::open(path));
  GgufFile file = parse(mapping->bytes(), path, data);
  file.files_.front().mapping = std::move(mapping);
  return file;
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, std::string name, GgufData data) {
  return Parser(bytes, std::move(name), data).parse();
}

GgufFile::GgufFile(std::vector<File> files, GgufMetadata metadata, std::vector<TensorInfo> tensors,
                   Layout layout)
    : TensorSource(files.front().name, std::move(tensors)),
      files_(std::move(files)),
      metadata_(std::move(metadata)),
      layout_(layout) {}

std::span<const std::byte> GgufFile::tensor_bytes(const TensorInfo& info) const {
  const File& file = files_[info.file];
  if (info.type == TensorType::kUnknown) {
    throw Error(file.name + ": tensor " + printable(info.name), "must have a type of known size",
                info.type_name);
  }
  if (info.offset > file.bytes.size() || info.bytes > file.bytes.size() - info.offset) {
    throw Error(file.name + ": tensor " + printable(info.name),
                "must be read from a whole file; this one was opened for its header only");
  }
  return file.bytes.subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.bytes));
}

void GgufFile::release(std::span<const std::byte> bytes) const {
  if (files_.front().mapping != nullptr) MappedFile::release(bytes);
}

}  // namespace ropewalk
