// Models in several files: whether what lies beside the file that was given is all of it.
#ifndef ROPEWALK_CLI_MODEL_PARTS_H_
#define ROPEWALK_CLI_MODEL_PARTS_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// How many tensors split.tensors.count leaves out or has too many: of all parts where the file is
// whole or the others lie beside it under llama.cpp's names, else of this part, which cannot have
// more than all. Nothing where the numbers agree. Throws Error where a part cannot be read.
std::optional<Error> find_part_mismatch(const GgufFile& file);

// All parts as one where `file` is one of several that lie beside it under llama.cpp's names;
// `file` itself where it is no part, or some part is not there.
// Throws Error as GgufFile::open_all() does. Data must be there where those of `file` are.
std::shared_ptr<const GgufFile> with_other_parts(std::shared_ptr<const GgufFile> file);

// Weights of a Hugging Face directory that nothing here reads, by their names in order.
struct UnreadWeights {
  std::vector<std::string> shards;  // model-00001-of-00002.safetensors and so on
  std::vector<std::string> others;  // other safetensors, pytorch_model.bin and its shards
};
UnreadWeights find_unread_weights(const std::filesystem::path& folder);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_MODEL_PARTS_H_
