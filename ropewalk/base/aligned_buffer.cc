#include "ropewalk/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace ropewalk {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

size_t alignment_of(size_t bytes) { return bytes >= kHugePage ? kHugePage : kCacheLine; }

}  // namespace

void* allocate_aligned(size_t bytes) {
  const size_t alignment = alignment_of(bytes);
  if (bytes > SIZE_MAX - alignment) throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage)
    madvise(memory, rounded, MADV_HUGEPAGE);  // advice: failing is harmless
#endif
  std::memset(memory, 0, rounded);
  return memory;
}

void free_aligned(void* memory) { std::free(memory); }

}  // namespace ropewalk
