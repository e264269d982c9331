#include "ropewalk/text/regex_splitter.h"

#include <cstdint>
#include <new>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "ropewalk/base/error.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {
namespace {

// Enough for the longest text in one match of any pattern we know (they repeat single characters,
// which costs no memory); a pattern that needs more is one that backtracks without bound.
constexpr uint32_t kHeapLimitKib = 64 * 1024;
constexpr uint32_t kMatchLimit = 50'000'000;

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string message(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

// \p{Z} with the controls below is White_Space exactly.
std::string with_unicode_space(std::string_view pattern) {
  constexpr std::string_view kMembers = "\\p{Z}\\t-\\r\\x{85}";
  std::string expanded;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      expanded += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      expanded.append(in_class ? "" : "[").append(kMembers).append(in_class ? "" : "]");
    } else if (escaped == 'S' && !in_class) {
      expanded.append("[^").append(kMembers).append("]");
    } else {
      expanded.append({'\\', escaped});
    }
  }
  return expanded;
}

}  // namespace

struct RegexSplitter::Pattern {
  std::unique_ptr<pcre2_code, FreeCode> code;
};

RegexSplitter::RegexSplitter(std::span<const std::string_view> patterns) {
  for (const std::string_view source : patterns) {
    const std::string expanded = with_unicode_space(source);
    int error = 0;
    size_t at = 0;
    auto pattern = std::make_unique<Pattern>();
    pattern->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()),
                                      expanded.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY,
                                      &error, &at, nullptr));
    if (!pattern->code) {
      throw Error("pre-tokenizer", "must be a regular expression: " + message(error),
                  "\"" + expanded + "\" at byte " + std::to_string(at));
    }
    // Best effort: without JIT the same code is interpreted.
    pcre2_jit_compile(pattern->code.get(), PCRE2_JIT_COMPLETE);
    patterns_.push_back(std::move(pattern));
  }
}

RegexSplitter::~RegexSplitter() = default;
RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;

namespace {

// What matching needs besides the pattern; one per call of split(), so threads share nothing.
class Matcher {
 public:
  Matcher()
      : match_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
    if (!match_ || !context_) throw std::bad_alloc();
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }

  // Finds the first match in text[from..]; false if there is none.
  //   text  valid UTF-8
  bool find(const pcre2_code* code, std::string_view text, size_t from) {
    int result = run(code, text, from, PCRE2_NO_UTF_CHECK);
    // The JIT's stack is small and the interpreter's is on the heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      result = run(code, text, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    }
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) throw Error("pre-tokenizer", "gave up on this text: " + message(result));
    return true;
  }

  size_t begin() const { return pcre2_get_ovector_pointer(match_.get())[0]; }
  size_t end() const { return pcre2_get_ovector_pointer(match_.get())[1]; }

 private:
  int run(const pcre2_code* code, std::string_view text, size_t from, uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options,
                       match_.get(), context_.get());
  }

  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

// Appends the stretches that `code` cuts `piece` into.
//   piece  valid UTF-8
void cut(const pcre2_code* code, std::string_view piece, Matcher& matcher,
         std::vector<Stretch>& stretches) {
  size_t done = 0;
  size_t from = 0;
  const auto add = [&](size_t end, bool matched) {
    if (end > done) stretches.push_back({piece.substr(done, end - done), matched});
    done = end;
  };
  while (from < piece.size() && matcher.find(code, piece, from)) {
    const size_t begin = matcher.begin();
    const size_t end = matcher.end();
    add(begin, false);
    add(end, true);
    if (begin >= piece.size()) break;
    from = end == begin ? begin + utf8_length(piece.substr(begin)) : end;
  }
  add(piece.size(), false);
}

// Valid stretches as they are, each byte of an invalid one by itself.
std::vector<std::string_view> cut_at_invalid_bytes(std::string_view text) {
  std::vector<std::string_view> pieces;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_length(text.substr(at));
    if (size != 0) {
      at += size;
      continue;
    }
    if (at > done) pieces.push_back(text.substr(done, at - done));
    pieces.push_back(text.substr(at, 1));
    done = ++at;
  }
  if (done < text.size()) pieces.push_back(text.substr(done));
  return pieces;
}

}  // namespace

std::vector<std::string_view> RegexSplitter::split(std::string_view text) const {
  std::vector<std::string_view> pieces = cut_at_invalid_bytes(text);
  std::vector<Stretch> finer;
  Matcher matcher;
  for (const auto& pattern : patterns_) {
    finer.clear();
    for (const std::string_view piece : pieces) {
      if (utf8_length(piece) != 0) {
        cut(pattern->code.get(), piece, matcher, finer);
      } else {
        finer.push_back({piece, false});
      }
    }
    pieces.clear();
    for (const Stretch& stretch : finer) pieces.push_back(stretch.text);
  }
  return pieces;
}

std::vector<Stretch> RegexSplitter::stretches(std::string_view text) const {
  std::vector<Stretch> found;
  Matcher matcher;
  for (const std::string_view piece : cut_at_invalid_bytes(text)) {
    if (utf8_length(piece) != 0) {
      cut(patterns_.front()->code.get(), piece, matcher, found);
    } else {
      found.push_back({piece, false});
    }
  }
  return found;
}

}  // namespace ropewalk
