#include "ropewalk/text/hf_normalizers.h"

#include <functional>
#include <utility>
#include <vector>

#include "ropewalk/text/bert_text.h"
#include "ropewalk/text/byte_alphabet.h"
#include "ropewalk/text/chars_map.h"
#include "ropewalk/text/hf_pattern.h"
#include "ropewalk/text/unicode.h"

namespace ropewalk {
namespace {

// What needs no state beyond a function's own.
class Function final : public HfNormalizer {
 public:
  explicit Function(std::function<std::string(std::string_view)> apply)
      : apply_(std::move(apply)) {}
  std::string normalize(std::string_view text) const override { return apply_(text); }

 private:
  std::function<std::string(std::string_view)> apply_;
};

class Sequence final : public HfNormalizer {
 public:
  explicit Sequence(const HfNode& node) {
    for (const HfNode& step : node.at("normalizers").elements()) {
      steps_.push_back(make_hf_normalizer(step));
    }
  }
  std::string normalize(std::string_view text) const override {
    std::string normal(text);
    for (const auto& step : steps_) normal = step->normalize(normal);
    return normal;
  }

 private:
  std::vector<std::unique_ptr<HfNormalizer>> steps_;
};

std::string base64_bytes(const HfNode& node) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : node.string()) {
    if (c == '=' || c == '\n') continue;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw node.wrong("base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 0xff);
  }
  return bytes;
}

// SentencePiece's character map as `tokenizers` reads it: whole grapheme clusters of less than six
// bytes first, then character by character, and of several keys the shortest.
class Precompiled final : public HfNormalizer {
 public:
  explicit Precompiled(const HfNode& node)
      : map_(base64_bytes(node.at("precompiled_charsmap"))),
        graphemes_(HfPattern::regex(R"(\X)")) {}

  std::string normalize(std::string_view text) const override {
    std::string normal;
    normal.reserve(text.size());
    for (const Stretch& stretch : graphemes_.stretches(text)) {
      std::string_view rest = stretch.text;
      if (rest.size() < 6) {
        if (const auto match = map_.find_shortest(rest)) {
          normal += match->replacement;
          continue;
        }
      }
      while (!rest.empty()) {
        const std::string_view part = rest.substr(0, decode_character(rest).size);
        const auto match = map_.find_shortest(part);
        normal += match ? match->replacement : part;
        rest.remove_prefix(part.size());
      }
    }
    return normal;
  }

 private:
  CharsMap map_;
  HfPattern graphemes_;
};

template <typename Change>
std::string for_each_character(std::string_view text, const Change& change) {
  std::string changed;
  changed.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode_character(text);
    change(character.code, text.substr(0, character.size), changed);
    text.remove_prefix(character.size);
  }
  return changed;
}

std::string strip_accents(std::string_view text) {
  return for_each_character(text, [](char32_t code, std::string_view bytes, std::string& kept) {
    if (!is_combining_mark(code)) kept += bytes;
  });
}

// The rules of SentencePiece's NMT normalisation.
std::string nmt(std::string_view text) {
  return for_each_character(text, [](char32_t c, std::string_view bytes, std::string& kept) {
    const bool dropped = (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) ||
                         c == 0x7f || c == 0x8f || c == 0x9f;
    const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xfeff || c == kReplacementCharacter;
    if (space) {
      kept += ' ';
    } else if (!dropped) {
      kept += bytes;
    }
  });
}

std::string stripped(std::string_view text, bool left, bool right) {
  size_t begin = 0;
  size_t end = 0;  // of the last character that is no white space
  bool blank = true;
  for (size_t at = 0; at < text.size();) {
    const Character character = decode_character(text.substr(at));
    if (!is_white_space(character.code)) {
      if (blank) begin = at;
      blank = false;
      end = at + character.size;
    }
    at += character.size;
  }
  if (blank) return left || right ? std::string() : std::string(text);
  if (!left) begin = 0;
  if (!right) end = text.size();
  return std::string(text.substr(begin, end - begin));
}

std::string byte_level(std::string_view text) {
  std::string spelled;
  spelled.reserve(text.size() * 2);
  for (const char c : text) spelled += to_alphabet(static_cast<uint8_t>(c));
  return spelled;
}

std::function<std::string(std::string_view)> function_of(const HfNode& node) {
  const std::string type = node.type();
  for (const auto& [name, form] :
       {std::pair("NFC", NormalForm::kNfc), std::pair("NFD", NormalForm::kNfd),
        std::pair("NFKC", NormalForm::kNfkc), std::pair("NFKD", NormalForm::kNfkd)}) {
    if (type == name) return [f = form](std::string_view text) { return to_normal_form(text, f); };
  }
  if (type == "Lowercase") return to_lower_case;
  if (type == "StripAccents") return strip_accents;
  if (type == "Nmt") return nmt;
  if (type == "ByteLevel") return byte_level;
  if (type == "Strip") {
    const bool left = node.at("strip_left").boolean();
    const bool right = node.at("strip_right").boolean();
    return [=](std::string_view text) { return stripped(text, left, right); };
  }
  if (type == "Prepend") {
    return [prefix = node.at("prepend").string()](std::string_view text) {
      return text.empty() ? std::string() : prefix + std::string(text);
    };
  }
  if (type == "Replace") {
    return [pattern = std::make_shared<const HfPattern>(node.at("pattern")),
            content = node.at("content").string()](std::string_view text) {
      return pattern->replace_all(text, content);
    };
  }
  if (type == "BertNormalizer") {
    BertNormalization rules;
    rules.clean_text = node.boolean_or("clean_text", true);
    rules.handle_chinese_chars = node.boolean_or("handle_chinese_chars", true);
    rules.lowercase = node.boolean_or("lowercase", true);
    rules.strip_accents = node.boolean_or("strip_accents", rules.lowercase);
    return [rules](std::string_view text) { return bert_normalize(text, rules); };
  }
  throw node.unknown_type(
      "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Nmt, Precompiled, Prepend, "
      "Replace, BertNormalizer, ByteLevel");
}

}  // namespace

std::unique_ptr<HfNormalizer> make_hf_normalizer(const HfNode& node) {
  const std::string type = node.type();
  if (type == "Sequence") return std::make_unique<Sequence>(node);
  if (type == "Precompiled") return std::make_unique<Precompiled>(node);
  return std::make_unique<Function>(function_of(node));
}

}  // namespace ropewalk
