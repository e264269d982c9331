#include "ropewalk/text/tokenizer.h"

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_level_bpe.h"
#include "ropewalk/text/sentencepiece_bpe.h"

namespace ropewalk {

std::vector<std::string> Tokenizer::pieces(std::span<const int32_t> ids) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const int32_t id : ids) pieces.push_back(piece(id));
  return pieces;
}

std::unique_ptr<Tokenizer> make_tokenizer(const Vocabulary& vocabulary) {
  if (vocabulary.model == "llama") return std::make_unique<SentencePieceBpe>(vocabulary);
  if (vocabulary.model == "gpt2") return std::make_unique<ByteLevelBpe>(vocabulary);
  throw Error("tokenizer.ggml.model", "must be one we know", "\"" + vocabulary.model + "\"",
              "known: llama, gpt2");
}

}  // namespace ropewalk
