#include "ropewalk/engine/mxfp4_matrices.h"

#include <algorithm>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"
#include "ropewalk/formats/mxfp4_apart.h"

namespace ropewalk {
namespace {

constexpr std::byte kNoNumber{255};

void refuse_no_number(const TensorSource& source, const TensorInfo& scales, int64_t row,
                      std::span<const std::byte> of_row) {
  const auto bad = std::ranges::find(of_row, kNoNumber);
  if (bad == of_row.end()) return;
  throw Error(source.name() + ": tensor " + scales.name, "must hold scales below 255",
              "255, no number, in block " + std::to_string(bad - of_row.begin()) + " of row " +
                  std::to_string(row),
              "the file is damaged: fetch or convert it anew")
      .of(FaultKind::kOutOfRange);
}

}  // namespace

WeightRows mxfp4_rows(const TensorSource& source, const TensorInfo& blocks,
                      const TensorInfo& scales, const Storage& storage, int64_t outputs,
                      int64_t inputs) {
  const int64_t rows = outputs / storage.matrices;
  const auto read = [&source, &blocks, &scales, storage, rows, inputs](int64_t first, int64_t count,
                                                                       std::span<float> out) {
    const size_t of_row = size(inputs) / kMxfp4Elements;
    for (int64_t r = first; r < first + count; ++r) {
      const int64_t row = r / rows * rows + storage.stored_row(r % rows);
      const auto part = [&](const TensorInfo& info, size_t bytes) {
        return source.tensor_bytes(info).subspan(size(row) * bytes, bytes);
      };
      const std::span<const std::byte> own_scales = part(scales, of_row);
      refuse_no_number(source, scales, row, own_scales);
      decode_mxfp4_apart(part(blocks, of_row * kMxfp4Bytes), own_scales,
                         out.subspan(size((r - first) * inputs), size(inputs)));
    }
  };
  return {.name = blocks.name, .outputs = outputs, .inputs = inputs, .read = read, .stored = {}};
}

std::optional<Mxfp4Sizes> mxfp4_sizes(const TensorInfo& info) {
  if (info.type != TensorType::kU8) return {};
  if (info.name.ends_with(kMxfp4Scales)) return Mxfp4Sizes();
  if (!info.name.ends_with(kMxfp4Blocks) || info.shape.size() != 4) return {};
  if (element_count(info) == 0) return Mxfp4Sizes();  // any size may stand beside a 0
  const auto blocks = static_cast<int64_t>(info.shape[2]);
  return Mxfp4Sizes{.matrices = static_cast<int64_t>(info.shape[0]),
                    .outputs = static_cast<int64_t>(info.shape[1]),
                    .inputs = blocks * static_cast<int64_t>(kMxfp4Elements)};
}

}  // namespace ropewalk
