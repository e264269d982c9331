#include "ropewalk/text/hf_pattern.h"

#include <algorithm>
#include <array>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// The single numbers are those that Oniguruma's table of Latin-1 counts as well.
constexpr std::string_view kWordMembers =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

// Names of scripts that Oniguruma takes for Script and PCRE2 for Script_Extensions.
constexpr std::array<std::string_view, 16> kScripts = {
    "Han",    "Hiragana", "Katakana", "Hangul", "Bopomofo", "Latin",   "Greek",      "Cyrillic",
    "Arabic", "Hebrew",   "Thai",     "Lao",    "Khmer",    "Myanmar", "Devanagari", "Bengali"};

// Between a word's character and another, or else not.
std::string boundary(bool is) {
  const std::string set = "[" + std::string(kWordMembers) + "])";
  const std::string first = is ? "(?!" : "(?=";
  const std::string other = is ? "(?=" : "(?!";
  return "(?:(?<=" + set + first + set + "|(?<!" + set + other + set + ")";
}

class Translator {
 public:
  Translator(std::string_view source, const std::string& place) : source_(source), place_(place) {}

  std::string run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\\') {
        escape(false);
      } else if (c == '[') {
        set();
      } else {
        if (c == '^' || c == '$') by_line_ = true;
        target_ += c;
        ++at_;
        if (c == '{' && at_ < source_.size() && source_[at_] == ',') target_ += '0';
      }
    }
    return by_line_ ? "(?m)" + target_ : target_;
  }

 private:
  Error refused(const std::string& what) const {
    return Error(place_, "must be an expression we can write for PCRE2", what, "please report it");
  }

  void escape(bool in_set) {
    if (at_ + 1 == source_.size()) throw refused("a backslash at the end");
    const char c = source_[at_ + 1];
    at_ += 2;
    const auto as_set = [&](std::string_view members) {
      target_.append(in_set ? "" : "[").append(members).append(in_set ? "" : "]");
    };
    if (c == 'w') {
      as_set(kWordMembers);
    } else if (c == 'W' && !in_set) {
      target_.append("[^").append(kWordMembers).append("]");
    } else if (c == 'h') {
      as_set("0-9a-fA-F");
    } else if ((c == 'b' || c == 'B') && !in_set) {
      target_.append(boundary(c == 'b'));
    } else if (c == 'W' || c == 'H') {
      throw refused(std::string("\\") + c + " here");
    } else if (c == 'u') {
      if (at_ + 4 > source_.size()) throw refused("\\u without four digits");
      target_.append("\\x{").append(source_.substr(at_, 4)).append("}");
      at_ += 4;
    } else {
      target_.append({'\\', c});
      if ((c == 'p' || c == 'P') && at_ < source_.size() && source_[at_] == '{') property();
    }
  }

  void property() {
    const size_t end = source_.find('}', at_);
    if (end == std::string_view::npos) throw refused("\\p{ without }");
    std::string_view name = source_.substr(at_ + 1, end - at_ - 1);
    target_ += '{';
    if (name.starts_with('^')) {
      target_ += '^';
      name.remove_prefix(1);
    }
    if (std::find(kScripts.begin(), kScripts.end(), name) != kScripts.end()) target_ += "sc:";
    target_.append(name).append("}");
    at_ = end + 1;
  }

  // A set, those inside it joined to it.
  void set() {
    target_ += '[';
    ++at_;
    if (at_ < source_.size() && source_[at_] == '^') target_ += source_[at_++];
    if (at_ < source_.size() && source_[at_] == ']') {
      target_ += "\\]";
      ++at_;
    }
    for (int depth = 1; depth > 0;) {
      if (at_ == source_.size()) throw refused("a set without ]");
      const char c = source_[at_];
      const std::string_view rest = source_.substr(at_);
      if (c == '\\') {
        escape(true);
      } else if (rest.starts_with("[:")) {
        const size_t end = rest.find(":]");
        if (end == std::string_view::npos) throw refused("[: without :]");
        target_ += rest.substr(0, end + 2);
        at_ += end + 2;
      } else if (rest.starts_with("&&")) {
        throw refused("an intersection of sets");
      } else if (rest.starts_with("[^")) {
        throw refused("a negated set within a set");
      } else if (c == '[') {
        ++depth;
        ++at_;
      } else if (c == ']') {
        --depth;
        ++at_;
      } else {
        target_ += c;
        ++at_;
      }
    }
    target_ += ']';
  }

  std::string_view source_;
  const std::string& place_;
  size_t at_ = 0;
  bool by_line_ = false;
  std::string target_;
};

}  // namespace

std::string perl_pattern(std::string_view oniguruma, const std::string& place) {
  return Translator(oniguruma, place).run();
}

HfPattern::HfPattern(std::string_view pattern) : regex_(RegexSplitter(std::span(&pattern, 1))) {}

HfPattern::HfPattern(const HfNode& node) {
  if (node.json().is_string()) {
    literal_ = node.string();
  } else if (const auto literal = node.find("String")) {
    literal_ = literal->string();
  } else {
    const HfNode regex = node.at("Regex");
    const std::string pattern = perl_pattern(regex.string(), regex.place());
    const std::string_view view = pattern;
    regex_.emplace(std::span(&view, 1));
  }
}

std::vector<Stretch> HfPattern::stretches(std::string_view text) const {
  if (regex_) return regex_->stretches(text);
  std::vector<Stretch> found;
  while (!text.empty()) {
    const size_t match = literal_.empty() ? std::string_view::npos : text.find(literal_);
    if (match != 0) found.push_back({text.substr(0, match), false});
    if (match == std::string_view::npos) break;
    found.push_back({text.substr(match, literal_.size()), true});
    text.remove_prefix(match + literal_.size());
  }
  return found;
}

std::string HfPattern::replace_all(std::string_view text, std::string_view content) const {
  std::string result;
  result.reserve(text.size());
  for (const Stretch& stretch : stretches(text)) {
    result += stretch.matched ? content : stretch.text;
  }
  return result;
}

}  // namespace ropewalk
