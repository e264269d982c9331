#include "ropewalk/formats/json_file.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// "line 3, column 14" of the character at `offset`.
std::string line_and_column(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - line_start + 1);
}

// Builds the document from the parser's events. The library's own builder looks each new key up
// among the earlier ones, which a large object makes quadratic, and keeps the last of two equal
// keys.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Builder(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  Json take() { return std::move(root_); }

  // The parser's interface: false would stop it, but each refusal throws.
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(std::move(value)); }
  bool binary(binary_t& value) { return add(std::move(value)); }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool key(string_t& value) {
    key_ = std::move(value);
    return true;
  }
  bool end_object() {
    refuse_duplicates(open_.back()->get_ref<const Json::object_t&>());
    return end_array();
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) {
    // `position` counts the characters read, the offending one included.
    const size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    const std::string place = place_ + ": " + line_and_column(text_, offset);
    for (const std::string_view literal : {"NaN", "Infinity"}) {
      if (text_.substr(offset).starts_with(literal)) {
        throw Error(place, "must be JSON, which has no NaN and no Infinity", std::string(literal),
                    "write a number, null, or leave the key out");
      }
    }
    if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr) {
      throw Error(place, "must be JSON with numbers of at most 1.8e308, the largest of 64 bits",
                  printable(token, 60));
    }
    throw Error(place, "must be JSON", complaint(error.what()));
  }

 private:
  // "[json.exception...] parse error at line 1, column 2: syntax error ...": what follows the
  // place.
  static std::string complaint(std::string_view message) {
    const size_t place = message.find("column ");
    const size_t colon = place == std::string_view::npos ? place : message.find(": ", place);
    if (colon != std::string_view::npos) message.remove_prefix(colon + 2);
    return printable(message, 160);
  }

  template <typename Value>
  bool add(Value&& value) {
    append(std::forward<Value>(value));
    return true;
  }

  template <typename Value>
  Json& append(Value&& value) {
    if (open_.empty()) return root_ = std::forward<Value>(value);
    Json& parent = *open_.back();
    if (parent.is_array()) {
      return parent.get_ref<Json::array_t&>().emplace_back(std::forward<Value>(value));
    }
    auto& members = parent.get_ref<Json::object_t&>();
    members.emplace_back(std::move(key_), Json(std::forward<Value>(value)));
    return members.back().second;
  }

  bool open(Json container) {
    if (open_.size() == kMaxJsonDepth) {
      throw Error(place_, "must nest at most " + std::to_string(kMaxJsonDepth) + " levels");
    }
    // The pointer holds until the container closes: nothing is added to its parent before.
    open_.push_back(&append(std::move(container)));
    return true;
  }

  void refuse_duplicates(const Json::object_t& members) const {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& [name, value] : members) keys.emplace_back(name);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      throw Error(place_ + ": key \"" + printable(*twice) + "\"", "must come once in its object");
    }
  }

  std::string_view text_;
  const std::string& place_;
  Json root_;
  std::vector<Json*> open_;  // the containers being read, outermost first
  std::string key_;
};

// What garbles a terminal is in strings alone, but for line breaks between members, and the only one
// of them below U+0080 that stands there is U+007F.
std::string without_garbling(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\x7f"), text.size());
    out += printable(text.substr(0, end), end);
    if (end < text.size()) out += text[end] == '\n' ? "\n" : "\\u007f";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& place, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw Error(place, "must have at most " + std::to_string(max_bytes) + " bytes",
                std::to_string(text.size()));
  }
  // The parser takes a zero byte for the end, and would not look at what follows it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(place + ": " + line_and_column(text, zero), "must be JSON, which has no zero byte",
                "", "pad with spaces");
  }
  Builder builder(text, place);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json load_json(const std::string& path, size_t max_bytes) {
  const MappedFile file = MappedFile::open(path);
  return parse_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path,
                    max_bytes);
}

std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  std::string text =
      json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return without_garbling(text);
}

}  // namespace ropewalk
