// Splits a GGUF file as llama-gguf-split does.
#ifndef ROPEWALK_TESTING_SPLIT_GGUF_H_
#define ROPEWALK_TESTING_SPLIT_GGUF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Its number in enum ggml_type.
inline uint32_t ggml_number(TensorType type) {
  uint32_t number = 0;
  while (type_from_ggml(number) != type) ++number;
  return number;
}

// Tensors [first, first + count) of `file` as part `number` of `parts`; its metadata are in the
// first.
inline std::string part_of(const GgufFile& file, size_t first, size_t count, uint16_t number,
                           uint16_t parts) {
  constexpr size_t kHeader = 24;  // magic, version, two counts
  const auto tensors = file.tensors().subspan(first, count);
  const size_t keys = 3 + (number == 0 ? file.metadata().entries().size() : 0);
  ByteWriter out;
  out.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(count).put<uint64_t>(keys);
  if (number == 0) {
    out.put_raw(as_text(file.bytes().subspan(kHeader, file.tensor_list_offset() - kHeader)));
  }
  out.put_string("split.no").put<uint32_t>(2).put(number);
  out.put_string("split.count").put<uint32_t>(2).put(parts);
  out.put_string("split.tensors.count").put<uint32_t>(5);
  out.put(static_cast<int32_t>(file.tensors().size()));
  uint64_t offset = 0;
  for (const TensorInfo& info : tensors) {
    out.put_string(info.name).put<uint32_t>(static_cast<uint32_t>(info.shape.size()));
    for (size_t i = info.shape.size(); i-- > 0;) out.put(info.shape[i]);
    out.put(ggml_number(info.type)).put(offset);
    offset += (info.bytes + file.alignment() - 1) / file.alignment() * file.alignment();
  }
  out.pad_to(file.alignment());
  for (const TensorInfo& info : tensors) {
    out.put_raw(as_text(file.tensor_bytes(info))).pad_to(file.alignment());
  }
  return out.text();
}

// "m-00001-of-00003.gguf" for number 0 of 3; fewer than ten parts.
inline std::string part_name(const std::string& stem, size_t number, size_t parts) {
  return stem + "-0000" + std::to_string(number + 1) + "-of-0000" + std::to_string(parts) + ".gguf";
}

// The bytes of so many files with about as many tensors each.
inline std::vector<std::string> split_gguf(const GgufFile& file, uint16_t parts) {
  std::vector<std::string> files;
  const size_t all = file.tensors().size();
  for (uint16_t number = 0; number < parts; ++number) {
    const size_t first = all * number / parts;
    files.push_back(part_of(file, first, all * (number + 1u) / parts - first, number, parts));
  }
  return files;
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTING_SPLIT_GGUF_H_
