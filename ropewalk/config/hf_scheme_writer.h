// The part of write_model() that edits a config.json.
#ifndef ROPEWALK_CONFIG_HF_SCHEME_WRITER_H_
#define ROPEWALK_CONFIG_HF_SCHEME_WRITER_H_

#include <string>

#include "ropewalk/config/scheme_writer.h"

namespace ropewalk {

// Of a write that started from a file which was written before.
inline constexpr const char* kStartedUndone =
    "the file had been written before: this one starts from what its undo gives, the model as it "
    "was "
    "trained, and its undo gives that again";

// Writes request.output, or config.json in it where that is no name of a .json file. The new file
// holds the old one as text under the key ropewalk_undo, which transformers and vLLM carry along
// unread.
//   path  of the config.json that request.model names
WriteReport write_hf_model(const WriteRequest& request, const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SCHEME_WRITER_H_
