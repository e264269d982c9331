#include "ropewalk/base/page_pool.h"

#include <mutex>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/aligned_size.h"

namespace ropewalk {
namespace {

// Pages of a run that nothing lies in yet take no memory.
constexpr size_t kRun = size_t{32} << 20;
constexpr size_t kLargest = kRun / 4;  // larger ones have a run of their own

using Run = AlignedBuffer<uint8_t>;

}  // namespace

std::shared_ptr<uint8_t> allocate_pooled(size_t bytes) {
  if (bytes > kLargest) {
    const auto own = std::make_shared<Run>(bytes);
    return {own, own->data()};
  }
  static std::mutex mutex;
  static std::weak_ptr<Run> current;
  static size_t used = 0;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Run> run = current.lock();
  if (run == nullptr || used + bytes > kRun) {
    run = std::make_shared<Run>(kRun);
    current = run;
    used = 0;
  }
  uint8_t* const first = run->data() + used;
  used += pooled_bytes(bytes);
  return {run, first};
}

size_t pooled_bytes(size_t bytes) {
  return bytes > kLargest ? aligned_bytes(bytes)
                          : (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace ropewalk
