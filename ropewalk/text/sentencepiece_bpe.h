// The "llama" tokenizer: SentencePiece BPE, which merges whichever neighbours spell the
// best-scoring token. Source: Kudo and Richardson 2018 (arxiv.org/abs/1808.06226), in the form
// llama.cpp gives it: no normalisation, every space kept and written as U+2581.
#ifndef ROPEWALK_TEXT_SENTENCEPIECE_BPE_H_
#define ROPEWALK_TEXT_SENTENCEPIECE_BPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ropewalk/text/hash_pair.h"
#include "ropewalk/text/sentencepiece_normalizer.h"
#include "ropewalk/text/tokenizer_base.h"

namespace ropewalk {

class SentencePieceBpe final : public TokenizerBase {
 public:
  // Throws Error as make_tokenizer does.
  explicit SentencePieceBpe(const Vocabulary& vocabulary);

  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;

 protected:
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  // Returns the id that spells `text`, or -1.
  int32_t find(std::string_view text) const;

  struct Scratch;

  // Remembers which characters stand side by side in `token`.
  void add_joints(std::string_view token);

  // Merges one stretch of characters that no token reaches beyond.
  void merge(Scratch& scratch, std::vector<int32_t>& ids) const;

  void append_fallback(std::string_view character, std::vector<int32_t>& ids) const;

  bool add_space_prefix_;
  std::optional<SentencePieceNormalizer> normalizer_;
  size_t longest_ = 0;         // bytes of the longest token that text may spell
  std::vector<float> scores_;  // (n_tokens)
  std::unordered_map<std::string_view, int32_t> ids_;
  // Pairs of neighbouring characters found in some token. Two characters that are not among them
  // never end up in one token, so text may be cut there and merged in small parts.
  std::unordered_set<uint64_t, HashPair> joints_;
  std::array<int32_t, 256> byte_ids_;  // -1 where the vocabulary has no such byte
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SENTENCEPIECE_BPE_H_
