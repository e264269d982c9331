// tokenizer.model: a SentencePiece model as its own program writes it, a protobuf message. Source:
// github.com/google/sentencepiece, src/sentencepiece_model.proto.
#ifndef ROPEWALK_TEXT_SENTENCEPIECE_FILE_H_
#define ROPEWALK_TEXT_SENTENCEPIECE_FILE_H_

#include <string>
#include <string_view>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// Returns what the file says, a BPE model as "llama" and a unigram model as "t5"; whether BOS and
// EOS are added it does not say.
//   place  names the file in messages
// Safe on hostile input. Throws Error where the message is damaged, and on models of words or
// characters, or with spaces after words, which no model here uses.
Vocabulary read_sentencepiece(std::string_view file, const std::string& place);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SENTENCEPIECE_FILE_H_
