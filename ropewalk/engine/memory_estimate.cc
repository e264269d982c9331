#include "ropewalk/engine/memory_estimate.h"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "ropewalk/base/aligned_size.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"
#include "ropewalk/engine/both_ways_layers.h"
#include "ropewalk/engine/encoder_memory.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/engine/interleaved_rows.h"
#include "ropewalk/engine/layer_scratch.h"
#include "ropewalk/engine/mxfp4_matrices.h"
#include "ropewalk/engine/output_head.h"
#include "ropewalk/engine/pass_sizes.h"
#include "ropewalk/engine/rotation_tables.h"
#include "ropewalk/engine/size_check.h"
#include "ropewalk/kernels/attention.h"

namespace ropewalk {
namespace {

int64_t floats(int64_t count) {
  return static_cast<int64_t>(aligned_bytes(static_cast<size_t>(count) * sizeof(float)));
}

// Of one layer's keys and values.
template <typename Element>
int64_t tile_bytes(const ModelShape& shape, int64_t tokens) {
  const KvTiles<Element> one(1, shape.head_dim, kTile);
  const int64_t rows = shape.n_kv_heads * ((tokens + kTile - 1) / kTile) * kTile;
  const auto bytes = [rows](int64_t width) {
    return static_cast<int64_t>(aligned_bytes(static_cast<size_t>(rows * width) * sizeof(Element)));
  };
  return bytes(shape.head_dim) + bytes(one.value_stride());
}

// Products of a hostile file's sizes would overflow: 2^53 floats fit no machine.
void refuse_absurd(const ModelShape& shape, int64_t tokens, const std::string& place) {
  const auto of = [](int64_t size) { return static_cast<double>(std::max<int64_t>(size, 1)); };
  const double heads = of(std::max(shape.n_heads, shape.n_kv_heads)) * of(shape.head_dim);
  const double widest = std::max({heads, of(shape.hidden), of(shape.ffn), of(shape.vocabulary)});
  if (widest * of(shape.n_layers) * (of(tokens) + 4096) < 0x1p53) return;
  throw Error(place, "must be of a size that a machine can hold",
              std::to_string(shape.n_layers) + " layers, " + std::to_string(shape.n_heads) +
                  " heads of " + std::to_string(shape.head_dim) + ", width " +
                  std::to_string(shape.hidden) + ", " + std::to_string(tokens) + " tokens")
      .of(FaultKind::kOutOfRange);
}

// What a pass holds, and what is still held when it has ended.
struct PassBytes {
  int64_t live = 0;
  int64_t kept = 0;

  // Of the cache, or of threads.
  void keep(int64_t bytes) {
    live += bytes;
    kept += bytes;
  }

  // Dropped after the pass; of small ones the heap keeps the memory.
  void add(int64_t bytes, int64_t count = 1) {
    live += bytes * count;
    if (bytes < static_cast<int64_t>(kHugePage)) kept += bytes * count;
  }
};

class Estimator {
 public:
  Estimator(const ModelFile& file, const MemoryRun& run)
      : file_(file),
        precision_(run.precision),
        reads_stored_(!run.all_logits && run.precision == Precision::kBf16) {
    const Blueprint blueprint = describe_file(file);
    refuse_other_sizes(file, blueprint);
    refuse_absurd(blueprint.shape, run.tokens, place());
    streams_ = file.streams();
    count_tensors(blueprint, true);
    count_cache(blueprint, run.tokens);
    pass_.keep(run.beside);
    count_pass(blueprint, run.rows);
    count_positions(blueprint, run);
    count_logits(blueprint, run.all_logits ? run.rows : 1, run.all_logits);
  }

  Estimator(const ModelFile& file, const EncoderRun& run) : file_(file), precision_(run.precision) {
    const EncoderBlueprints both = describe_encoder(file.config, file.keys, place());
    refuse_other_sizes(file, both.encoder);
    refuse_absurd(both.encoder.shape, std::max(run.tokens, run.decoder_tokens), place());
    count_tensors(both.encoder, both.decoder.has_value());
    count_both_ways(both.encoder, run.tokens, run.tokens);
    pass_.add(row_turns_bytes(run.positions, run.tokens));
    logits_ = run.behind;
    if (both.decoder && run.decoder_tokens != 0) count_decoder(*both.decoder, run);
  }

