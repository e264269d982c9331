// JSON documents from strangers: config.json, safetensors headers, shard indices.
#ifndef ROPEWALK_FORMATS_JSON_FILE_H_
#define ROPEWALK_FORMATS_JSON_FILE_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ropewalk {

inline constexpr size_t kMaxJsonBytes = size_t{64} << 20;
// Nesting of arrays and objects. Real configurations stay below ten.
inline constexpr size_t kMaxJsonDepth = 64;

// Parses one JSON document; keys keep the file's order.
//   text   UTF-8, at most max_bytes
//   place  names the document in messages
// Integers stay integers (u64 or i64); one outside 64 bits becomes the nearest double.
// Throws Error with line and column on anything that is not JSON (NaN and Infinity, which Python
// writes, included), on a key that comes twice in an object, and past the bounds.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& place,
                                  size_t max_bytes = kMaxJsonBytes);

// The same for a file. Throws Error naming the path when it cannot be read.
nlohmann::ordered_json load_json(const std::string& path, size_t max_bytes = kMaxJsonBytes);

// Text to print or to keep. A string that is no UTF-8, as a file's name may be, loses the bytes that
// are none.
//   indent  spaces of a level; -1: all in one line
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_JSON_FILE_H_
