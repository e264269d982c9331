// The tokenizer that a model on disk brings, without the model.
#ifndef ROPEWALK_ENGINE_OPEN_TOKENIZER_H_
#define ROPEWALK_ENGINE_OPEN_TOKENIZER_H_

#include <filesystem>
#include <memory>
#include <string>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// Reads tokenizer.json, where there is none tokenizer.model, with what tokenizer_config.json says of
// BOS and EOS. Where it is silent on a tokenizer.model, BPE begins with BOS and unigram ends with
// EOS, as the models of that kind (Llama, T5) were made.
// Throws Error where neither file is there, or one of them cannot be read or followed.
std::unique_ptr<Tokenizer> open_directory_tokenizer(const std::filesystem::path& directory);

// The tokenizer of a directory, or of a GGUF file, whose tensors may be missing.
// Throws Error as above and as make_tokenizer does.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_OPEN_TOKENIZER_H_
