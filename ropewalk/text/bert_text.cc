#include "ropewalk/text/bert_text.h"

#include "ropewalk/text/unicode.h"

namespace ropewalk {
namespace {

// The block of CJK Extension E begins at U+2B820; Hugging Face's reader, and with it every model
// that was used since, has U+2B920.
constexpr bool is_ideograph(char32_t code) {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
         (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
         (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

bool is_bert_punctuation(char32_t code) {
  const bool ascii = (code >= 33 && code <= 47) || (code >= 58 && code <= 64) ||
                     (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
  return ascii || is_punctuation(code);
}

template <typename Use>
void for_each_character(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const Character character = decode_character(text);
    use(character.code, text.substr(0, character.size));
    text.remove_prefix(character.size);
  }
}

std::string cleaned(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    const bool kept_control = code == '\t' || code == '\n' || code == '\r';
    if (code == kReplacementCharacter || (is_other(code) && !kept_control)) return;
    clean += is_white_space(code) ? " " : bytes;
  });
  return clean;
}

std::string spaced_ideographs(std::string_view text) {
  std::string spaced;
  spaced.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (is_ideograph(code)) {
      spaced.append(" ").append(bytes).append(" ");
    } else {
      spaced += bytes;
    }
  });
  return spaced;
}

std::string without_accents(std::string_view text) {
  const std::string apart = to_normal_form(text, NormalForm::kNfd);
  std::string plain;
  plain.reserve(apart.size());
  for_each_character(apart, [&](char32_t code, std::string_view bytes) {
    if (!is_nonspacing_mark(code)) plain += bytes;
  });
  return plain;
}

}  // namespace

std::string bert_normalize(std::string_view text, const BertNormalization& rules) {
  std::string normal(text);
  if (rules.clean_text) normal = cleaned(normal);
  if (rules.handle_chinese_chars) normal = spaced_ideographs(normal);
  if (rules.strip_accents) normal = without_accents(normal);
  if (rules.lowercase) normal = to_lower_case(normal);
  return normal;
}

std::vector<std::string_view> bert_words(std::string_view text) {
  std::vector<std::string_view> words;
  bool in_word = false;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    const bool alone = is_bert_punctuation(code);
    if (is_white_space(code)) {
      in_word = false;
    } else if (in_word && !alone) {
      words.back() = {words.back().data(), words.back().size() + bytes.size()};
    } else {
      words.push_back(bytes);
      in_word = !alone;
    }
  });
  return words;
}

}  // namespace ropewalk
