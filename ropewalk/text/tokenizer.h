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
  // tokenizer.ggml.model: "llama" (SentencePiece BPE), "gpt2" (byte-level BPE), "gemma4" (BPE over
  // characters), "t5" (unigram) or "bert" (WordPiece).
  std::string model = {};
  // tokenizer.ggml.pre, read for "gpt2" and "gemma4"; empty: "default", or "gemma4".
  std::string pre = {};
  // (n_tokens) as the file spells them, byte-level letters included.
  std::vector<std::string> tokens = {};
  // (n_tokens); "llama" merges the highest first, "t5" seeks the largest sum. May be empty else.
  std::vector<float> scores = {};
  // (n_tokens) values of TokenType, or empty: all normal. BOS and EOS are control tokens anyway.
  std::vector<int32_t> token_types = {};
  // "left right", best first; "gpt2" and "gemma4".
  std::vector<std::string> merges = {};
  // Absent: 1, 2 and 0 for "llama"; none, 1 and 2 for "t5"; else none.
  std::optional<int32_t> bos = {};
  std::optional<int32_t> eos = {};
  std::optional<int32_t> unknown = {};
  // tokenizer.ggml.cls_token_id and seperator_token_id (sic): BOS and EOS of "bert", where absent
  // 101 and 102; its unknown is 100.
  std::optional<int32_t> classification = {};
  std::optional<int32_t> separator = {};
  // Absent: true for "llama" and "bert"; for "gpt2" and "gemma4" as its pre-tokenizer does.
  std::optional<bool> add_bos = {};
  // Absent: true for "t5", else false.
  std::optional<bool> add_eos = {};
  // The same for "bert", absent: true.
  std::optional<bool> add_separator = {};
  // Absent: true for "llama", false for "t5".
  std::optional<bool> add_space_prefix = {};
  // Of "t5", absent: false. "llama" keeps every space, as llama.cpp does, so that text round-trips.
  std::optional<bool> remove_extra_whitespaces = {};
  // Bytes, "t5" only; see chars_map.h.
  std::string precompiled_charsmap = {};
  // The two rules above hold for "llama" as well: no GGUF file says so, a tokenizer.model may.
  bool normalizes_llama = false;
  // tokenizer.ggml.normalizer.*, "bert" only. Absent: true, and as `lowercase`.
  std::optional<bool> lowercase = {};
  std::optional<bool> strip_accents = {};
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
  //         (byte tokens, or a byte-level alphabet) and the model does not rewrite text ("t5" and
  //         "bert" do); what it cannot spell becomes `unknown`, and is left out in "gpt2" and
  //         "gemma4"
  // Control tokens come from the text only if `parse_special`, whatever the text spells.
  // One BOS at most is added: none if `parse_special` and the text itself begins with it.
  // Time is n log n for a given vocabulary, one long word included.
  // Throws Error if `text` exceeds kMaxTextBytes, or if the pre-tokenizer's resource limit is met.
  virtual std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const = 0;

  // Returns the bytes that `ids` spell.
  //   ids  any ids: throws Error on one outside [0, size())
  // decode(encode(text)) == text for all bytes the vocabulary can spell. "llama" and
  // "gemma4" have an exception: U+2581 in the text is their own spelling of a space and comes back
  // as one. The space prefix is one per stretch of text, so it is taken back after each special token
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
