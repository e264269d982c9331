// A GGUF file of the keys and tensors of a case, made in memory.
#ifndef ROPEWALK_CLI_GOLDEN_GGUF_BYTES_H_
#define ROPEWALK_CLI_GOLDEN_GGUF_BYTES_H_

#include <string>

#include "cli/golden/value.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk::golden {

// The architecture of a case: general.architecture, else what its keys begin with; "A" there stands
// for any, and is `model` or, where no file is of that, qwen3.
std::string architecture_of(const Json& keys, const std::string& model);

// Reads the positions of a file that holds the case's keys and tensors, and the sizes that cases
// leave out because positions do not depend on them.
//   keys     as the case has them: integers are u32 (i32 below 0), other numbers f32, lists i32 or
//            f32; "shape [48]" for a key that ends in ".weight" is a tensor of ones
//   tensors  name: list of numbers, or {"repeat": [[value, count], ...]}; may be null
//   decimals whether text that is a number stands for it (of f32), as in cases of kind gguf
// Throws Error as read_gguf_positions().
ModelConfig read_gguf_case(const Json& keys, const Json& tensors, const std::string& model,
                           bool decimals);

}  // namespace ropewalk::golden

#endif  // ROPEWALK_CLI_GOLDEN_GGUF_BYTES_H_
