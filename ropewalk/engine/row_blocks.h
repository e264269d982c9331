// Work on rows in blocks of Dense::kBlockRows, so that no answer depends on the thread count.
#ifndef ROPEWALK_ENGINE_ROW_BLOCKS_H_
#define ROPEWALK_ENGINE_ROW_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ropewalk/base/parallel.h"
#include "ropewalk/engine/parts.h"

namespace ropewalk {

// Rows rounded up to whole blocks.
inline int64_t whole_blocks(int64_t rows) {
  return (rows + Dense::kBlockRows - 1) / Dense::kBlockRows * Dense::kBlockRows;
}

// Scratch memory of threads, kept from one round of blocks to the next: memory that is new costs more
// to touch than a block takes to compute.
template <typename Scratch>
class ScratchPool {
 public:
  explicit ScratchPool(std::function<Scratch()> make) : make_(std::move(make)) {}

  // One thread's for as long as the lease lives.
  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(&pool), scratch_(pool.take()) {}
    Lease(Lease&& other) noexcept = default;
    ~Lease() {
      if (scratch_ != nullptr) pool_->give_back(std::move(scratch_));
    }
    Scratch& operator*() const { return *scratch_; }

   private:
    ScratchPool* pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(idle_.back());
        idle_.pop_back();
        return scratch;
      }
      idle_.reserve(++made_);  // so that giving back never fails
    }
    return std::make_unique<Scratch>(make_());
  }
  void give_back(std::unique_ptr<Scratch> scratch) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

  std::function<Scratch()> make_;
  std::mutex mutex_;
  size_t made_ = 0;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

// Runs body(first, block, scratch) over all rows. Threads share the blocks, or, where there are few
// rows, the outputs of each product.
//   pool  of what one thread needs; it has a DenseScratch `dense`
template <typename Scratch, typename Body>
void in_row_blocks(int64_t rows, ScratchPool<Scratch>& pool, const Body& body) {
  using Lease = typename ScratchPool<Scratch>::Lease;
  if (rows <= Dense::kFewRows) {
    const Lease lease(pool);
    return body(0, RowBlock(rows, RowBlock::Sharing::kOutputs, (*lease).dense), *lease);
  }
  parallel_for(
      whole_blocks(rows) / Dense::kBlockRows, [&] { return Lease(pool); },
      [&](int64_t index, const Lease& lease) {
        const int64_t first = index * Dense::kBlockRows;
        body(first,
             RowBlock(std::min(Dense::kBlockRows, rows - first), RowBlock::Sharing::kRows,
                      (*lease).dense),
             *lease);
      });
}

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ROW_BLOCKS_H_
