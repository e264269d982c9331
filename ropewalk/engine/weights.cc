#include "ropewalk/engine/weights.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/mxfp4_matrices.h"
#include "ropewalk/formats/mxfp4_apart.h"

namespace ropewalk {
namespace {

// "experts.{}.up" as "experts.3.up".
std::string numbered(std::string name, int64_t number) {
  const size_t at = name.find("{}");
  if (at != name.npos) name.replace(at, 2, std::to_string(number));
  return name;
}

// Rows of matrices that are not stored as such. Any number of threads may read.
class StoredMatrices {
 public:
  //   holding  where it is streamed, no matrix is held for the next reading
  StoredMatrices(const TensorSource& source, Storage storage, int64_t outputs, int64_t inputs,
                 Holding holding)
      : source_(source),
        holding_(holding),
        storage_(std::move(storage)),
        rows_(outputs / storage_.matrices),
        inputs_(inputs) {}

  void add(const TensorInfo& info) { tensors_.push_back(&info); }

  void read(int64_t first, int64_t count, std::span<float> out) {
    const std::lock_guard lock(mutex_);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t matrix = (first + r) / rows_, row = storage_.stored_row((first + r) % rows_);
      const auto to = out.subspan(static_cast<size_t>(r * inputs_), static_cast<size_t>(inputs_));
      if (!storage_.transposed) {
        read_rows(matrix, rows_, row, 1, to);
        continue;
      }
      hold(matrix);
      for (int64_t x = 0; x < inputs_; ++x)
        to[static_cast<size_t>(x)] = held_[static_cast<size_t>(x * rows_ + row)];
    }
    if (holding_ == Holding::kStreamed) drop();
  }

 private:
  // Rows of a stored matrix of so many rows.
  void read_rows(int64_t matrix, int64_t matrix_rows, int64_t first, int64_t count,
                 std::span<float> out) const {
    const int64_t each = storage_.matrices / static_cast<int64_t>(tensors_.size());
    source_.read_rows(*tensors_[static_cast<size_t>(matrix / each)],
                      static_cast<uint64_t>(matrix % each * matrix_rows + first),
                      static_cast<uint64_t>(count), out);
  }

  // A row of a transposed matrix is a column of what is stored: all of it is decoded at once.
  void hold(int64_t matrix) {
    if (matrix == held_matrix_) return;
    held_.resize(static_cast<size_t>(inputs_ * rows_));
    read_rows(matrix, inputs_, 0, inputs_, held_);
    held_matrix_ = matrix;
  }

  void drop() {
    held_ = {};
    held_matrix_ = -1;
  }

  const TensorSource& source_;
  Holding holding_;
  Storage storage_;
  int64_t rows_;  // of one matrix
  int64_t inputs_;
  std::vector<const TensorInfo*> tensors_;
  std::mutex mutex_;
  std::vector<float> held_;  // (inputs, rows) of one matrix
  int64_t held_matrix_ = -1;
};

}  // namespace

WeightRows WeightRows::slice(int64_t first, int64_t count) const {
  WeightRows part = *this;
  part.outputs = count;
  if (stored) part.stored = stored->from(first);
  part.read = [whole = read, first](int64_t from, int64_t n, std::span<float> out) {
    whole(first + from, n, out);
  };
  return part;
}

int64_t Storage::stored_row(int64_t row) const {
  if (parts.empty()) return row;
  const int64_t group_rows = std::accumulate(parts.begin(), parts.end(), int64_t{0}) / groups;
  int64_t before = 0;
  for (const int64_t part : parts) {
    const int64_t within = row - before;
    if (within < part) {
      const int64_t own = part / groups;
      return within / own * group_rows + before / groups + within % own;
    }
    before += part;
  }
  return row;
}

bool TensorNames::ignores(const std::string& name) const {
  return std::ranges::any_of(ignored,
                             [&](const std::string& end) { return name.ends_with(end); }) ||
         std::ranges::any_of(ignored_starts,
                             [&](const std::string& start) { return name.starts_with(start); });
}

Weights::Weights(const TensorSource& source, TensorNames names, Holding holding)
    : source_(source),
      names_(std::move(names)),
      holding_(holding),
      used_(std::make_shared<std::set<std::string>>()) {
  const std::string root = names_.root;
  const auto in_use = [&](const std::string& start) {
    return std::ranges::any_of(
        source.tensors(), [&](const TensorInfo& info) { return info.name.starts_with(start); });
  };
  if (root.empty() || in_use(root)) return;
  const auto other = std::ranges::find_if(names_.other_roots, in_use);
  const std::string start = other == names_.other_roots.end() ? "" : *other;
  const auto replace = [&](std::string& name) {
    if (name.starts_with(root)) name.replace(0, root.size(), start);
  };
  replace(names_.layer);
  for (Rename& rename : names_.renames) replace(rename.theirs);
}

