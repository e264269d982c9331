// Perplexity as others define it, so that published figures can be compared. The definitions differ
// in how much context a token has when it is scored, and in which tokens are.
//
// Sources: Hugging Face, huggingface.co/docs/transformers/perplexity (strided); llama.cpp,
// tools/perplexity (chunks).
#ifndef ROPEWALK_STUDY_PERPLEXITY_H_
#define ROPEWALK_STUDY_PERPLEXITY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/study/scorer.h"

namespace ropewalk {

enum class PerplexityRule : uint8_t {
  // Windows that begin every `stride` tokens; each scores the tokens that none before it had.
  kStrided,
  // Windows side by side, the rest of the text left out; each scores the tokens that come behind at
  // least window / 2 + 1 others.
  kSecondHalf,
  // The same windows; each scores all tokens but its first.
  kWholeChunks,
};

struct PerplexityOptions {
  PerplexityRule rule = PerplexityRule::kStrided;
  int64_t window = 0;  // tokens, at least 2
  int64_t stride = 0;  // kStrided: 1 to window
  // Takes the place of each window's first token, which is never scored; nothing: it stays.
  std::optional<int32_t> bos = {};

  bool operator==(const PerplexityOptions&) const = default;
};

struct Perplexity {
  PerplexityOptions options;
  int64_t tokens = 0;     // of the text
  int64_t windows = 0;    // passes
  int64_t scored = 0;     // tokens
  int64_t bytes = 0;      // of the scored tokens
  int64_t words = 0;      // that begin in them
  double nats = 0;        // over all of them
  double context = 0;     // tokens before a scored one, over all of them
  int64_t stray_bos = 0;  // BOS inside windows, behind their first token
  std::string digest;     // of the token ids

  double nats_per_token() const;
  double perplexity() const;
  double mean_context() const;
  // Nothing where the pieces of the tokens were not given.
  std::optional<double> bits_per_byte() const;
  std::optional<double> word_perplexity() const;  // exp(nats / words)

  // "window=512 side by side, second half of each, as llama.cpp's tool"
  std::string definition() const;
};

// Throws Error, saying how many there are, where the text gives no scored token.
//   ids       of the text
//   pieces    bytes of each token; empty: bytes and words are not counted
//   progress  share of the passes
Perplexity measure_perplexity(const Scorer& scorer, std::span<const int32_t> ids,
                              const PerplexityOptions& options,
                              std::span<const std::string> pieces = {},
                              const Progress& progress = {});

// a - b in nats per token. Throws Error, naming what differs, where the two are no measures of the
// same thing: other tokens, another definition.
double perplexity_difference(const Perplexity& a, const Perplexity& b);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_PERPLEXITY_H_
