// Matrices of experts whose elements and scales lie in two tensors of MXFP4.
#ifndef ROPEWALK_ENGINE_MXFP4_MATRICES_H_
#define ROPEWALK_ENGINE_MXFP4_MATRICES_H_

#include <cstdint>
#include <optional>

#include "ropewalk/engine/weights.h"

namespace ropewalk {

// All rows of all matrices. Reading throws Error naming the scale that is no number.
//   blocks   (storage.matrices, outputs / storage.matrices, inputs / 32, 16) bytes
//   scales   (storage.matrices, outputs / storage.matrices, inputs / 32) bytes
//   storage  how a matrix's rows are dealt
WeightRows mxfp4_rows(const TensorSource& source, const TensorInfo& blocks,
                      const TensorInfo& scales, const Storage& storage, int64_t outputs,
                      int64_t inputs);

// Of tensors that may be either of the two, by name and type: what the blocks hold; no matrices in
// scales, which go with their blocks. Nothing of other tensors.
struct Mxfp4Sizes {
  int64_t matrices = 0;
  int64_t outputs = 0;  // of one
  int64_t inputs = 0;
};
std::optional<Mxfp4Sizes> mxfp4_sizes(const TensorInfo& info);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_MXFP4_MATRICES_H_
