// What may be replaced by a model that is written.
#ifndef ROPEWALK_CONFIG_OUTPUT_FILE_H_
#define ROPEWALK_CONFIG_OUTPUT_FILE_H_

#include <string>

namespace ropewalk {

enum class Replace {
  kOwn,     // what was written from the same model, as its undo record says, and empty files
  kModels,  // any model: a GGUF file, or a JSON object for a config.json
};

// Throws Error where `output` is empty, or is there and is no regular file, a symbolic link among
// them.
void refuse_special(const std::string& output);

// Throws Error where `output` is empty, or is there and is the model itself, by whatever name or
// link, or another symbolic link, or no regular file (a folder, /dev/stdout), or must not be
// replaced. What an undo would restore may be replaced by it where it is the same.
//   model  of the file that is read
//   undo   whether what is written is what `model` was before its last write
void check_replaceable(const std::string& model, const std::string& output,
                       Replace replace = Replace::kOwn, bool undo = false);

// The same of what write_model would write for these two, a config.json in a folder among them, and
// that a file can be made there; what is made for the trial is removed.
void check_output(const std::string& model, const std::string& output,
                  Replace replace = Replace::kOwn);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_OUTPUT_FILE_H_
