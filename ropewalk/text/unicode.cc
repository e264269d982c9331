#include "ropewalk/text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "ropewalk/base/error.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

utf8proc_option_t options(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc:
      return UTF8PROC_COMPOSE;
    case NormalForm::kNfd:
      return UTF8PROC_DECOMPOSE;
    case NormalForm::kNfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case NormalForm::kNfkd:
      return static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  throw std::logic_error("no such normal form");
}

//   text  valid UTF-8
void append_normal(std::string_view text, NormalForm form, std::string& normal) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &raw, options(form));
  const std::unique_ptr<utf8proc_uint8_t, Free> owner(raw);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  if (size < 0) throw Error("text", "cannot be normalised", utf8proc_errmsg(size));
  normal.append(reinterpret_cast<const char*>(raw), static_cast<size_t>(size));
}

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

Character decode_character(std::string_view text) {
  const size_t size = utf8_length(text);
  const auto bits = [&](size_t i) { return static_cast<char32_t>(text[i] & 0x3f); };
  const auto lead = static_cast<uint8_t>(text[0]);
  switch (size) {
    case 1:
      return {lead, 1};
    case 2:
      return {(lead & char32_t{0x1f}) << 6 | bits(1), 2};
    case 3:
      return {(lead & char32_t{0x0f}) << 12 | bits(1) << 6 | bits(2), 3};
    case 4:
      return {(lead & char32_t{0x07}) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4};
    default:
      return {kReplacementCharacter, 1};
  }
}

void append_character(char32_t code, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

// What stands before an ASCII character never changes with it, so text is handed on in runs: one
// ASCII character at most and the others after it.
std::string to_normal_form(std::string_view text, NormalForm form) {
  const auto is_ascii = [&](size_t i) { return static_cast<uint8_t>(text[i]) < 0x80; };
  std::string normal;
  normal.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    if (is_ascii(end)) ++end;
    const size_t others = end;
    while (end < text.size() && !is_ascii(end)) {
      const size_t size = utf8_length(text.substr(end));
      if (size == 0) break;
      end += size;
    }
    if (end > others) {
      append_normal(text.substr(at, end - at), form, normal);
    } else if (others > at) {
      normal += text[at];
    } else {
      normal += text[end++];  // no character
    }
    at = end;
  }
  return normal;
}

std::string to_lower_case(std::string_view text) {
  constexpr char32_t kDottedCapitalI = 0x130;  // alone in having a lower case of two characters
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode_character(text);
    if (character.size == 1 && character.code == kReplacementCharacter) {
      lower += text[0];
    } else if (character.code == kDottedCapitalI) {
      lower += "i\xcc\x87";
    } else {
      append_character(
          static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))),
          lower);
    }
    text.remove_prefix(character.size);
  }
  return lower;
}

bool is_white_space(char32_t code) {
  const utf8proc_category_t c = category(code);
  return (code >= 0x09 && code <= 0x0d) || code == 0x85 || c == UTF8PROC_CATEGORY_ZS ||
         c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

bool is_nonspacing_mark(char32_t code) { return category(code) == UTF8PROC_CATEGORY_MN; }

bool is_combining_mark(char32_t code) {
  const utf8proc_category_t c = category(code);
  return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool is_other(char32_t code) {
  const utf8proc_category_t c = category(code);
  return c == UTF8PROC_CATEGORY_CN || c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
         c == UTF8PROC_CATEGORY_CS || c == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(char32_t code) {
  const utf8proc_category_t c = category(code);
  return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

}  // namespace ropewalk
