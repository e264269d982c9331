// What may be replaced by a model that is written.
#ifndef ROPEWALK_CONFIG_OUTPUT_FILE_H_
#define ROPEWALK_CONFIG_OUTPUT_FILE_H_

#include <string>

namespace ropewalk {

// Throws Error where `output` is there and is the model itself, by whatever name or link, or holds
// anything but a model: a GGUF file, or a JSON object for a config.json. Empty files may be
// replaced.
//   model  of the file that is read
void check_replaceable(const std::string& model, const std::string& output);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_OUTPUT_FILE_H_
