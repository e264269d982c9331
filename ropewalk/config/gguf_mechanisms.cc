// Source: llama.cpp: src/models (bert, gpt2, mpt, t5, ...), llama_relative_position_bucket, and
// ggml's soft_max_ext for ALiBi.
#include "ropewalk/config/gguf_mechanisms.h"

#include <algorithm>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Positions = GgufArchitecture::Positions;

constexpr const char* kPositionTable = "position_embd.weight";
constexpr const char* kTypeTable = "token_types.weight";
constexpr std::string_view kAlibi = "attention.max_alibi_bias";
constexpr std::string_view kBuckets = "attention.relative_buckets_count";
constexpr int64_t kMaxDistance = 128;  // of T5, hard-coded in llama.cpp
constexpr int64_t kMaxHeads = 65536;

class MechanismReader {
 public:
  MechanismReader(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
                  const GgufMechanismSizes& sizes, GgufReport& report)
      : file_(file), keys_(keys), architecture_(architecture), sizes_(sizes), report_(report) {}

  std::vector<PositionMechanism> read() {
    switch (architecture_.positions) {
      case Positions::kRotary:
        break;
      case Positions::kNone:
        report_.info({}, "no positions: layers are recurrent, or attention is told nothing");
        break;
      case Positions::kLearned:
        report_.info({},
                     "no rotary positions: a learned table is added to the embeddings and ends "
                     "at context_length");
        read_learned();
        break;
      case Positions::kAlibi:
        report_.info({},
                     "no rotary positions: ALiBi, a bias on the scores that falls with distance");
        read_alibi();
        // MPT may have a table, too.
        if (file_.find_tensor(kPositionTable) != nullptr) read_learned();
        break;
      case Positions::kRelativeBuckets:
        report_.info({},
                     "no rotary positions: a learned bias on the scores by buckets of distance, "
                     "from tensors of the first layer");
        read_buckets();
        break;
    }
    if (architecture_.token_types) read_token_types();
    return std::move(found_);
  }

 private:
  std::string implied() const { return "implied by architecture " + keys_.architecture(); }

  void read_learned();
  void read_alibi();
  void read_buckets();
  void read_token_types();

  const GgufFile& file_;
  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const GgufMechanismSizes sizes_;
  GgufReport& report_;
  std::vector<PositionMechanism> found_;
};

// The converter drops the rows that RoBERTa skips, so that row p is position p.
void MechanismReader::read_learned() {
  LearnedTable table;
  const TensorInfo* const tensor = file_.find_tensor(kPositionTable);
  if (tensor != nullptr) {
    table.n_rows = static_cast<int64_t>(row_count(*tensor));
    report_.field("position_rows", std::to_string(table.n_rows), Provenance::kFile,
                  std::string("rows of ") + kPositionTable);
    if (sizes_.context_length != 0 && table.n_rows != sizes_.context_length) {
      report_.warn(FaultKind::kInconsistent, keys_.key("context_length"),
                   std::string(kPositionTable) + " has " + std::to_string(table.n_rows) +
                       " rows, context_length is " + std::to_string(sizes_.context_length) +
                       ": llama.cpp refuses the file");
    }
  } else {
    table.n_rows = sizes_.context_length;
    report_.field("position_rows", std::to_string(table.n_rows), Provenance::kDerived,
                  "context_length: no rotary positions, but a learned table");
  }
  found_.emplace_back(table);
}

void MechanismReader::read_alibi() {
  const std::optional<double> key = keys_.number(kAlibi);
  double bias = static_cast<double>(architecture_.alibi_bias);
  if (bias != 0) {
    report_.field("alibi_bias", to_text(bias), Provenance::kFamilyDefault, implied());
    if (key && *key != bias) {
      report_.warn(FaultKind::kInconsistent, keys_.key(kAlibi),
                   keys_.key(kAlibi) + " is not used: llama.cpp takes " + to_text(bias) +
                       " for this architecture");
    }
  } else if (key) {
    if (*key < 0) {
      throw Error(keys_.place(kAlibi), "must not be negative", keys_.spelled(kAlibi))
          .of(FaultKind::kOutOfRange);
    }
    bias = *key;
    report_.field_of_key(keys_, "alibi_bias", kAlibi);
  } else {
    report_.warn(FaultKind::kMissingKey, keys_.key(kAlibi),
                 keys_.key(kAlibi) +
                     " is absent: no ALiBi, as llama.cpp does; this architecture's "
                     "models were trained with it");
  }
  if (bias == 0) return;
  if (sizes_.n_heads == 0 || sizes_.n_heads > kMaxHeads) {
    throw Error(keys_.place("attention.head_count"),
                "must be present, and at most 65536: each head has a slope",
                std::to_string(sizes_.n_heads))
        .of(sizes_.n_heads == 0 ? FaultKind::kMissingKey : FaultKind::kOutOfRange);
  }
  found_.emplace_back(AlibiBias{alibi_slopes(sizes_.n_heads, bias)});
}

// T5's encoder looks both ways, its decoder back only, each with buckets of its own.
void MechanismReader::read_buckets() {
  const std::optional<int64_t> declared = keys_.size(kBuckets);
  if (!declared) {
    throw Error(keys_.place(kBuckets), "must be present").of(FaultKind::kMissingKey);
  }
  report_.field_of_key(keys_, "relative_buckets", kBuckets);
  report_.field("max_distance", std::to_string(kMaxDistance), Provenance::kFamilyDefault,
                "no key tells it; llama.cpp's for this architecture");
  if (*declared < 4 || *declared / 4 >= kMaxDistance) {
    throw Error(keys_.place(kBuckets), "must be from 4 to " + std::to_string(4 * kMaxDistance - 1),
                std::to_string(*declared))
        .of(FaultKind::kOutOfRange);
  }
  if (*declared % 2 != 0) {
    report_.warn(FaultKind::kOddDimension, keys_.key(kBuckets),
                 keys_.key(kBuckets) + " = " + std::to_string(*declared) +
                     " is odd: each direction has half of one less, and the last bucket is never "
                     "used");
  }
  T5Buckets buckets{
      .n_buckets = *declared / 2 * 2, .max_distance = kMaxDistance, .bidirectional = true};
  validate(buckets);
  found_.emplace_back(buckets);
  if (architecture_.encoder_only) return;
  buckets = {.n_buckets = *declared, .max_distance = kMaxDistance};
  validate(buckets);
  found_.emplace_back(buckets);
}

void MechanismReader::read_token_types() {
  const std::string key = "tokenizer.ggml.token_type_count";
  SegmentTable table;
  const TensorInfo* const tensor = file_.find_tensor(kTypeTable);
  const std::optional<uint64_t> count = file_.metadata().find_u64(key);
  if (tensor != nullptr) {
    table.n_types = static_cast<int64_t>(row_count(*tensor));
    report_.field("token_types", std::to_string(table.n_types), Provenance::kFile,
                  std::string("rows of ") + kTypeTable);
  } else if (count && *count != 0 && *count <= 65536) {
    table.n_types = static_cast<int64_t>(*count);
    report_.field("token_types", std::to_string(*count), Provenance::kFile, key);
  } else {
    return;
  }
  report_.info(key, "llama.cpp adds the row of token type 0 to every token");
  found_.emplace_back(table);
}

}  // namespace

std::vector<PositionMechanism> read_gguf_mechanisms(const GgufFile& file, GgufKeys& keys,
                                                    const GgufArchitecture& architecture,
                                                    const GgufMechanismSizes& sizes,
                                                    GgufReport& report) {
  return MechanismReader(file, keys, architecture, sizes, report).read();
}

}  // namespace ropewalk
