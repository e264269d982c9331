// Work on rows in blocks of Dense::kBlockRows, so that no answer depends on the thread count.
#ifndef ROPEWALK_ENGINE_ROW_BLOCKS_H_
#define ROPEWALK_ENGINE_ROW_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "ropewalk/base/parallel.h"
#include "ropewalk/engine/parts.h"

namespace ropewalk {

// n rounded up to whole blocks.
inline int64_t whole_blocks(int64_t rows) {
  return (rows + Dense::kBlockRows - 1) / Dense::kBlockRows * Dense::kBlockRows;
}

// Runs body(first, block, scratch) over all rows. Threads share the blocks, or, where there are few
// rows, the outputs of each product.
//   make_scratch  makes what one thread keeps; it has a DenseScratch `dense`
template <typename MakeScratch, typename Body>
void in_row_blocks(int64_t rows, const MakeScratch& make_scratch, const Body& body) {
  if (rows <= Dense::kFewRows) {
    auto scratch = make_scratch();
    return body(0, RowBlock(rows, RowBlock::Sharing::kOutputs, scratch.dense), scratch);
  }
  parallel_for(whole_blocks(rows) / Dense::kBlockRows, make_scratch,
               [&](int64_t index, auto& scratch) {
                 const int64_t first = index * Dense::kBlockRows;
                 body(first,
                      RowBlock(std::min(Dense::kBlockRows, rows - first), RowBlock::Sharing::kRows,
                               scratch.dense),
                      scratch);
               });
}

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ROW_BLOCKS_H_
