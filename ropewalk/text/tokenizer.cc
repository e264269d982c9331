#include "ropewalk/text/tokenizer.h"

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_level_bpe.h"
#include "ropewalk/text/pretokenizers.h"
#include "ropewalk/text/sentencepiece_bpe.h"
#include "ropewalk/text/spaced_bpe.h"
#include "ropewalk/text/unigram_tokenizer.h"
#include "ropewalk/text/wordpiece_tokenizer.h"

namespace ropewalk {

std::vector<std::string> Tokenizer::pieces(std::span<const int32_t> ids) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const int32_t id : ids) pieces.push_back(piece(id));
  return pieces;
}

std::unique_ptr<Tokenizer> make_tokenizer(const Vocabulary& vocabulary) {
  const std::string& model = vocabulary.model;
  if (model == "llama") return std::make_unique<SentencePieceBpe>(vocabulary);
  if (model == "t5") return std::make_unique<UnigramTokenizer>(vocabulary);
  if (model == "bert") return std::make_unique<WordPieceTokenizer>(vocabulary);
  if (model == "gpt2" || model == "gemma4") {
    const bool is_gemma = model == "gemma4" && vocabulary.pre.empty();
    const Pretokenizer& pretokenizer = find_pretokenizer(is_gemma ? "gemma4" : vocabulary.pre);
    if (pretokenizer.byte_level) return std::make_unique<ByteLevelBpe>(vocabulary, pretokenizer);
    return std::make_unique<SpacedBpe>(vocabulary, pretokenizer);
  }
  throw Error("tokenizer.ggml.model", "must be one we know", "\"" + model + "\"",
              "known: llama, gpt2, gemma4, t5, bert");
}

}  // namespace ropewalk