Weights Weights::renamed(TensorNames names) const {
  Weights other(source_, std::move(names), holding_);
  other.used_ = used_;
  return other;
}

const Rename* Weights::rename_of(const std::string& part) const {
  const auto found = std::ranges::find(names_.renames, part, &Rename::ours);
  return found == names_.renames.end() ? nullptr : &*found;
}

std::string Weights::name_of(const std::string& part, int64_t layer,
                             const std::string& kind) const {
  const Rename* const rename = rename_of(part);
  std::string name = layer < 0 ? "" : names_.layer + std::to_string(layer) + ".";
  name += rename == nullptr ? part : rename->theirs;
  if (rename != nullptr && rename->storage.bare) return kind == "weight" ? name : name + "_" + kind;
  for (const Rename& other : names_.other_kinds) {
    if (other.ours != kind || source_.find_tensor(name + "." + kind) != nullptr) continue;
    const std::string older = name + "." + other.theirs;
    if (source_.find_tensor(older) != nullptr) return older;
  }
  return name + "." + kind;
}

// By the name that name_of() gives.
Storage Weights::storage_of(const std::string& name) const {
  std::string part = name;
  if (part.starts_with(names_.layer)) {
    const size_t dot = part.find('.', names_.layer.size());
    part.erase(0, dot == part.npos ? dot : dot + 1);
  }
  for (const Rename& rename : names_.renames) {
    const std::string& theirs = rename.theirs;
    const char next = rename.storage.bare ? '_' : '.';
    if (!part.starts_with(theirs)) continue;
    if (part.size() == theirs.size()
            ? rename.storage.bare
            : part[theirs.size()] == next && part.find('.', theirs.size() + 1) == part.npos)
      return rename.storage;
  }
  return {};
}

const TensorInfo& Weights::find(const std::string& name, const std::vector<uint64_t>& wanted) {
  const TensorInfo* const info = source_.find_tensor(name);
  if (info == nullptr) {
    throw Error(source_.name() + ": tensor " + name,
                "must be present, with shape " + shape_text(wanted))
        .of(FaultKind::kMissingKey);
  }
  used_->insert(name);
  return *info;
}

const TensorInfo& Weights::tensor(const std::string& name, int64_t rows, int64_t row_length) {
  const std::vector<uint64_t> wanted = {static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(row_length)};
  const TensorInfo& info = find(name, wanted);
  if (row_count(info) != wanted[0] || ropewalk::row_length(info) != wanted[1]) {
    throw Error(source_.name() + ": tensor " + name, "must have shape " + shape_text(wanted),
                shape_text(info.shape))
        .of(FaultKind::kWrongLength);
  }
  return info;
}

bool Weights::is_transposed(const std::string& name, int64_t rows, int64_t inputs) {
  const TensorInfo* const info = source_.find_tensor(name);
  if (info == nullptr) return false;  // which is said where it is read
  if (rows == inputs) {
    throw Error(source_.name() + ": tensor " + name,
                "must not hold square matrices: versions of transformers store them both ways",
                shape_text(info->shape))
        .of(FaultKind::kConflict);
  }
  return row_length(*info) == static_cast<uint64_t>(rows);
}

const TensorInfo& Weights::bytes(const std::string& name, const std::vector<uint64_t>& wanted) {
  const TensorInfo& info = find(name, wanted);
  const std::string place = source_.name() + ": tensor " + name;
  if (info.type != TensorType::kU8) {
    throw Error(place, "must hold bytes (U8), as MXFP4 does", info.type_name)
        .of(FaultKind::kBadType);
  }
  if (info.shape != wanted) {
    throw Error(place, "must have shape " + shape_text(wanted), shape_text(info.shape))
        .of(FaultKind::kWrongLength);
  }
  return info;
}

WeightRows Weights::mxfp4_matrix(const std::string& name, const Storage& storage, int64_t outputs,
                                 int64_t inputs) {
  const auto width = static_cast<int64_t>(kMxfp4Elements);
  if (inputs % width != 0) {
    throw Error(source_.name() + ": tensor " + name + kMxfp4Blocks,
                "must have rows of whole blocks of " + std::to_string(width),
                std::to_string(inputs) + " inputs")
        .of(FaultKind::kNotDivisible);
  }
  std::vector<uint64_t> shape = {static_cast<uint64_t>(storage.matrices),
                                 static_cast<uint64_t>(outputs / storage.matrices),
                                 static_cast<uint64_t>(inputs / width)};
  const TensorInfo& scales = bytes(name + kMxfp4Scales, shape);
  shape.push_back(kMxfp4Bytes);
  const TensorInfo& blocks = bytes(name + kMxfp4Blocks, shape);
  return mxfp4_rows(source_, blocks, scales, storage, outputs, inputs);
}

