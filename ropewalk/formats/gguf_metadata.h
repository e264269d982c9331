// The key-value part of a GGUF file.
#ifndef ROPEWALK_FORMATS_GGUF_METADATA_H_
#define ROPEWALK_FORMATS_GGUF_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ropewalk {

// Numbers as in the file.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// "u32", "f32", "string", "array".
std::string_view type_name(GgufType type);

// Bytes of one value; 0 for strings and arrays, whose size is their own.
size_t type_bytes(GgufType type);

// Unsigned and signed integers keep their sign class, both float types are exact in a double.
using GgufScalar = std::variant<bool, uint64_t, int64_t, double, std::string_view>;

// One value. Views point into the file and live as long as it does.
struct GgufValue {
  GgufType type = GgufType::kUint8;

  // Set unless the type is kArray.
  GgufScalar scalar;

  // For arrays: the elements' type, and how many there are.
  GgufType element_type = GgufType::kUint8;
  uint64_t count = 0;
  // For arrays of numbers: count little-endian elements, any alignment.
  std::span<const std::byte> elements;
  // For arrays of strings.
  std::vector<std::string_view> strings;

  // "u32 8", "string \"llama\"", "array of 32000 string": for messages and listings. Long strings
  // are cut, control characters escaped.
  std::string describe() const;
};

// A key with its value and the place of both, so that an editor can copy what it leaves alone.
struct GgufEntry {
  std::string_view key;
  GgufValue value;
  // Of the whole entry, from the start of the file: key length, key, type, value.
  uint64_t entry_offset = 0;
  uint64_t entry_bytes = 0;
  // Of the value alone; what precedes it is the u32 type. For arrays it starts with the element
  // type.
  uint64_t value_offset = 0;
  uint64_t value_bytes = 0;
};

// All of them. `get_` throws Error when the key is missing; `find_` returns nothing then. Both
// throw Error, naming the expected and the stored value, when the type does not fit: files in the
// wild write u32 where i32 is expected and the reverse, so any integer type that holds the value
// passes for any integer, and integers pass for floats; strings, bools and numbers never pass for
// each other.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  // Takes entries in file order. `place` names the file in messages. Throws Error on a key that
  // comes twice.
  GgufMetadata(std::string place, std::vector<GgufEntry> entries);

  std::span<const GgufEntry> entries() const { return entries_; }

  // Null when there is no such key.
  const GgufEntry* find_entry(std::string_view key) const;
  const GgufValue* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find_entry(key) != nullptr; }

  std::string_view get_string(std::string_view key) const;
  bool get_bool(std::string_view key) const;
  uint64_t get_u64(std::string_view key) const;
  int64_t get_i64(std::string_view key) const;
  // Exact for f32, f64 and integers up to 2^53; larger integers are refused.
  double get_f64(std::string_view key) const;

  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<uint64_t> find_u64(std::string_view key) const;
  std::optional<int64_t> find_i64(std::string_view key) const;
  std::optional<double> find_f64(std::string_view key) const;

  std::span<const std::string_view> get_string_array(std::string_view key) const;
  std::vector<bool> get_bool_array(std::string_view key) const;
  std::vector<int32_t> get_i32_array(std::string_view key) const;
  std::vector<float> get_f32_array(std::string_view key) const;

  std::optional<std::span<const std::string_view>> find_string_array(std::string_view key) const;
  std::optional<std::vector<bool>> find_bool_array(std::string_view key) const;
  // Any integer type whose values all fit.
  std::optional<std::vector<int32_t>> find_i32_array(std::string_view key) const;
  // f32 only: f64 would be rounded.
  std::optional<std::vector<float>> find_f32_array(std::string_view key) const;

 private:
  std::string place_;
  std::vector<GgufEntry> entries_;
  std::vector<uint32_t> by_key_;  // indices into entries_, sorted by key
};

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_GGUF_METADATA_H_
