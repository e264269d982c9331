#include "ropewalk/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "ropewalk/base/aligned_size.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Large buffers are mappings of their own, which the system has back as soon as they are freed: in the
// heap, what lies between two of them stays resident, a fifth of a model's weights in all.
class Mappings {
 public:
  // Whole huge pages that read as zero. Throws std::bad_alloc.
  void* make(size_t bytes) {
    const size_t whole = bytes + kHugePage;
    void* const mapped =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* const start = static_cast<std::byte*>(mapped);
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage) % kHugePage;
    if (before != 0) munmap(start, before);
    munmap(start + before + bytes, kHugePage - before);
#ifdef MADV_HUGEPAGE
    madvise(start + before, bytes, MADV_HUGEPAGE);  // advice: failing is harmless
#endif
    const std::lock_guard lock(mutex_);
    sizes_[start + before] = bytes;
    return start + before;
  }

  // Whether it was one of them.
  bool drop(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return false;
    munmap(memory, found->second);
    sizes_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, size_t> sizes_;
};

// Never destroyed: buffers of static storage may outlive any other.
Mappings& mappings() {
  static Mappings& all = *new Mappings;
  return all;
}

bool on_huge_page(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kHugePage == 0;
}

}  // namespace

size_t buffer_bytes(size_t count, size_t element_bytes) {
  constexpr size_t kMost = SIZE_MAX - 2 * kHugePage;
  if (count <= kMost / element_bytes) return count * element_bytes;
  throw Error("memory", "must be at most what can be addressed",
              std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes")
      .of(FaultKind::kOutOfRange);
}

void* allocate_aligned(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHugePage) throw std::bad_alloc();
  const size_t rounded = aligned_bytes(bytes);
  if (bytes >= kHugePage) return mappings().make(rounded);
  void* const memory = std::aligned_alloc(kCacheLine, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  return memory;
}

void free_aligned(void* memory) {
  if (on_huge_page(memory) && mappings().drop(memory)) return;
  std::free(memory);
}

}  // namespace ropewalk
