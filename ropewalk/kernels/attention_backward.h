// The gradients of attend(), for training: of queries, keys and values, through rotation and any
// distance map.
//
// Goal: exact for every plan, the same bits whatever the thread count, no score kept from the forward
// pass but each row's log-sum-exp. Non-goal: bf16. Source: Dao et al. 2022, arXiv 2205.14135,
// appendix B.
#ifndef ROPEWALK_KERNELS_ATTENTION_BACKWARD_H_
#define ROPEWALK_KERNELS_ATTENTION_BACKWARD_H_

#include <cstdint>

#include "ropewalk/kernels/attention_forward.h"

namespace ropewalk {

// Writes the gradients of a loss whose gradient by `out` is d_out.
//   out             (n_rows, n_heads, head_dim), of the forward pass
//   d_out           (n_rows, n_heads, head_dim)
//   d_queries       (n_rows, n_heads, head_dim)
//   d_keys, d_values  (first_row + n_rows, n_kv_heads, head_dim), unrotated keys
// Within 1e-4 of the derivative of the double reference for inputs of unit size.
void attend_backward(const AttentionForward& forward, const float* out, const float* d_out,
                     float* d_queries, float* d_keys, float* d_values);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BACKWARD_H_
