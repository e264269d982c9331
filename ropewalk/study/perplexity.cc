#include "ropewalk/study/perplexity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/part_of_progress.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/study/space.h"

namespace ropewalk {
namespace {

// Tokens of the text that are read in one pass, and the first of them that is scored.
struct Span {
  int64_t first = 0;
  int64_t end = 0;
  int64_t scored = 0;
};

std::vector<Span> strided_spans(int64_t size, int64_t window, int64_t stride) {
  std::vector<Span> spans;
  int64_t done = 0;  // tokens before it have had their turn
  for (int64_t first = 0; done < size; first += stride) {
    const int64_t end = std::min(first + window, size);
    spans.push_back({.first = first, .end = end, .scored = std::max(done, first + 1)});
    done = end;
  }
  return spans;
}

std::vector<Span> side_by_side(int64_t size, int64_t window, int64_t unscored) {
  std::vector<Span> spans;
  for (int64_t first = 0; first + window <= size; first += window)
    spans.push_back({.first = first, .end = first + window, .scored = first + unscored});
  return spans;
}

std::vector<Span> spans_of(int64_t size, const PerplexityOptions& options) {
  switch (options.rule) {
    case PerplexityRule::kStrided:
      return strided_spans(size, options.window, options.stride);
    case PerplexityRule::kSecondHalf:
      return side_by_side(size, options.window, options.window / 2 + 1);
    case PerplexityRule::kWholeChunks:
      break;
  }
  return side_by_side(size, options.window, 1);
}

void check(const PerplexityOptions& options) {
  if (options.window < 2)
    throw Error("window", "must be at least 2 tokens", std::to_string(options.window));
  if (options.rule != PerplexityRule::kStrided) return;
  if (options.stride < 1 || options.stride > options.window) {
    throw Error("stride", fmt::format("must be from 1 to the window of {}", options.window),
                std::to_string(options.stride), "a larger one would leave tokens out");
  }
}

// Counts what is scored, piece by piece; words begin behind white space.
class Counter {
 public:
  void add(const std::string& piece, Perplexity& result) {
    result.bytes += std::ssize(piece);
    for (const char c : piece) {
      if (!is_space(c) && in_space_) ++result.words;
      in_space_ = is_space(c);
    }
  }

 private:
  bool in_space_ = true;
};

}  // namespace

double Perplexity::nats_per_token() const { return nats / static_cast<double>(scored); }

double Perplexity::perplexity() const { return std::exp(nats_per_token()); }

double Perplexity::mean_context() const { return context / static_cast<double>(scored); }

std::optional<double> Perplexity::bits_per_byte() const {
  if (bytes == 0) return std::nullopt;
  return nats / std::numbers::ln2 / static_cast<double>(bytes);
}

std::optional<double> Perplexity::word_perplexity() const {
  if (words == 0) return std::nullopt;
  return std::exp(nats / static_cast<double>(words));
}

std::string Perplexity::definition() const {
  const int64_t window = options.window;
  const std::string first = options.bos ? ", BOS in place of each window's first token" : "";
  switch (options.rule) {
    case PerplexityRule::kStrided:
      if (tokens <= window)
        return fmt::format("single window, shorter than window={}{}", window, first);
      return fmt::format("window={} stride={}, every token once, as Hugging Face's guide{}", window,
                         options.stride, first);
    case PerplexityRule::kSecondHalf:
      return fmt::format("window={} side by side, second half of each, as llama.cpp's tool{}",
                         window, first);
    case PerplexityRule::kWholeChunks:
      break;
  }
  return fmt::format("window={} side by side, all of each{}", window, first);
}

Perplexity measure_perplexity(const Scorer& scorer, std::span<const int32_t> ids,
                              const PerplexityOptions& options, std::span<const std::string> pieces,
                              const Progress& progress) {
  check(options);
  const auto size = static_cast<int64_t>(ids.size());
  const std::vector<Span> spans = spans_of(size, options);
  Perplexity result{.options = options, .tokens = size};
  for (const Span& span : spans) result.scored += std::max<int64_t>(0, span.end - span.scored);
  if (result.scored == 0) {
    throw Error("text",
                fmt::format("must have more tokens to be scored under window={}", options.window),
                std::to_string(size), "give a longer text or a shorter window");
  }
  result.digest = sha256_hex(std::as_bytes(ids));
  result.windows = std::ssize(spans);
  Counter counter;
  for (int64_t w = 0; w < result.windows; ++w) {
    const Span& span = spans[static_cast<size_t>(w)];
    if (span.end <= span.scored) continue;
    std::vector<int32_t> window(ids.begin() + span.first, ids.begin() + span.end);
    if (options.bos) {
      window.front() = *options.bos;
      result.stray_bos += std::count(window.begin() + 1, window.end(), *options.bos);
    }
    const std::vector<double> losses = scorer.losses(
        window,
        part_of_progress(progress, static_cast<double>(w), 1, static_cast<double>(result.windows)));
    for (int64_t t = span.scored; t < span.end; ++t) {
      result.nats += losses[static_cast<size_t>(t - span.first - 1)];
      result.context += static_cast<double>(t - span.first);
      if (!pieces.empty()) counter.add(pieces[static_cast<size_t>(t)], result);
    }
  }
  return result;
}

double perplexity_difference(const Perplexity& a, const Perplexity& b) {
  const auto refuse = [](const std::string& what, const std::string& first,
                         const std::string& second) {
    throw Error(what, "must be equal for two perplexities to be compared",
                first + " and " + second);
  };
  if (a.digest != b.digest) refuse("tokens of the text", a.digest, b.digest);
  if (a.options != b.options) refuse("definition", a.definition(), b.definition());
  return a.nats_per_token() - b.nats_per_token();
}

}  // namespace ropewalk
