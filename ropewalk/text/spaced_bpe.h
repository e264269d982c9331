// The "gemma4" tokenizer: BPE by ranked merges, as byte-level BPE has them, over characters as they
// are, as SentencePiece has them: a space is spelled U+2581 and a character that is no token in
// bytes, "<0xHH>". Source: the tokenizer.json of Gemma 4, in the form llama.cpp gives it.
#ifndef ROPEWALK_TEXT_SPACED_BPE_H_
#define ROPEWALK_TEXT_SPACED_BPE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ropewalk/text/bpe_merges.h"
#include "ropewalk/text/pretokenizers.h"
#include "ropewalk/text/regex_splitter.h"
#include "ropewalk/text/tokenizer_base.h"

namespace ropewalk {

class SpacedBpe final : public TokenizerBase {
 public:
  // Throws Error as make_tokenizer does.
  SpacedBpe(const Vocabulary& vocabulary, const Pretokenizer& pretokenizer);

  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;

 protected:
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  BpeSymbol intern(std::string_view spelling);
  void append(std::string_view spelling, BpeSymbol symbol, std::vector<int32_t>& ids) const;

  RegexSplitter splitter_;
  bool whole_line_breaks_;
  std::unordered_map<std::string_view, int32_t> ids_;  // of tokens that spell text
  std::unordered_map<std::string, BpeSymbol> symbols_;
  std::vector<int32_t> symbol_ids_;  // (n_symbols) the token, or -1
  BpeMerges merges_;
  std::array<int32_t, 256> byte_ids_;  // -1 where the vocabulary has no such byte
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SPACED_BPE_H_