  MemoryEstimate take() {
    estimate_.file = std::max(estimate_.file, stored_);
    estimate_.process = resident_memory();  // last: the matrix library has its products by now
    // Logits are made when the pass has ended, of the residual that it leaves.
    const int64_t scoring = pass_.kept + residual_ + logits_;
    estimate_.activations = pass_.live;
    estimate_.logits = std::max<int64_t>(0, scoring - pass_.live);
    if (streams_) {
      count_streamed();
    } else {
      // A block of weights in float32 stands beside the packed ones while they are read.
      const int64_t running = estimate_.cache + estimate_.activations + estimate_.logits;
      estimate_.weights += std::max<int64_t>(0, reading_ - running);
    }
    return estimate_;
  }

 private:
  std::string place() const { return file_.tensors->name(); }

  // Every tensor of two dimensions or more is packed, but for tables that rows are taken from.
  void count_tensors(const Blueprint& blueprint, bool has_head) {
    const Weights weights(*file_.tensors, blueprint.names);
    const std::string embedding = weights.name_of("token_embd");
    const bool tied = has_head && OutputHead::is_tied(weights, blueprint);
    for (const TensorInfo& info : file_.tensors->tensors()) {
      if (blueprint.names.ignores(info.name)) continue;
      // What has been packed is given back; rows of the embedding are read from the file.
      estimate_.file = std::max(estimate_.file, static_cast<int64_t>(info.bytes));
      const bool table = info.name == weights.name_of("position_embd") ||
                         info.name == weights.name_of("token_types");
      if (info.shape.size() < 2 || table) {
        estimate_.weights += floats(static_cast<int64_t>(element_count(info)));
      } else if (info.name != embedding || tied) {
        count_matrices(info, layer_of(info.name, weights.layer()));
      }
    }
  }

  // "blk.3", or the tensor's name where it is of no layer: of the output's head alone.
  static std::string layer_of(const std::string& name, const std::string& layer) {
    const size_t at = name.find(layer);
    return at == name.npos ? name : name.substr(0, name.find('.', at + layer.size()));
  }

  // (outputs, inputs), or experts of that shape.
  void count_matrices(const TensorInfo& info, const std::string& layer) {
    auto inputs = static_cast<int64_t>(info.shape.back());
    auto outputs = static_cast<int64_t>(info.shape[info.shape.size() - 2]);
    if (inputs == 0 || outputs == 0) return;
    int64_t matrices = static_cast<int64_t>(row_count(info)) / outputs;
    if (const std::optional<Mxfp4Sizes> sizes = mxfp4_sizes(info)) {
      if (sizes->matrices == 0) return;
      std::tie(matrices, outputs, inputs) =
          std::tuple(sizes->matrices, sizes->outputs, sizes->inputs);
    }
    const Dense::Bytes bytes = Dense::bytes(outputs, inputs, precision_);
    (streams_ ? streamed_[layer] : estimate_.weights) += matrices * bytes.packed;
    reading_ = std::max(reading_, bytes.reading);
    dense_scratch_ = std::max(dense_scratch_, bytes.scratch);
    // Generation in bf16 reads weights as the file has them, or a copy of that.
    if (!reads_stored_) return;
    (InterleavedRows::can_hold(info.type) && !streams_ ? estimate_.weights : stored_) +=
        static_cast<int64_t>(info.bytes);
  }

  // The largest layer, and what each thread reads it by.
  void count_streamed() {
    int64_t largest = 0;
    for (const auto& [layer, bytes] : streamed_) largest = std::max(largest, bytes);
    estimate_.weights += largest + threads() * reading_;
  }

  void count_cache(const Blueprint& blueprint, int64_t tokens) {
    const ModelShape& shape = blueprint.shape;
    const int64_t layer = precision_ == Precision::kBf16 ? tile_bytes<Bf16>(shape, tokens)
                                                         : tile_bytes<float>(shape, tokens);
    estimate_.cache = shape.n_layers * layer;
    if (!blueprint.alibi_slopes.empty()) estimate_.cache += floats(shape.n_heads * tokens);
  }

