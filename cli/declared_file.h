// A model file opened to be looked at, as `show`, `check` and `compare` do.
#ifndef ROPEWALK_CLI_DECLARED_FILE_H_
#define ROPEWALK_CLI_DECLARED_FILE_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/config/engine_views.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct DeclaredFile {
  std::string path;    // of the file that was read: config.json in a directory
  std::string format;  // "GGUF version 3", "config.json"
  ModelFormat kind = ModelFormat::kGguf;
  ModelConfig config;
  std::string obstacle;  // why Ropewalk's engine does not run it; empty where it does

  // One of the two it was read from.
  nlohmann::ordered_json document;
  std::shared_ptr<const GgufFile> gguf;
};

// Opens a GGUF file, whole or its header alone, a config.json, or a directory with one.
//   overrides  "key=JSON" or "block.key=JSON", put into a config.json before it is read
// Throws Error, with line and column where an override is no JSON.
DeclaredFile open_declared(const std::string& path, const std::vector<std::string>& overrides = {});

// Adds what the tokenizer_config.json beside a config.json says of the length. Throws Error where
// that is no JSON.
void add_tokenizer_length(const std::string& path, ModelConfig& config);

// Puts one override into the document. Throws Error.
void override_key(nlohmann::ordered_json& document, const std::string& text);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_DECLARED_FILE_H_
