// Any text: a document that survives being written and read again, or an Error.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const nlohmann::ordered_json document = ropewalk::parse_json(text, "fuzz");
    if (ropewalk::parse_json(document.dump(), "again") != document) __builtin_trap();
  } catch (const ropewalk::Error&) {
  }
  return 0;
}
