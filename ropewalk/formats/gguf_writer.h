// GGUF files made from other GGUF files: some keys and tensors changed, everything else copied.
#ifndef ROPEWALK_FORMATS_GGUF_WRITER_H_
#define ROPEWALK_FORMATS_GGUF_WRITER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ropewalk/formats/byte_runs.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// Stored as u32, f32 and string.
using GgufNewValue = std::variant<uint32_t, float, std::string>;

struct GgufKeyEdit {
  std::string key;
  std::optional<GgufNewValue> value;  // nothing: the key goes
};

struct GgufVectorEdit {
  std::string tensor;
  std::vector<float> values;  // f32; empty: the tensor goes
};

// What is there already is replaced in its place, what is new comes last; what is to go and is not
// there is no error.
struct GgufEdits {
  std::vector<GgufKeyEdit> keys;
  std::vector<GgufVectorEdit> vectors;
};

// Writes `source` with `edits`, and with a record from which write_undone() (gguf_undo.h) makes
// `source` again.
//   source           opened with its data
//   original_sha256  of source.bytes()
// Throws Error on tensors of an unknown type, whose size nothing tells.
void write_edited(const GgufFile& source, const GgufEdits& edits,
                  const std::string& original_sha256, const ByteSink& sink);

// Writes `source` with every matrix as `type` (kF32 or kBF16, rounded to nearest) and every vector
// as f32; integer tensors stay. general.file_type says so. Throws Error naming a tensor that cannot
// be decoded.
void write_converted(const GgufFile& source, TensorType type, const ByteSink& sink);

// SHA-256 over the bytes of the named tensors, in file order. Names that are not there add nothing.
std::string tensor_data_sha256(const GgufFile& file, std::span<const std::string> names);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_GGUF_WRITER_H_
