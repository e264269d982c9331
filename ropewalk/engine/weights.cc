#include "ropewalk/engine/weights.h"

#include "ropewalk/base/error.h"

namespace ropewalk {

WeightRows WeightRows::slice(int64_t first, int64_t count) const {
  WeightRows part = *this;
  part.outputs = count;
  part.read = [whole = read, first](int64_t from, int64_t n, std::span<float> out) {
    whole(first + from, n, out);
  };
  return part;
}

Weights::Weights(const TensorSource& source, TensorNames names)
    : source_(source), names_(std::move(names)), used_(std::make_shared<std::set<std::string>>()) {}

Weights Weights::renamed(TensorNames names) const {
  Weights other = *this;
  other.names_ = std::move(names);
  return other;
}

std::string Weights::name_of(const std::string& part, int64_t layer,
                             const std::string& kind) const {
  std::string renamed = part;
  for (const auto& [ours, theirs] : names_.renames) {
    if (ours == part) renamed = theirs;
  }
  const std::string before = layer < 0 ? "" : names_.layer + std::to_string(layer) + ".";
  return before + renamed + "." + kind;
}

const TensorInfo& Weights::tensor(const std::string& name, int64_t rows, int64_t row_length) {
  const TensorInfo* const info = source_.find_tensor(name);
  const std::vector<uint64_t> wanted = {static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(row_length)};
  if (info == nullptr) {
    throw Error(source_.name() + ": tensor " + name,
                "must be present, with shape " + shape_text(wanted))
        .of(FaultKind::kMissingKey);
  }
  if (row_count(*info) != wanted[0] || ropewalk::row_length(*info) != wanted[1]) {
    throw Error(source_.name() + ": tensor " + name, "must have shape " + shape_text(wanted),
                shape_text(info->shape))
        .of(FaultKind::kWrongLength);
  }
  used_->insert(name);
  return *info;
}

WeightRows Weights::matrix(const std::string& name, int64_t outputs, int64_t inputs) {
  const TensorInfo& info = tensor(name, outputs, inputs);
  const auto read = [&source = source_, &info](int64_t first, int64_t count, std::span<float> out) {
    source.read_rows(info, static_cast<uint64_t>(first), static_cast<uint64_t>(count), out);
  };
  return {.name = name, .outputs = outputs, .inputs = inputs, .read = read};
}

std::vector<float> Weights::vector(const std::string& name, int64_t size) {
  const TensorInfo* const info = source_.find_tensor(name);
  const auto count = static_cast<uint64_t>(size);
  if (info != nullptr && element_count(*info) == count) {
    used_->insert(name);
    std::vector<float> values(count);
    source_.read_f32(*info, values);
    return values;
  }
  return read_vector(source_, name, count);
}

std::vector<float> Weights::vector_if(const std::string& name, int64_t size) {
  return has(name) ? vector(name, size) : std::vector<float>();
}

int64_t Weights::count_of(const std::string& name) const {
  const TensorInfo* const info = source_.find_tensor(name);
  return info == nullptr ? 0 : static_cast<int64_t>(element_count(*info));
}

void Weights::refuse_unused(const std::string& family) const {
  for (const TensorInfo& info : source_.tensors()) {
    const bool frequencies =
        info.name.find("rope_f") != std::string::npos || info.name.ends_with("rotary_emb.inv_freq");
    if (frequencies || used_->contains(info.name)) continue;
    throw Error(info.name, "a tensor that the " + family + " family does not have",
                shape_text(info.shape),
                "the model is of another family, or a variant that is not run yet");
  }
}

}  // namespace ropewalk
