// Dense on oneDNN, 2.x (Debian 12) and 3.x (Debian 13).
//
// Every product runs on one thread, over fixed blocks of rows and outputs, so its bits do not
// depend on how many threads share the blocks; primitives are made while OpenMP is told of one
// thread, so that the library plans for one.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ropewalk/base/aligned_size.h"
#include "ropewalk/base/bounded_cache.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/page_pool.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/engine/dense.h"
#include "ropewalk/engine/interleaved_rows.h"
#include "ropewalk/kernels/vector_ops.h"

namespace ropewalk {
namespace {

using dnnl::memory;

// Columns of one packed block. A product's result must be dense for the library's fast kernels, so
// outputs of more than one block are put together by copying.
constexpr int64_t kBlockOutputs = 1536;
// Groups of 16 rows of stored weights that one thread takes at a time.
constexpr int64_t kStoredGroups = 6;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// For as long as it lives, OpenMP offers the calling thread no helpers.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

dnnl::matmul::primitive_desc describe(const memory::desc& x, const memory::desc& w,
                                      const memory::desc& y) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), x, w, y, attributes};
#else
  return {dnnl::matmul::desc(x, w, y), attributes, cpu()};
#endif
}

struct Product {
  dnnl::matmul primitive;
  memory::desc x;
  memory::desc w;
  memory::desc y;
  memory::desc workspace;
};

memory::data_type type_of(Precision precision) {
  return precision == Precision::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

Product make_product(int64_t rows, int64_t inputs, int64_t columns, Precision precision) {
  const OneThread guard;
  const auto type = type_of(precision);
  const auto describe_with = [&](const memory::desc& w, int64_t m) {
    const memory::desc x({m, inputs}, type, memory::dims{inputs, 1});
    const memory::desc y({m, columns}, memory::data_type::f32, memory::dims{columns, 1});
    return describe(x, w, y);
  };
  // One packing serves every number of rows: the one that a full block would choose.
  const memory::desc any({inputs, columns}, type, memory::format_tag::any);
  const memory::desc packed = describe_with(any, Dense::kBlockRows).weights_desc();
  const auto description = describe_with(packed, rows);
  return {dnnl::matmul(description), description.src_desc(), packed, description.dst_desc(),
          description.scratchpad_desc()};
}

// Layers of equal shape share their primitives. A model has some ten shapes, each with up to six
// numbers of rows: one is enough to keep, and many models in turn do not pile up.
std::shared_ptr<const Product> product(int64_t rows, int64_t inputs, int64_t columns,
                                       Precision precision) {
  constexpr size_t kMostProducts = 512;
  static BoundedCache<std::tuple<int64_t, int64_t, int64_t, Precision>, Product> made(
      kMostProducts);
  return made.find_or_make({rows, inputs, columns, precision},
                           [&] { return make_product(rows, inputs, columns, precision); });
}

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu());
  return stream;
}

void execute(const Product& product, const memory& x, const memory& w, const memory& y,
             const memory& workspace) {
  product.primitive.execute(thread_stream(), {{DNNL_ARG_SRC, x},
                                              {DNNL_ARG_WEIGHTS, w},
                                              {DNNL_ARG_DST, y},
                                              {DNNL_ARG_SCRATCHPAD, workspace}});
  thread_stream().wait();
}

// Runs a small product, once: some of the library's kernels, those for AVX2 alone among them, write
// their code at the first product that is run, not where it is made.
void run_first_product(Precision precision) {
  static std::once_flag ran[2];
  std::call_once(ran[precision == Precision::kBf16 ? 1 : 0], [&] {
    constexpr int64_t kSize = 32;
    const std::shared_ptr<const Product> held = product(kSize, kSize, kSize, precision);
    memory source(held->x, cpu()), weights(held->w, cpu()), target(held->y, cpu());
    memory workspace(held->workspace, cpu());
    for (memory* const one : {&source, &weights})
      std::memset(one->get_data_handle(), 0, one->get_desc().get_size());
    execute(*held, source, weights, target, workspace);
  });
}

}  // namespace

struct Dense::Packed {
  struct Block {
    int64_t first = 0;
    int64_t columns = 0;
    std::shared_ptr<uint8_t> weights;  // of a packed matrix
    mutable std::mutex streaming;
    mutable std::weak_ptr<uint8_t> passing;  // of a streamed one
  };

