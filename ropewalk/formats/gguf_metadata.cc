#include "ropewalk/formats/gguf_metadata.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/name_index.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

struct TypeRow {
  std::string_view name;
  size_t bytes;
};

// In the order of GGUF's numbers.
constexpr std::array<TypeRow, 13> kTypes = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

constexpr auto kKeyOf = [](const GgufEntry& entry) { return entry.key; };

std::string number_text(double value) {
  std::array<char, 40> text{};
  // Nine digits tell all floats apart.
  const int length = std::snprintf(text.data(), text.size(), "%.9g", value);
  return {text.data(), static_cast<size_t>(length)};
}

std::string quoted(std::string_view text) { return "\"" + printable(text) + "\""; }

// Each converts, or returns nothing when the value does not fit.

std::optional<std::string_view> as_string(const GgufValue& value) {
  if (value.type != GgufType::kString) return std::nullopt;
  return std::get<std::string_view>(value.scalar);
}

std::optional<bool> as_bool(const GgufValue& value) {
  if (value.type != GgufType::kBool) return std::nullopt;
  return std::get<bool>(value.scalar);
}

std::optional<uint64_t> as_u64(const GgufValue& value) {
  if (value.type == GgufType::kArray) return std::nullopt;
  if (const auto* number = std::get_if<uint64_t>(&value.scalar)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.scalar); number != nullptr && *number >= 0) {
    return static_cast<uint64_t>(*number);
  }
  return std::nullopt;
}

std::optional<int64_t> as_i64(const GgufValue& value) {
  if (value.type == GgufType::kArray) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(&value.scalar)) return *number;
  const std::optional<uint64_t> number = as_u64(value);
  if (!number || *number > uint64_t{std::numeric_limits<int64_t>::max()}) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> as_f64(const GgufValue& value) {
  if (value.type == GgufType::kArray) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value.scalar)) return *number;
  constexpr int64_t kExact = int64_t{1} << 53;
  const std::optional<int64_t> number = as_i64(value);
  if (!number || *number > kExact || *number < -kExact) return std::nullopt;
  return static_cast<double>(*number);
}

std::optional<std::span<const std::string_view>> as_strings(const GgufValue& value) {
  if (value.type != GgufType::kArray || value.element_type != GgufType::kString)
    return std::nullopt;
  return value.strings;
}

std::optional<std::vector<bool>> as_bools(const GgufValue& value) {
  if (value.type != GgufType::kArray || value.element_type != GgufType::kBool) return std::nullopt;
  std::vector<bool> out;
  out.reserve(value.elements.size());
  for (const std::byte element : value.elements) out.push_back(element != std::byte{0});
  return out;
}

std::optional<std::vector<float>> as_floats(const GgufValue& value) {
  if (value.type != GgufType::kArray || value.element_type != GgufType::kFloat32)
    return std::nullopt;
  std::vector<float> out(static_cast<size_t>(value.count));
  if (!out.empty()) std::memcpy(out.data(), value.elements.data(), value.elements.size());
  return out;
}

template <typename Stored>
std::optional<std::vector<int32_t>> convert_integers(const GgufValue& value) {
  std::vector<int32_t> out(static_cast<size_t>(value.count));
  for (size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, value.elements.data() + i * sizeof(Stored), sizeof(Stored));
    if (!std::in_range<int32_t>(stored)) return std::nullopt;
    out[i] = static_cast<int32_t>(stored);  // NOLINT(bugprone-signed-char-misuse): i8 is a number
  }
  return out;
}

std::optional<std::vector<int32_t>> as_integers(const GgufValue& value) {
  if (value.type != GgufType::kArray) return std::nullopt;
  switch (value.element_type) {
    case GgufType::kUint8:
      return convert_integers<uint8_t>(value);
    case GgufType::kInt8:
      return convert_integers<int8_t>(value);
    case GgufType::kUint16:
      return convert_integers<uint16_t>(value);
    case GgufType::kInt16:
      return convert_integers<int16_t>(value);
    case GgufType::kUint32:
      return convert_integers<uint32_t>(value);
    case GgufType::kInt32:
      return convert_integers<int32_t>(value);
    case GgufType::kUint64:
      return convert_integers<uint64_t>(value);
    case GgufType::kInt64:
      return convert_integers<int64_t>(value);
    default:
      return std::nullopt;
  }
}

template <typename Convert>
auto find_as(const GgufMetadata& metadata, const std::string& place, std::string_view key,
             const char* expected, Convert convert) -> decltype(convert(GgufValue{})) {
  const GgufValue* const value = metadata.find(key);
  if (value == nullptr) return std::nullopt;
  auto converted = convert(*value);
  if (!converted) {
    throw Error(place + ": " + printable(key), std::string("must be ") + expected,
                value->describe())
        .of(FaultKind::kBadType);
  }
  return converted;
}

