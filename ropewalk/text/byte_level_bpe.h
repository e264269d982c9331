// The "gpt2" tokenizer: byte-level BPE. Text is cut into words; in each, the neighbours with the
// best-ranked merge are joined until no merge applies. Sources: Sennrich et al. 2016
// (arxiv.org/abs/1508.07909) for merging, Radford et al. 2019 (GPT-2) for bytes.
#ifndef ROPEWALK_TEXT_BYTE_LEVEL_BPE_H_
#define ROPEWALK_TEXT_BYTE_LEVEL_BPE_H_

#include <cstddef>
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

class ByteLevelBpe final : public TokenizerBase {
 public:
  // Throws Error as make_tokenizer does.
  ByteLevelBpe(const Vocabulary& vocabulary, const Pretokenizer& pretokenizer);

  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;

 protected:
  void encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  struct Scratch;

  void add_tokens();
  void add_merges(const std::vector<std::string>& merges);
  // A symbol is a byte string that can occur while merging: each byte, each part and product of a
  // merge. Not every one need be a token.
  BpeSymbol intern(std::string_view bytes);
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_symbol(BpeSymbol symbol, std::string_view bytes, std::vector<int32_t>& ids) const;

  RegexSplitter splitter_;
  bool ignore_merges_;
  std::vector<std::string> bytes_;                     // (n_tokens) what each token stands for
  std::unordered_map<std::string_view, int32_t> ids_;  // of tokens that spell text; views of bytes_
  std::unordered_map<std::string, BpeSymbol> symbols_;
  std::vector<int32_t> symbol_ids_;  // (n_symbols) the token, or -1; the first 256 are the bytes
  BpeMerges merges_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_BYTE_LEVEL_BPE_H_