  Packed(const WeightRows& of, Precision in)
      : matrix(of),
        inputs(of.inputs),
        outputs(of.outputs),
        precision(in),
        blocks(static_cast<size_t>((outputs + kBlockOutputs - 1) / kBlockOutputs)) {
    for (int64_t first = 0; first < outputs; first += kBlockOutputs) {
      Block& block = blocks[static_cast<size_t>(first / kBlockOutputs)];
      block.first = first;
      block.columns = std::min(kBlockOutputs, outputs - first);
    }
  }

  WeightRows matrix;  // read() of a streamed matrix alone
  int64_t inputs;
  int64_t outputs;
  Precision precision;
  std::vector<Block> blocks;
  mutable std::once_flag interleaving;
  mutable std::optional<InterleavedRows> interleaved;  // the same weights for multiply_one()

  bool is_streamed() const { return matrix.holding == Holding::kStreamed; }

  std::shared_ptr<const Product> product_of(const Block& block) const {
    return product(kBlockRows, inputs, block.columns, precision);
  }

  // A block's weights as products take them.
  //   plain  grows to the block's rows
  std::shared_ptr<uint8_t> pack(const Block& block, AlignedBuffer<float>& plain) const {
    const auto count = static_cast<size_t>(block.columns * inputs);
    // A mapping of its own: in the heap it would leave a hole before the packed blocks.
    plain.reserve(std::max(count, kHugePage / sizeof(float)));
    matrix.read(block.first, block.columns, std::span(plain.data(), count));
    const std::shared_ptr<const Product> held = product_of(block);
    const Product& shape = *held;
    std::shared_ptr<uint8_t> weights = allocate_pooled(shape.w.get_size());
    const memory::desc as_read({inputs, block.columns}, memory::data_type::f32,
                               memory::dims{1, inputs});
    memory from(as_read, cpu(), plain.data());
    memory to(shape.w, cpu(), weights.get());
    const OneThread guard;
    dnnl::reorder(from, to).execute(thread_stream(), from, to);
    thread_stream().wait();
    release_stored(block.first, block.columns);
    return weights;
  }

  // The same of a packed matrix as it is kept, of a streamed one packed by the first that asks.
  std::shared_ptr<uint8_t> weights_of(const Block& block, AlignedBuffer<float>& plain) const {
    if (block.weights != nullptr) return block.weights;
    const std::lock_guard lock(block.streaming);
    std::shared_ptr<uint8_t> weights = block.passing.lock();
    if (weights == nullptr) block.passing = weights = pack(block, plain);
    return weights;
  }

  // One block of outputs on the calling thread.
  //   y  (rows, block.columns)
  void multiply(const Block& block, const void* x, int64_t rows, float* y,
                DenseScratch& scratch) const {
    const std::shared_ptr<const Product> held = product(rows, inputs, block.columns, precision);
    const Product& shape = *held;
    const std::shared_ptr<uint8_t> packed = weights_of(block, scratch.plain);
    scratch.workspace.reserve(shape.workspace.get_size());
    memory source(shape.x, cpu(), const_cast<void*>(x));
    memory weights(shape.w, cpu(), packed.get());
    memory target(shape.y, cpu(), y);
    memory workspace(shape.workspace, cpu(), scratch.workspace.data());
    execute(shape, source, weights, target, workspace);
  }