template <typename Found>
auto require(Found found, const std::string& place, std::string_view key) {
  if (!found) {
    throw Error(place + ": " + printable(key), "must be present").of(FaultKind::kMissingKey);
  }
  return *std::move(found);
}

}  // namespace

std::string_view type_name(GgufType type) { return kTypes[static_cast<size_t>(type)].name; }

size_t type_bytes(GgufType type) { return kTypes[static_cast<size_t>(type)].bytes; }

std::string GgufValue::describe() const {
  if (type == GgufType::kArray) {
    return "array of " + std::to_string(count) + " " + std::string(type_name(element_type));
  }
  std::string text(type_name(type));
  text += ' ';
  if (const auto* flag = std::get_if<bool>(&scalar)) return text + (*flag ? "true" : "false");
  if (const auto* number = std::get_if<uint64_t>(&scalar)) return text + std::to_string(*number);
  if (const auto* number = std::get_if<int64_t>(&scalar)) return text + std::to_string(*number);
  if (const auto* number = std::get_if<double>(&scalar)) return text + number_text(*number);
  return text + quoted(std::get<std::string_view>(scalar));
}

GgufMetadata::GgufMetadata(std::string place, std::vector<GgufEntry> entries)
    : place_(std::move(place)),
      entries_(std::move(entries)),
      by_key_(index_by_name(std::span<const GgufEntry>(entries_), kKeyOf)) {
  const GgufEntry* const twice =
      find_duplicate(std::span<const GgufEntry>(entries_), by_key_, kKeyOf);
  if (twice != nullptr) {
    throw Error(place_ + ": key " + quoted(twice->key), "must come once").of(FaultKind::kConflict);
  }
}

const GgufEntry* GgufMetadata::find_entry(std::string_view key) const {
  return find_by_name(entries(), by_key_, key, kKeyOf);
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const GgufEntry* const entry = find_entry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

std::optional<std::string_view> GgufMetadata::find_string(std::string_view key) const {
  return find_as(*this, place_, key, "a string", as_string);
}

std::optional<bool> GgufMetadata::find_bool(std::string_view key) const {
  return find_as(*this, place_, key, "a bool", as_bool);
}

std::optional<uint64_t> GgufMetadata::find_u64(std::string_view key) const {
  return find_as(*this, place_, key, "a non-negative integer", as_u64);
}

std::optional<int64_t> GgufMetadata::find_i64(std::string_view key) const {
  return find_as(*this, place_, key, "an integer of 64 bits", as_i64);
}

std::optional<double> GgufMetadata::find_f64(std::string_view key) const {
  return find_as(*this, place_, key, "a number that a double holds exactly", as_f64);
}

std::optional<std::span<const std::string_view>> GgufMetadata::find_string_array(
    std::string_view key) const {
  return find_as(*this, place_, key, "an array of strings", as_strings);
}

std::optional<std::vector<bool>> GgufMetadata::find_bool_array(std::string_view key) const {
  return find_as(*this, place_, key, "an array of bools", as_bools);
}

std::optional<std::vector<int32_t>> GgufMetadata::find_i32_array(std::string_view key) const {
  return find_as(*this, place_, key, "an array of integers of 32 bits", as_integers);
}

std::optional<std::vector<float>> GgufMetadata::find_f32_array(std::string_view key) const {
  return find_as(*this, place_, key, "an array of f32", as_floats);
}

std::string_view GgufMetadata::get_string(std::string_view key) const {
  return require(find_string(key), place_, key);
}

bool GgufMetadata::get_bool(std::string_view key) const {
  return require(find_bool(key), place_, key);
}

uint64_t GgufMetadata::get_u64(std::string_view key) const {
  return require(find_u64(key), place_, key);
}

int64_t GgufMetadata::get_i64(std::string_view key) const {
  return require(find_i64(key), place_, key);
}

double GgufMetadata::get_f64(std::string_view key) const {
  return require(find_f64(key), place_, key);
}

std::span<const std::string_view> GgufMetadata::get_string_array(std::string_view key) const {
  return require(find_string_array(key), place_, key);
}

std::vector<bool> GgufMetadata::get_bool_array(std::string_view key) const {
  return require(find_bool_array(key), place_, key);
}

std::vector<int32_t> GgufMetadata::get_i32_array(std::string_view key) const {
  return require(find_i32_array(key), place_, key);
}

std::vector<float> GgufMetadata::get_f32_array(std::string_view key) const {
  return require(find_f32_array(key), place_, key);
}

}  // namespace ropewalk
