// The "t5" tokenizer: SentencePiece unigram.
#ifndef ROPEWALK_TEXT_UNIGRAM_TOKENIZER_H_
#define ROPEWALK_TEXT_UNIGRAM_TOKENIZER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/sentencepiece_normalizer.h"
#include "ropewalk/text/tokenizer_base.h"
#include "ropewalk/text/unigram.h"

namespace ropewalk {

class UnigramTokenizer final : public TokenizerBase {
 public:
  // Throws Error as make_tokenizer does.
  explicit UnigramTokenizer(const Vocabulary& vocabulary);

  // What normalisation took away does not come back.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;

 protected:
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  void append(std::string_view text, Unigram::Piece piece, std::vector<int32_t>& ids) const;

  SentencePieceNormalizer normalizer_;
  Unigram model_;
  bool word_by_word_ = true;           // no token reaches over a space
  std::array<int32_t, 256> byte_ids_;  // -1 where the vocabulary has no such byte
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_UNIGRAM_TOKENIZER_H_