  // The same into a block's columns of all outputs.
  //   y  (rows, outputs)
  void multiply_among(const Block& block, const void* x, int64_t rows, float* y,
                      DenseScratch& scratch) const {
    if (block.columns == outputs) return multiply(block, x, rows, y, scratch);
    scratch.columns.reserve(static_cast<size_t>(rows * block.columns));
    multiply(block, x, rows, scratch.columns.data(), scratch);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(scratch.columns.data() + r * block.columns, block.columns,
                  y + r * outputs + block.first);
    }
  }

  // One row, from the weights as the file has them.
  void multiply_one(const float* x, float* y) const {
    const std::span<const float> values(x, static_cast<size_t>(inputs));
    if (InterleavedRows::can_hold(matrix.stored->type)) {
      const ByteActivations activations(values);
      return is_streamed() ? interleave_and_multiply(activations, y)
                           : multiply_interleaved(activations, y);
    }
    std::vector<float> sums(static_cast<size_t>(inputs % 32 == 0 ? inputs / 32 : 0));
    sum_by_blocks(values, sums);
    in_stored_runs([&](int64_t first, int64_t count, AlignedBuffer<uint8_t>&) {
      multiply_stored(matrix.stored->from(first), count, {values, sums}, y + first);
    });
  }

  // Copied side by side by the first that asks: what only reads long texts never does.
  void multiply_interleaved(const ByteActivations& activations, float* y) const {
    std::call_once(interleaving, [&] {
      interleaved.emplace(*matrix.stored, outputs);
      release_stored(0, outputs);
    });
    const int64_t groups = interleaved->groups();
    parallel_for((groups + kStoredGroups - 1) / kStoredGroups, [] { return char(); },
                 [&](int64_t run, const char&) {
                   const int64_t first = run * kStoredGroups;
                   interleaved->multiply(first, std::min(kStoredGroups, groups - first),
                                         activations, y);
                 });
  }

  // The same bits without the copy.
  void interleave_and_multiply(const ByteActivations& activations, float* y) const {
    in_stored_runs([&](int64_t first, int64_t count, AlignedBuffer<uint8_t>& group) {
      InterleavedRows::multiply(matrix.stored->from(first), count, activations, group, y + first);
    });
  }

  // Calls body(first, count, memory of the thread) for every run of outputs, on all threads.
  template <typename Body>
  void in_stored_runs(const Body& body) const {
    constexpr int64_t kRows = kStoredGroups * InterleavedRows::kRows;
    parallel_for((outputs + kRows - 1) / kRows, [] { return AlignedBuffer<uint8_t>(); },
                 [&](int64_t run, AlignedBuffer<uint8_t>& group) {
                   const int64_t first = run * kRows;
                   body(first, std::min(kRows, outputs - first), group);
                 });
  }

  // The file's pages, which would lie beside the packed copy.
  void release_stored(int64_t first, int64_t count) const {
    if (!matrix.stored || matrix.stored->source == nullptr) return;
    const StoredRows from = matrix.stored->from(first);
    from.source->release({from.data, static_cast<size_t>(count * from.row_bytes())});
  }

  // The activations as the product takes them.
  const void* take(const float* x, int64_t rows, DenseScratch& scratch) const {
    if (precision == Precision::kF32) return x;
    const auto count = static_cast<size_t>(rows * inputs);
    scratch.rounded.reserve(count);
    round_to_bf16({x, count}, scratch.rounded);
    return scratch.rounded.data();
  }
};

namespace {

// Up to a power of two: few primitives.
int64_t padded_rows(int64_t rows) {
  return std::max(Dense::kFewRows,
                  static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))));
}

Error no_product(const std::string& place, const dnnl::error& error, Precision precision) {
  return Error(place, "this CPU or its oneDNN has no product for it", error.what(),
               precision == Precision::kBf16 ? "use --precision f32" : "");
}

}  // namespace

Dense::Bytes Dense::bytes(int64_t outputs, int64_t inputs, Precision precision) {
  const int64_t whole = outputs / kBlockOutputs, rest = outputs % kBlockOutputs;
  size_t packed = 0, workspace = 0;
  const auto add_blocks = [&](int64_t count, int64_t columns) {
    if (count == 0) return;
    const std::shared_ptr<const Product> held = product(kBlockRows, inputs, columns, precision);
    const Product& shape = *held;
    packed += static_cast<size_t>(count) * pooled_bytes(shape.w.get_size());
    workspace = std::max(workspace, shape.workspace.get_size());
  };
  try {
    add_blocks(whole, kBlockOutputs);
    add_blocks(rest == 0 ? 0 : 1, rest);
    run_first_product(precision);
  } catch (const dnnl::error& error) {
    throw no_product("a matrix of " + std::to_string(inputs) + " inputs", error, precision);
  }
  const auto bytes_of = [](size_t element, int64_t rows, int64_t columns) {
    return aligned_bytes(element * static_cast<size_t>(rows * columns));
  };
  const bool rounds = precision == Precision::kBf16;
  const size_t rounded = rounds ? bytes_of(sizeof(Bf16), kBlockRows, inputs) : 0;
  const int64_t widest = std::min(kBlockOutputs, outputs);
  const size_t plain = bytes_of(sizeof(float), widest, inputs);
  const size_t by_columns =
      rounded + aligned_bytes(workspace) + bytes_of(sizeof(float), kBlockRows, widest);
  return {.packed = static_cast<int64_t>(packed),
          .reading = static_cast<int64_t>(plain),
          .scratch = static_cast<int64_t>(outputs == widest ? rounded + aligned_bytes(workspace)
                                                            : by_columns),
          .by_columns = static_cast<int64_t>(by_columns)};
}

