// Dense: y = x W^T with weights packed once. The one place that knows the matrix library.
#ifndef ROPEWALK_ENGINE_DENSE_H_
#define ROPEWALK_ENGINE_DENSE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/half.h"
#include "ropewalk/engine/weights.h"

namespace ropewalk {

enum class Precision {
  kF32,   // weights, activations and cache in float32
  kBf16,  // weights, the activations that meet them, and the cache in bfloat16; sums in float32
};

// Memory of one thread, grown once and reused.
struct DenseScratch {
  AlignedBuffer<Bf16> rounded;       // activations of a block
  AlignedBuffer<float> columns;      // a block's results
  AlignedBuffer<uint8_t> workspace;  // the library's own
  AlignedBuffer<float> plain;        // weights that are read to be packed
};

class Dense {
 public:
  // Rows that one block of activations may have. Callers hand over buffers of so many rows, or of
  // kFewRows where there are no more.
  static constexpr int64_t kBlockRows = 128;
  static constexpr int64_t kFewRows = 16;

  // Reads and packs a weight matrix; of a streamed one, only makes sure that there is a product for
  // it. Throws Error where its rows cannot be read, or where this CPU has no bf16 product.
  Dense(const WeightRows& rows, Precision precision);
  ~Dense();
  Dense(Dense&&) noexcept;
  Dense& operator=(Dense&&) noexcept;

  int64_t inputs() const;
  int64_t outputs() const;

  // Packs what is streamed of these matrices, on all threads, and keeps it for as long as the result
  // lives. Products do without, but then each packs what it needs for itself alone. Throws Error
  // where rows cannot be read.
  using Kept = std::vector<std::shared_ptr<const uint8_t>>;
  static Kept keep(std::span<const Dense* const> matrices);

  // Foretold of a matrix of this shape, in bytes: what it holds once it is packed, what it needs more
  // while it is, and what apply() and apply_by_columns() grow a DenseScratch to. Throws as the
  // constructor does.
  struct Bytes {
    int64_t packed = 0;
    int64_t reading = 0;
    int64_t scratch = 0;
    int64_t by_columns = 0;
  };
  static Bytes bytes(int64_t outputs, int64_t inputs, Precision precision);

  // y = x W^T for up to kBlockRows rows, on the calling thread alone; call it inside a parallel
  // region.
  //   rows  0 < rows <= kBlockRows
  //   x     (kBlockRows or kFewRows, inputs) of which `rows` count; the others may hold anything finite
  //   y     (as many, outputs); rows past `rows` are overwritten with no meaning
  void apply(const float* x, int64_t rows, float* y, DenseScratch& scratch) const;

  // Several matrices of equal inputs and precision on the same rows, which are rounded once. The
  // same bits as apply() of each.
  //   results  at least one
  struct Result {
    const Dense* dense;
    float* y;  // as apply() has it
  };
  static void apply_each(std::span<const Result> results, const float* x, int64_t rows,
                         DenseScratch& scratch);

  // The same, some columns at a time, from the first to the last: for results that are used up as
  // they come.
  //   body  called with the first output, how many, and y (rows, as many), which it may overwrite
  using ColumnBody = std::function<void(int64_t first, int64_t columns, float* y)>;
  void apply_by_columns(const float* x, int64_t rows, DenseScratch& scratch,
                        const ColumnBody& body) const;

  // y = x W^T, the outputs shared between threads: for a few rows. Call it outside of parallel
  // regions. The same bits.
  void apply_wide(const float* x, int64_t rows, float* y) const;

  // One row, the outputs shared between threads, as apply_wide() is called, and the same bits in
  // float32. In bf16, where the rows lie in the file they are met as they are there, and x is not
  // rounded, or to 16 bits of the largest of each 32 (InterleavedRows): other bits than
  // apply_wide()'s, the same whatever the thread count.
  void apply_one(const float* x, float* y) const;

 private:
  struct Packed;
  std::unique_ptr<Packed> packed_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_DENSE_H_
