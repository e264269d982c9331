// What attend() takes of memory beside what it is given.
#ifndef ROPEWALK_KERNELS_ATTENTION_MEMORY_H_
#define ROPEWALK_KERNELS_ATTENTION_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

// Bytes that each thread grows its workspace to, and keeps, for one sequence.
size_t attention_workspace_bytes(const Rotations& rotations, int64_t n_heads, int64_t n_kv_heads,
                                 int64_t head_dim);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_MEMORY_H_