WeightRows Weights::matrix(const std::string& name, int64_t outputs, int64_t inputs) {
  WeightRows rows = find_matrix(name, outputs, inputs);
  rows.holding = holding_;
  return rows;
}

WeightRows Weights::find_matrix(const std::string& name, int64_t outputs, int64_t inputs) {
  Storage storage = storage_of(name);
  if (storage.either_way)
    storage.transposed = is_transposed(name, outputs / storage.matrices, inputs);
  if (storage.mxfp4) return mxfp4_matrix(name, storage, outputs, inputs);
  if (!storage.is_plain()) {
    auto stored = std::make_shared<StoredMatrices>(source_, storage, outputs, inputs, holding_);
    const int64_t tensors = std::max<int64_t>(storage.tensors, 1);
    for (int64_t k = 0; k < tensors; ++k) {
      const int64_t rows = storage.transposed ? inputs * storage.matrices : outputs;
      const int64_t width = storage.transposed ? outputs / storage.matrices : inputs;
      stored->add(tensor(numbered(name, k), rows / tensors, width));
    }
    const auto read = [stored](int64_t first, int64_t count, std::span<float> out) {
      stored->read(first, count, out);
    };
    return {.name = name, .outputs = outputs, .inputs = inputs, .read = read};
  }
  const TensorInfo& info = tensor(name, outputs, inputs);
  const auto read = [&source = source_, &info](int64_t first, int64_t count, std::span<float> out) {
    source.read_rows(info, static_cast<uint64_t>(first), static_cast<uint64_t>(count), out);
  };
  WeightRows rows{.name = name, .outputs = outputs, .inputs = inputs, .read = read, .stored = {}};
  if (is_decodable(info.type))
    rows.stored = {.type = info.type,
                   .data = source_.tensor_bytes(info).data(),
                   .inputs = inputs,
                   .source = &source_};
  return rows;
}

std::vector<float> Weights::vector(const std::string& name, int64_t size) {
  const Storage storage = storage_of(name);
  const int64_t tensors = std::max<int64_t>(storage.tensors, 1);
  const auto count = static_cast<uint64_t>(size / tensors);
  std::vector<float> stored(static_cast<size_t>(size));
  for (int64_t k = 0; k < tensors; ++k) {
    const std::string own = numbered(name, k);
    const TensorInfo& info = find(own, {count});
    if (element_count(info) != count || size % tensors != 0) {
      throw Error(source_.name() + ": tensor " + own, "must have shape " + shape_text({{count}}),
                  shape_text(info.shape))
          .of(FaultKind::kWrongLength);
    }
    source_.read_f32(info, std::span(stored).subspan(static_cast<size_t>(k) * count, count));
  }
  if (storage.parts.empty()) return stored;
  std::vector<float> values(stored.size());
  const int64_t rows = size / storage.matrices;
  for (int64_t r = 0; r < size; ++r)
    values[static_cast<size_t>(r)] =
        stored[static_cast<size_t>(r / rows * rows + storage.stored_row(r % rows))];
  return values;
}

std::vector<float> Weights::vector_if(const std::string& name, int64_t size) {
  return has(name) ? vector(name, size) : std::vector<float>();
}

int64_t Weights::count_of(const std::string& name) const {
  const Storage storage = storage_of(name);
  int64_t count = 0;
  if (const TensorInfo* const blocks = source_.find_tensor(name + kMxfp4Blocks);
      storage.mxfp4 && blocks != nullptr)
    return static_cast<int64_t>(2 * element_count(*blocks));
  for (int64_t k = 0; k < std::max<int64_t>(storage.tensors, 1); ++k) {
    const TensorInfo* const info = source_.find_tensor(numbered(name, k));
    if (info == nullptr) break;  // what is missing is named where it is read
    count += static_cast<int64_t>(element_count(*info));
  }
  return count;
}

void Weights::refuse_unused(const std::string& family) const {
  for (const TensorInfo& info : source_.tensors()) {
    const bool frequencies =
        info.name.find("rope_f") != std::string::npos || info.name.ends_with("rotary_emb.inv_freq");
    if (frequencies || names_.ignores(info.name) || used_->contains(info.name)) continue;
    throw Error(info.name, "a tensor that the " + family + " family does not have",
                shape_text(info.shape),
                "the model is of another family, or a variant that is not run yet");
  }
}

}  // namespace ropewalk
