// Text to token ids and back, as the model's own file describes it.
#ifndef ROPEWALK_TEXT_TOKENIZER_H_
#define ROPEWALK_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// What a model file says about its tokenizer: one field per `tokenizer.ggml.*` key, empty where the
// key is absent. A plain value: `make_tokenizer` judges it.
struct Vocabulary {
  // tokenizer.ggml.model: "llama" or "gpt2".
  std::string model = {};
  // tokenizer.ggml.pre, read for "gpt2" only; empty: "default".
  std::string pre = {};
  // (n_tokens) as the file spells them, byte-level letters included.
  std::vector<std::string> tokens = {};
  // (n_tokens); "llama" merges the highest first. May be empty for "gpt2".
  std::vector<float> scores = {};
  // (n_tokens) values of TokenType, or empty: all normal. BOS and EOS are control tokens anyway.
  std::vector<int32_t> token_types = {};
  // "left right", best first; "gpt2" only.
  std::vector<std::string> merges = {};
  // Absent: 1, 2 and 0 for "llama", none for "gpt2".
  std::optional<int32_t> bos = {};
  std::optional<int32_t> eos = {};
  std::optional<int32_t> unknown = {};
  // Absent: true for "llama"; for "gpt2" as its pre-tokenizer does.
  std::optional<bool> add_bos = {};
  // Absent: false.
  std::optional<bool> add_eos = {};
  // Absent: true; read for "llama" only.
  std::optional<bool> add_space_prefix = {};
  // A rule of unigram tokenizers. Both models here keep every space, as llama.cpp does, so that
  // text round-trips: they ignore it.
  std::optional<bool> remove_extra_whitespaces = {};
};

// The numbers are those of tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // matched in text only when EncodeOptions::parse_special
  kUserDefined = 4,  // always matched in text, before anything else
  kUnused = 5,
  kByte = 6,  // spelled "<0xHH>"
};

struct EncodeOptions {
  bool add_special = true;     // BOS and EOS, where the file asks for them
  bool parse_special = false;  // "<s>" in the text is the control token, not three characters
};

struct DecodeOptions {
  bool show_control = false;       // spell control tokens instead of leaving them out
  bool strip_space_prefix = true;  // take back the one space that encode() put before the text
};

// Immutable once made: one object may serve any number of threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Returns the ids of `text`.
  //   text  any bytes, invalid UTF-8 included: nothing is lost where the vocabulary can spell it
  //         (byte tokens, or a byte-level alphabet); what it cannot spell becomes `unknown` in
  //         "llama", and is left out in "gpt2"
  // Control tokens come from the text only if `parse_special`, whatever the text spells.
  // One BOS at most is added: none if `parse_special` and the text itself begins with it.
  // Time is n log n for a given vocabulary, one long word included.
  // Throws Error if `text` exceeds kMaxTextBytes, or if the pre-tokenizer's resource limit is met.
  virtual std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const = 0;

  // Returns the bytes that `ids` spell.
  //   ids  any ids: throws Error on one outside [0, size())
  // decode(encode(text)) == text for all bytes the vocabulary can spell. Only "llama" has an
  // exception: U+2581 in the text is that tokenizer's own spelling of a space and comes back as
  // one. The space prefix is one per stretch of text, so it is taken back after each special token
  // too (llama.cpp leaves those in).
  virtual std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const = 0;

  // Returns the bytes of one token, a control token's spelling included: for printing as one
  // generates. No space is stripped. Throws Error on an id outside [0, size()).
  virtual std::string piece(int32_t id) const = 0;

  // The pieces of `ids`, one for one: decode() with nothing stripped or hidden.
  std::vector<std::string> pieces(std::span<const int32_t> ids) const;

  // Throws Error on an id outside [0, size()).
  virtual TokenType type(int32_t id) const = 0;

  virtual size_t size() const = 0;
  virtual std::optional<int32_t> bos() const = 0;
  virtual std::optional<int32_t> eos() const = 0;
  virtual bool adds_bos() const = 0;  // encode() with add_special starts with exactly one BOS
  virtual bool adds_eos() const = 0;  // encode() with add_special ends with one EOS

  static constexpr size_t kMaxTextBytes = size_t{1} << 30;
};

// Returns the tokenizer that `vocabulary` describes. Safe on hostile input.
// Throws Error, placed at the key at fault:
//   a model or pre-tokenizer we do not know (the message lists the known ones)
//   no tokens, list lengths that differ, ids out of range, NaN scores, types outside TokenType
//   "llama" without scores, "gpt2" with merges that do not read "left right"
//   add_bos or add_eos asked for without the token they add
// Where two tokens share a spelling the lower id is used; an empty spelling is never used.
std::unique_ptr<Tokenizer> make_tokenizer(const Vocabulary& vocabulary);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_TOKENIZER_H_
