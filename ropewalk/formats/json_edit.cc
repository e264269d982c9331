#include "ropewalk/formats/json_edit.h"

#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A member of an object, as bytes of the text.
struct Member {
  std::string key;
  size_t start = 0;  // of the key, at its quote
  size_t value = 0;
  size_t end = 0;  // of the value
};

// Walks a text that is known to be JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t skip_space(size_t at) const {
    while (at < text_.size() && is_space(text_[at])) ++at;
    return at;
  }

  // The end of the value that starts at `at`.
  size_t value_end(size_t at) const {
    if (text_[at] == '"') return string_end(at);
    if (text_[at] != '{' && text_[at] != '[') {
      while (at < text_.size() && !is_space(text_[at]) && text_[at] != ',' && text_[at] != '}' &&
             text_[at] != ']') {
        ++at;
      }
      return at;
    }
    size_t depth = 0;
    while (true) {
      const char c = text_[at];
      if (c == '"') {
        at = string_end(at);
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at;
      if (depth == 0) return at;
    }
  }

  // Of the object whose brace stands at `at`.
  std::vector<Member> members(size_t at) const {
    std::vector<Member> found;
    at = skip_space(at + 1);
    while (text_[at] != '}') {
      Member member{.start = at};
      const size_t key_end = string_end(at);
      member.key = Json::parse(text_.substr(at, key_end - at)).get<std::string>();
      member.value = skip_space(skip_space(key_end) + 1);
      member.end = value_end(member.value);
      at = skip_space(member.end);
      if (text_[at] == ',') at = skip_space(at + 1);
      found.push_back(std::move(member));
    }
    return found;
  }

 private:
  size_t string_end(size_t at) const {
    for (++at; text_[at] != '"'; ++at) {
      if (text_[at] == '\\') ++at;
    }
    return at + 1;
  }

  std::string_view text_;
};

// One object of the text, edited.
class ObjectEditor {
 public:
  ObjectEditor(std::string_view text, size_t brace)
      : text_(text),
        brace_(brace),
        end_(Scanner(text).value_end(brace)),
        members_(Scanner(text).members(brace)) {}

  std::string edited(const Json& before, const Json& after) const {
    std::string result(1, '{');
    bool first = true;
    const auto put = [&](const std::string& member) {
      result += (first ? std::string() : ",") + gap() + member;
      first = false;
    };
    for (size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[i];
      const auto found = after.find(member.key);
      if (found == after.end()) continue;
      result += first ? std::string() : ",";
      result += lead(i);
      result += text_.substr(member.start, member.value - member.start);
      result += value(member, before[member.key], *found);
      first = false;
    }
    for (const auto& [key, added] : after.items()) {
      if (!before.contains(key)) put(Json(key).dump() + ": " + laid_out(added));
    }
    return result + std::string(tail()) + "}";
  }

  size_t end() const { return end_; }

 private:
  std::string value(const Member& member, const Json& before, const Json& after) const {
    if (before == after) return std::string(text_.substr(member.value, member.end - member.value));
    if (before.is_object() && after.is_object() && !before.empty()) {
      return ObjectEditor(text_, member.value).edited(before, after);
    }
    return laid_out(after);
  }

  // What stands before a member, after the brace or the comma.
  std::string_view lead(size_t member) const {
    size_t from = members_[member].start;
    while (from > brace_ + 1 && is_space(text_[from - 1])) --from;
    return text_.substr(from, members_[member].start - from);
  }
  std::string gap() const {
    return members_.empty() ? std::string() : std::string(lead(members_.size() - 1));
  }
  // What stands before the closing brace.
  std::string_view tail() const {
    size_t from = end_ - 1;
    while (from > brace_ + 1 && is_space(text_[from - 1])) --from;
    return text_.substr(from, end_ - 1 - from);
  }

  // A new value, its lines indented as this object's members are; on one line where they are.
  std::string laid_out(const Json& value) const {
    const std::string before = gap();
    const size_t line = before.rfind('\n');
    if (line == std::string::npos) return value.dump();
    const std::string indent = before.substr(line + 1);
    const std::string_view own = tail();
    const size_t own_line = own.rfind('\n');
    const size_t outer = own_line == std::string_view::npos ? 0 : own.size() - own_line - 1;
    const size_t step = indent.size() > outer ? indent.size() - outer : 2;
    const std::string dumped = value.dump(static_cast<int>(step));
    std::string result;
    for (const char c : dumped) {
      result += c;
      if (c == '\n') result += indent;
    }
    return result;
  }

  std::string_view text_;
  size_t brace_;
  size_t end_;
  std::vector<Member> members_;
};

}  // namespace

std::string edited_json(std::string_view text, const Json& before, const Json& after) {
  if (before == after) return std::string(text);
  if (!before.is_object() || !after.is_object()) return after.dump(2) + "\n";
  const size_t brace = text.find('{');
  assert(brace != std::string_view::npos);
  const ObjectEditor editor(text, brace);
  return std::string(text.substr(0, brace)) + editor.edited(before, after) +
         std::string(text.substr(editor.end()));
}

}  // namespace ropewalk
