// Memory for arrays that are too small for huge pages of their own.
#ifndef ROPEWALK_BASE_PAGE_POOL_H_
#define ROPEWALK_BASE_PAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ropewalk {

// `bytes` bytes aligned to 64, zero at first, from a run of huge pages that arrays share; the run is
// freed with the last of them. Any number of threads may call it. Throws std::bad_alloc.
std::shared_ptr<uint8_t> allocate_pooled(size_t bytes);

// What it takes for them, but for the rest of the last page of a run.
size_t pooled_bytes(size_t bytes);

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_PAGE_POOL_H_