Dense::Dense(const WeightRows& rows, Precision precision)
    : packed_(std::make_unique<Packed>(rows, precision)) {
  try {
    AlignedBuffer<float> plain;
    for (Packed::Block& block : packed_->blocks) {
      packed_->product_of(block);
      if (!packed_->is_streamed()) block.weights = packed_->pack(block, plain);
    }
  } catch (const dnnl::error& error) {
    throw no_product(rows.name, error, precision);
  }
  if (!packed_->is_streamed()) packed_->matrix.read = nullptr;
}

Dense::Kept Dense::keep(std::span<const Dense* const> matrices) {
  std::vector<std::pair<const Packed*, const Packed::Block*>> streamed;
  for (const Dense* matrix : matrices) {
    if (!matrix->packed_->is_streamed()) continue;
    for (const Packed::Block& block : matrix->packed_->blocks)
      streamed.emplace_back(matrix->packed_.get(), &block);
  }
  Kept kept(streamed.size());
  if (kept.empty()) return kept;
  parallel_for(
      std::ssize(streamed), [] { return AlignedBuffer<float>(); },
      [&](int64_t index, AlignedBuffer<float>& plain) {
        const auto& [matrix, block] = streamed[static_cast<size_t>(index)];
        kept[static_cast<size_t>(index)] = matrix->weights_of(*block, plain);
      });
  return kept;
}

Dense::~Dense() = default;
Dense::Dense(Dense&&) noexcept = default;
Dense& Dense::operator=(Dense&&) noexcept = default;

int64_t Dense::inputs() const { return packed_->inputs; }
int64_t Dense::outputs() const { return packed_->outputs; }

void Dense::apply(const float* x, int64_t rows, float* y, DenseScratch& scratch) const {
  const Result result{.dense = this, .y = y};
  apply_each({&result, 1}, x, rows, scratch);
}

void Dense::apply_each(std::span<const Result> results, const float* x, int64_t rows,
                       DenseScratch& scratch) {
  const int64_t padded = padded_rows(rows);
  const void* taken = results[0].dense->packed_->take(x, padded, scratch);
  for (const auto& [dense, y] : results) {
    assert(dense->inputs() == results[0].dense->inputs());
    for (const Packed::Block& block : dense->packed_->blocks)
      dense->packed_->multiply_among(block, taken, padded, y, scratch);
  }
}

void Dense::apply_by_columns(const float* x, int64_t rows, DenseScratch& scratch,
                             const ColumnBody& body) const {
  const int64_t padded = padded_rows(rows);
  const void* taken = packed_->take(x, padded, scratch);
  for (const Packed::Block& block : packed_->blocks) {
    scratch.columns.reserve(static_cast<size_t>(padded * block.columns));
    packed_->multiply(block, taken, padded, scratch.columns.data(), scratch);
    body(block.first, block.columns, scratch.columns.data());
  }
}

void Dense::apply_wide(const float* x, int64_t rows, float* y) const {
  const int64_t padded = padded_rows(rows);
  DenseScratch shared;
  const void* taken = packed_->take(x, padded, shared);
  const auto multiply = [&](int64_t b, DenseScratch& own) {
    packed_->multiply_among(packed_->blocks[static_cast<size_t>(b)], taken, padded, y, own);
  };
  parallel_for(
      static_cast<int64_t>(packed_->blocks.size()), [] { return DenseScratch(); }, multiply);
}

void Dense::apply_one(const float* x, float* y) const {
  if (!packed_->matrix.stored || packed_->precision == Precision::kF32) return apply_wide(x, 1, y);
  packed_->multiply_one(x, y);
}

}  // namespace ropewalk
