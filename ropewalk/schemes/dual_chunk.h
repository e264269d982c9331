// Dual chunk attention's distances, which two schemes share.
#ifndef ROPEWALK_SCHEMES_DUAL_CHUNK_H_
#define ROPEWALK_SCHEMES_DUAL_CHUNK_H_

#include <cstdint>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {

// With r = chunk - local tokens to a chunk, f(i, j) is
//   i - j                                      in one chunk,
//   min(i mod r + r, chunk) - j mod r          where j lies in the chunk before that of i,
//   min(2 r - 1, chunk) - j mod r              where it lies further back.
// So no distance is beyond `chunk`. Source: An et al. 2024, arXiv 2402.17463; the form is that of
// Qwen2.5-1M (dual_chunk_attention_config: chunk_size, local_size).
//   chunk  tokens, > local
//   local  tokens, >= 0
DistanceMap dual_chunk_map(int64_t chunk, int64_t local, PairRange pairs);

struct DualChunk {
  int64_t chunk = 0;
  int64_t local = 0;
};

// The parameters `chunk` and `local` where given, which must be together, else `preset`. Throws
// Error where they do not fit.
DualChunk dual_chunk_params(const SchemeParams& params, const DualChunk& preset);

// What `dca` with these parameters is on a model: the paper's setting where it has none. Throws
// Error where that needs a trained length and the model tells none.
DualChunk dca_chunks(const SchemeParams& params, const Rotary& declared);

// The paper's chunks of s = 3L/4 tokens, window of L - s and farthest distance L - 1, as chunk
// and local.
DualChunk papers_dual_chunk(int64_t trained_length);

std::vector<ParamInfo> dual_chunk_param_infos(const std::string& chunk_default,
                                              const std::string& local_default);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_DUAL_CHUNK_H_
