// Which file says a model's positions, and in which form.
#ifndef ROPEWALK_CONFIG_MODEL_FORMAT_H_
#define ROPEWALK_CONFIG_MODEL_FORMAT_H_

#include <string>

namespace ropewalk {

// What a ModelConfig was read from. llama.cpp reads a config.json by way of its converter;
// transformers and vLLM read a GGUF file by transformers' own reader.
enum class ModelFormat { kGguf, kHuggingFace };

// The file that says a model's positions: config.json of a directory, else the file itself.
std::string positions_file(const std::string& model);

// By the name of that file: what ends in .json is Hugging Face's.
ModelFormat model_format(const std::string& model);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_MODEL_FORMAT_H_
