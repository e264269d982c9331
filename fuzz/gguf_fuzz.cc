// Any bytes: a GgufFile whose every part can be touched, or an Error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/gguf.h"

namespace {

// With GgufData::kOptional a shape is not bounded by the file.
constexpr uint64_t kMostElements = 4096;

void touch_metadata(const ropewalk::GgufMetadata& metadata) {
  for (const ropewalk::GgufEntry& entry : metadata.entries()) {
    entry.value.describe();
    const auto try_getter = [&](auto getter) {
      try {
        (metadata.*getter)(entry.key);
      } catch (const ropewalk::Error&) {
      }
    };
    try_getter(&ropewalk::GgufMetadata::get_string);
    try_getter(&ropewalk::GgufMetadata::get_bool);
    try_getter(&ropewalk::GgufMetadata::get_u64);
    try_getter(&ropewalk::GgufMetadata::get_i64);
    try_getter(&ropewalk::GgufMetadata::get_f64);
    try_getter(&ropewalk::GgufMetadata::get_string_array);
    try_getter(&ropewalk::GgufMetadata::get_bool_array);
    try_getter(&ropewalk::GgufMetadata::get_i32_array);
    try_getter(&ropewalk::GgufMetadata::get_f32_array);
    size_t length = 0;
    for (const std::string_view text : entry.value.strings) length += text.size();
    if (length > entry.value_bytes) __builtin_trap();
  }
}

void touch_tensors(const ropewalk::GgufFile& file) {
  for (const ropewalk::TensorInfo& info : file.tensors()) {
    if (file.find_tensor(info.name) != &info) __builtin_trap();
    if (ropewalk::row_length(info) > kMostElements) continue;
    std::vector<float> row(ropewalk::row_length(info));
    try {
      file.read_rows(info, ropewalk::row_count(info) - 1, 1, row);
    } catch (const ropewalk::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto file = ropewalk::GgufFile::parse(bytes, "fuzz", ropewalk::GgufData::kOptional);
    touch_metadata(file.metadata());
    touch_tensors(file);
    // The stricter reading refuses exactly what has no data.
    bool refused = false;
    try {
      ropewalk::GgufFile::parse(bytes, "fuzz");
    } catch (const ropewalk::Error&) {
      refused = true;
    }
    if (refused == file.has_data()) __builtin_trap();
  } catch (const ropewalk::Error&) {
  }
  return 0;
}