  void count_pass(const Blueprint& blueprint, int64_t rows) {
    const PassSizes sizes(blueprint, rows);
    pass_.live += residual_ = floats(sizes.residual);
    pass_.add(floats(sizes.q), 2);
    pass_.add(floats(sizes.k), 2);
    pass_.add(floats(sizes.log_sum_exp));
    const bool few = rows <= Dense::kFewRows;
    count_scratch(blueprint, few ? Dense::kFewRows : Dense::kBlockRows, few ? 1 : threads());
  }

  void count_scratch(const Blueprint& blueprint, int64_t rows, int64_t count) {
    const LayerScratch scratch(blueprint, rows);
    pass_.keep((static_cast<int64_t>(scratch.bytes()) + dense_scratch_) * count);
  }

  // As BothWaysLayers holds them.
  //   keys  rows of keys and values: of the longer of both sequences
  void count_both_ways(const Blueprint& blueprint, int64_t rows, int64_t keys) {
    const ModelShape& shape = blueprint.shape;
    const int64_t n = whole_blocks(rows);
    pass_.live += residual_ = floats(n * shape.hidden);
    pass_.add(floats(n * shape.n_heads * shape.head_dim), 2);
    pass_.add(floats(whole_blocks(keys) * shape.n_kv_heads * shape.head_dim), 2);
    if (blueprint.buckets) pass_.add(floats(shape.n_heads * (2 * rows - 1)));
    count_scratch(blueprint, Dense::kBlockRows, rows <= Dense::kFewRows ? 1 : threads());
  }

  // Its pass comes after the encoder's, whose states it looks at.
  void count_decoder(const Blueprint& blueprint, const EncoderRun& run) {
    const PassBytes encoding = std::exchange(pass_, {});
    pass_.keep(residual_);
    count_both_ways(blueprint, run.decoder_tokens, std::max(run.tokens, run.decoder_tokens));
    pass_.live = std::max(pass_.live, encoding.live);
    pass_.kept = std::max(pass_.kept, encoding.kept);
    count_logits(blueprint, run.decoder_tokens, true);
  }

  void count_positions(const Blueprint& blueprint, const MemoryRun& run) {
    if (run.positions == nullptr) return;
    const ModelShape& shape = blueprint.shape;
    const RotationTables::Bytes positions =
        RotationTables(*run.positions, run.tokens, run.tokens - run.rows, run.rows, blueprint.chunk)
            .bytes(shape.n_heads, shape.n_kv_heads, shape.head_dim);
    pass_.add(positions.tables);
    pass_.keep(threads() * positions.workspace);
  }

  //   all  of all rows; else of one token at a time
  void count_logits(const Blueprint& blueprint, int64_t rows, bool all) {
    const ModelShape& shape = blueprint.shape;
    if (!all) {
      logits_ = floats(Dense::kFewRows * shape.vocabulary);
      return;
    }
    const int64_t each = Dense::bytes(shape.vocabulary, shape.hidden, precision_).by_columns;
    logits_ = each * (rows > Dense::kFewRows ? threads() : 1);
  }

  static int64_t threads() { return omp_get_max_threads(); }

