// Dense on oneDNN, 2.x (Debian 12) and 3.x (Debian 13).
//
// Every product runs on one thread, over fixed blocks of rows and outputs, so its bits do not
// depend on how many threads share the blocks; primitives are made while OpenMP is told of one
// thread, so that the library plans for one.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cassert>
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

}  // namespace

struct Dense::Packed {
  struct Block {
    int64_t first = 0;
    int64_t columns = 0;
    std::shared_ptr<uint8_t> weights;
  };

  int64_t inputs = 0;
  int64_t outputs = 0;
  Precision precision = Precision::kF32;
  std::vector<Block> blocks;
  std::optional<StoredRows> stored;  // the same weights in the file
  mutable std::once_flag interleaving;
  mutable std::optional<InterleavedRows> interleaved;  // the same weights for multiply_one()

  //   plain  room for the block's rows
  void pack(const WeightRows& rows, Block& block, AlignedBuffer<float>& plain) const {
    const auto count = static_cast<size_t>(block.columns * inputs);
    rows.read(block.first, block.columns, std::span(plain.data(), count));
    const std::shared_ptr<const Product> held =
        product(kBlockRows, inputs, block.columns, precision);
    const Product& shape = *held;
    block.weights = allocate_pooled(shape.w.get_size());
    const memory::desc as_read({inputs, block.columns}, memory::data_type::f32,
                               memory::dims{1, inputs});
    memory from(as_read, cpu(), plain.data());
    memory to(shape.w, cpu(), block.weights.get());
    const OneThread guard;
    dnnl::reorder(from, to).execute(thread_stream(), from, to);
    thread_stream().wait();
  }

  // One block of outputs on the calling thread.
  //   y  (rows, block.columns)
  void multiply(const Block& block, const void* x, int64_t rows, float* y,
                DenseScratch& scratch) const {
    const std::shared_ptr<const Product> held = product(rows, inputs, block.columns, precision);
    const Product& shape = *held;
    scratch.workspace.reserve(shape.workspace.get_size());
    memory source(shape.x, cpu(), const_cast<void*>(x));
    memory weights(shape.w, cpu(), block.weights.get());
    memory target(shape.y, cpu(), y);
    memory workspace(shape.workspace, cpu(), scratch.workspace.data());
    dnnl::matmul(shape.primitive)
        .execute(thread_stream(), {{DNNL_ARG_SRC, source},
                                   {DNNL_ARG_WEIGHTS, weights},
                                   {DNNL_ARG_DST, target},
                                   {DNNL_ARG_SCRATCHPAD, workspace}});
    thread_stream().wait();
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
    if (InterleavedRows::can_hold(stored->type)) return multiply_interleaved(values, y);
    std::vector<float> sums(static_cast<size_t>(inputs % 32 == 0 ? inputs / 32 : 0));
    sum_by_blocks(values, sums);
    constexpr int64_t kRows = kStoredGroups * InterleavedRows::kRows;
    in_runs((outputs + kRows - 1) / kRows, [&](int64_t run) {
      const int64_t first = run * kRows;
      multiply_stored(stored->from(first), std::min(kRows, outputs - first), {values, sums},
                      y + first);
    });
  }

  // Copied side by side by the first that asks: what only reads long texts never does.
  void multiply_interleaved(std::span<const float> values, float* y) const {
    std::call_once(interleaving, [&] {
      interleaved.emplace(*stored, outputs);
      release_stored();
    });
    const ByteActivations activations(values);
    const int64_t groups = interleaved->groups();
    in_runs((groups + kStoredGroups - 1) / kStoredGroups, [&](int64_t run) {
      const int64_t first = run * kStoredGroups;
      interleaved->multiply(first, std::min(kStoredGroups, groups - first), activations, y);
    });
  }

  // Calls body(run) for every run of outputs, on all threads.
  template <typename Body>
  static void in_runs(int64_t runs, const Body& body) {
    parallel_for(
        runs, [] { return char(); }, [&](int64_t run, const char&) { body(run); });
  }

  // The file's pages, which would lie beside the packed copy.
  void release_stored() const {
    if (!stored || stored->source == nullptr) return;
    stored->source->release({stored->data, static_cast<size_t>(outputs * stored->row_bytes())});
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

Dense::Dense(const WeightRows& rows, Precision precision) : packed_(std::make_unique<Packed>()) {
  packed_->inputs = rows.inputs;
  packed_->outputs = rows.outputs;
  packed_->precision = precision;
  packed_->stored = rows.stored;
  for (int64_t first = 0; first < rows.outputs; first += kBlockOutputs) {
    packed_->blocks.push_back(
        {.first = first, .columns = std::min(kBlockOutputs, rows.outputs - first), .weights = {}});
  }
  try {
    // A mapping of its own: in the heap it would leave a hole before the packed blocks.
    const auto floats = static_cast<size_t>(std::min(kBlockOutputs, rows.outputs) * rows.inputs);
    AlignedBuffer<float> plain(std::max(floats, kHugePage / sizeof(float)));
    for (Packed::Block& block : packed_->blocks) packed_->pack(rows, block, plain);
    packed_->release_stored();
  } catch (const dnnl::error& error) {
    throw no_product(rows.name, error, precision);
  }
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
  if (!packed_->stored || packed_->precision == Precision::kF32) return apply_wide(x, 1, y);
  packed_->multiply_one(x, y);
}

}  // namespace ropewalk
