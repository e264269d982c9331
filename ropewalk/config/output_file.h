// What may be replaced by a model that is written.
#ifndef ROPEWALK_CONFIG_OUTPUT_FILE_H_
#define ROPEWALK_CONFIG_OUTPUT_FILE_H_

#include <string>

namespace ropewalk {

// Throws Error where `output` is empty, or is there and is the model itself, by whatever name or
// link, or another symbolic link, or no regular file (a folder, /dev/stdout), or holds anything but
// a model: a GGUF file, or a JSON object for a config.json. Empty files may be replaced.
//   model  of the file that is read
void check_replaceable(const std::string& model, const std::string& output);

// The same of what write_model would write for these two, a config.json in a folder among them, and
// that a file can be made there; what is made for the trial is removed.
void check_output(const std::string& model, const std::string& output);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_OUTPUT_FILE_H_
