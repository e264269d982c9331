// The products of interleaved rows, where the CPU has dot products of bytes.
#ifndef ROPEWALK_ENGINE_BYTE_PRODUCTS_H_
#define ROPEWALK_ENGINE_BYTE_PRODUCTS_H_

#include <cstdint>

#include "ropewalk/engine/interleaved_rows.h"

namespace ropewalk {

bool has_byte_products();

// The sums of one group of sixteen rows.
//   group  its blocks, as InterleavedRows lays them
//   y      (16)
// Call it only where has_byte_products().
void multiply_group(TensorType type, const uint8_t* group, int64_t blocks, const ByteActivations& x,
                    float* y);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_BYTE_PRODUCTS_H_
