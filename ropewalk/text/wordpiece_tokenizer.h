// The "bert" tokenizer: WordPiece over BERT's words, in the form llama.cpp's converter gives it: a
// token that begins a word is spelled with U+2581, one that goes on with it without a mark.
#ifndef ROPEWALK_TEXT_WORDPIECE_TOKENIZER_H_
#define ROPEWALK_TEXT_WORDPIECE_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/bert_text.h"
#include "ropewalk/text/tokenizer_base.h"
#include "ropewalk/text/wordpiece.h"

namespace ropewalk {

class WordPieceTokenizer final : public TokenizerBase {
 public:
  // Throws Error as make_tokenizer does.
  explicit WordPieceTokenizer(const Vocabulary& vocabulary);

  // Words with one space between them: what normalisation took away does not come back.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;

 protected:
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  BertNormalization rules_;
  WordPiece pieces_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_WORDPIECE_TOKENIZER_H_