  const ModelFile& file_;
  const Precision precision_;
  const bool reads_stored_ = false;  // generation in bf16 reads weights as the file has them
  MemoryEstimate estimate_;
  bool streams_ = false;
  std::map<std::string, int64_t> streamed_;  // by layer
  int64_t reading_ = 0;
  int64_t dense_scratch_ = 0;
  int64_t stored_ = 0;  // weights that generation reads in the file
  PassBytes pass_;
  int64_t residual_ = 0;
  int64_t logits_ = 0;
};

// What the run would want in bf16; nothing where this CPU has no bf16 products.
template <typename Run>
std::optional<int64_t> wanted_in_bf16(const ModelFile& file, Run run) {
  run.precision = Precision::kBf16;
  try {
    return estimate_memory(file, run).wanted();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What makes it fit.
template <typename Run>
std::string mend_of(const ModelFile& file, const Run& run, const MemoryEstimate& estimate,
                    int64_t available, const std::string& shorten) {
  std::string mend;
  if (run.precision == Precision::kF32) {
    if (const std::optional<int64_t> wanted = wanted_in_bf16(file, run)) {
      mend = "--precision bf16 wants " + bytes_text(*wanted);
      if (*wanted <= available) return mend;
      mend += "; ";
    }
  }
  if (file.holding == Holding::kPacked && !EncoderModel::takes(file))
    mend += "--weights streamed keeps one layer in memory; ";
  if (estimate.weights >= available) return mend + "take a smaller model, or free memory";
  return mend + "give " + shorten;
}

template <typename Run>
Error too_large(const ModelFile& file, const Run& run, const MemoryEstimate& estimate,
                const std::string& shorten, const AvailableMemory& available) {
  return Error(file.tensors->name() + ": memory",
               "must be at most the " + bytes_text(available.bytes) + " that are left (" +
                   available.source + ")",
               bytes_text(estimate.wanted()) + " for " + std::to_string(run.tokens) +
                   " tokens: " + estimate.text(),
               mend_of(file, run, estimate, available.bytes, shorten));
}

}  // namespace

MemoryRun MemoryRun::losses(Precision precision, int64_t tokens, const Positions* positions) {
  return {.precision = precision,
          .tokens = tokens,
          .rows = std::clamp<int64_t>(tokens - 1, 1, Model::kPartRows),
          .positions = positions};
}

MemoryRun MemoryRun::generation(Precision precision, int64_t prompt, int64_t capacity,
                                const Positions& positions) {
  const bool anew =
      capacity > prompt && first_stale_row(positions, capacity - 1, capacity) < capacity - 1;
  return {.precision = precision,
          .tokens = capacity,
          .rows = anew ? capacity : prompt,
          .all_logits = false,
          .positions = &positions};
}

std::vector<std::pair<std::string, int64_t>> MemoryEstimate::parts() const {
  return {{"process", process},         {"file", file},    {"weights", weights}, {"cache", cache},
          {"activations", activations}, {"logits", logits}};
}

std::string MemoryEstimate::text() const {
  std::string text;
  for (const auto& [name, bytes] : parts())
    text += (text.empty() ? "" : ", ") + name + " " + bytes_text(bytes);
  return text;
}

MemoryEstimate estimate_memory(const ModelFile& file, const MemoryRun& run) {
  return Estimator(file, run).take();
}

MemoryEstimate estimate_memory(const ModelFile& file, const EncoderRun& run) {
  return Estimator(file, run).take();
}

void fit_memory(ModelFile& file, const MemoryRun& run, const std::string& shorten,
                const std::optional<AvailableMemory>& available) {
  if (!available) return;
  MemoryEstimate estimate = estimate_memory(file, run);
  if (estimate.wanted() <= available->bytes) return;
  ModelFile least = file;
  if (!file.holding) {
    least.holding = Holding::kStreamed;
    estimate = estimate_memory(least, run);
  }
  if (estimate.wanted() > available->bytes)
    throw too_large(least, run, estimate, shorten, *available);
  file.holding = least.holding;
}

void refuse_too_large(const ModelFile& file, const EncoderRun& run, const std::string& shorten,
                      const std::optional<AvailableMemory>& available) {
  if (!available) return;
  const MemoryEstimate estimate = estimate_memory(file, run);
  if (estimate.wanted() > available->bytes)
    throw too_large(file, run, estimate, shorten, *available);
}

bool has_decoder(const ModelFile& file) {
  return describe_encoder(file.config, file.keys, file.tensors->name()).decoder.has_value();
}

std::string bytes_text(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  char text[40];
  if (mebibytes < 1000) {
    std::snprintf(text, sizeof(text), "%.1f MiB", mebibytes);
  } else {
    std::snprintf(text, sizeof(text), "%.2f GiB", mebibytes / 1024);
  }
  return text;
}

}  // namespace ropewalk
