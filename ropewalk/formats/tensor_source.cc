#include "ropewalk/formats/tensor_source.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/name_index.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr auto kNameOf = [](const TensorInfo& info) -> const std::string& { return info.name; };

std::string place_of(const TensorSource& source, std::string_view tensor) {
  return source.name() + ": tensor " + printable(tensor);
}

// A scale that is no number would make numbers of no row that is computed with it.
void refuse_bad_scale(const TensorSource& source, const TensorInfo& info, uint64_t first_row,
                      std::span<const std::byte> rows) {
  const std::optional<BadScale> bad = find_bad_scale(info.type, rows);
  if (!bad) return;
  const uint64_t blocks_per_row = row_length(info) / block_elements(info.type);
  throw Error(place_of(source, info.name), "must have finite scales in its blocks",
              std::to_string(bad->value) + " in block " +
                  std::to_string(bad->block % blocks_per_row) + " of row " +
                  std::to_string(first_row + bad->block / blocks_per_row),
              "the file is damaged: fetch or convert it anew")
      .of(FaultKind::kOutOfRange);
}

}  // namespace

uint64_t element_count(const TensorInfo& info) {
  uint64_t count = 1;
  for (const uint64_t dimension : info.shape) count *= dimension;
  return count;
}

uint64_t row_length(const TensorInfo& info) { return info.shape.empty() ? 1 : info.shape.back(); }

uint64_t row_count(const TensorInfo& info) {
  uint64_t count = 1;
  for (size_t i = 0; i + 1 < info.shape.size(); ++i) count *= info.shape[i];
  return count;
}

std::string shape_text(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (const uint64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

TensorSource::TensorSource(std::string name, std::vector<TensorInfo> tensors)
    : name_(std::move(name)),
      tensors_(std::move(tensors)),
      by_name_(index_by_name(std::span<const TensorInfo>(tensors_), kNameOf)) {
  const TensorInfo* const twice =
      find_duplicate(std::span<const TensorInfo>(tensors_), by_name_, kNameOf);
  if (twice != nullptr) {
    throw Error(place_of(*this, twice->name), "must be named once").of(FaultKind::kConflict);
  }
}

const TensorInfo* TensorSource::find_tensor(std::string_view name) const {
  return find_by_name(tensors(), by_name_, name, kNameOf);
}

void TensorSource::read_f32(const TensorInfo& info, std::span<float> out) const {
  read_rows(info, 0, row_count(info), out);
}

void TensorSource::read_rows(const TensorInfo& info, uint64_t first, uint64_t count,
                             std::span<float> out) const {
  assert(first <= row_count(info) && count <= row_count(info) - first);
  assert(out.size() == count * row_length(info));
  if (!is_decodable(info.type)) {
    throw Error(place_of(*this, info.name), "must have a type this build decodes", info.type_name)
        .of(FaultKind::kBadType);
  }
  const uint64_t row_bytes = row_length(info) / block_elements(info.type) * block_bytes(info.type);
  const auto rows = tensor_bytes(info).subspan(first * row_bytes, count * row_bytes);
  refuse_bad_scale(*this, info, first, rows);
  dequantize(info.type, rows, out);
}

const TensorInfo& expect_tensor(const TensorSource& source, std::string_view name,
                                std::initializer_list<uint64_t> shape) {
  const TensorInfo* const info = source.find_tensor(name);
  if (info == nullptr) {
    throw Error(place_of(source, name), "must be present, with shape " + shape_text(shape))
        .of(FaultKind::kMissingKey);
  }
  if (!std::equal(shape.begin(), shape.end(), info->shape.begin(), info->shape.end())) {
    throw Error(place_of(source, name), "must have shape " + shape_text(shape),
                shape_text(info->shape))
        .of(FaultKind::kWrongLength);
  }
  return *info;
}

std::vector<float> read_tensor(const TensorSource& source, std::string_view name,
                               std::initializer_list<uint64_t> shape) {
  const TensorInfo& info = expect_tensor(source, name, shape);
  std::vector<float> values(element_count(info));
  source.read_f32(info, values);
  return values;
}

std::vector<float> read_vector(const TensorSource& source, std::string_view name, uint64_t size) {
  return read_tensor(source, name, {size});
}

std::vector<float> read_matrix(const TensorSource& source, std::string_view name, uint64_t rows,
                               uint64_t columns) {
  return read_tensor(source, name, {rows, columns});
}

}  // namespace ropewalk
