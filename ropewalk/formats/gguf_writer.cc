// A GGUF file is: magic, version, counts; key-value entries; a list of tensors; and, aligned, the
// tensors' bytes, each aligned too and in the list's order without holes (gguf.cpp refuses them).
#include "ropewalk/formats/gguf_writer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/half.h"
#include "ropewalk/formats/append_bytes.h"
#include "ropewalk/formats/gguf_undo.h"
#include "ropewalk/formats/printable.h"
#include "ropewalk/formats/sha256.h"

namespace ropewalk {
namespace {

constexpr uint32_t kGgmlF32 = 0;
constexpr uint32_t kGgmlBf16 = 30;
// llama.cpp's LLAMA_FTYPE_ALL_F32 and _MOSTLY_BF16.
constexpr uint32_t kFileTypeF32 = 0;
constexpr uint32_t kFileTypeBf16 = 32;
constexpr std::string_view kFileTypeKey = "general.file_type";

// ---- encoding

std::string encode_entry(std::string_view key, const GgufNewValue& value) {
  std::string out;
  append_string(out, key);
  if (const auto* size = std::get_if<uint32_t>(&value)) {
    append_number(out, static_cast<uint32_t>(GgufType::kUint32));
    append_number(out, *size);
  } else if (const auto* number = std::get_if<float>(&value)) {
    append_number(out, static_cast<uint32_t>(GgufType::kFloat32));
    append_number(out, *number);
  } else {
    append_number(out, static_cast<uint32_t>(GgufType::kString));
    append_string(out, std::get<std::string>(value));
  }
  return out;
}

// One entry of the list of tensors.
//   offset  from the start of the data
std::string encode_tensor(const std::string& name, std::span<const uint64_t> shape, uint32_t type,
                          uint64_t offset) {
  std::string out;
  append_string(out, name);
  append_number(out, static_cast<uint32_t>(shape.size()));
  for (size_t i = shape.size(); i-- > 0;) append_number(out, shape[i]);
  append_number(out, type);
  append_number(out, offset);
  return out;
}

std::string encode_start(uint32_t version, uint64_t n_tensors, uint64_t n_entries) {
  std::string out = "GGUF";
  append_number(out, version);
  append_number(out, n_tensors);
  append_number(out, n_entries);
  return out;
}

uint64_t padding(uint64_t size, uint64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

// ggml's numbers of the tensors' types, which the reader keeps as names; by tensor.
std::vector<uint32_t> stored_types(const GgufFile& file) {
  std::vector<uint32_t> types;
  uint64_t at = file.tensor_list_offset();
  for (const TensorInfo& info : file.tensors()) {
    at += sizeof(uint64_t) + info.name.size() + sizeof(uint32_t) +
          info.shape.size() * sizeof(uint64_t);
    uint32_t type;
    std::memcpy(&type, file.bytes().data() + at, sizeof(type));
    types.push_back(type);
    at += sizeof(uint32_t) + sizeof(uint64_t);
  }
  return types;
}

// ---- the file to be

struct PlannedTensor {
  std::string name;
  std::vector<uint64_t> shape;
  uint32_t type = kGgmlF32;
  uint64_t bytes = 0;
  const TensorInfo* source = nullptr;  // null: `values`
  std::span<const float> values;
};

const GgufVectorEdit* find_edit(const GgufEdits& edits, const std::string& tensor) {
  const auto found = std::ranges::find(edits.vectors, tensor, &GgufVectorEdit::tensor);
  return found == edits.vectors.end() ? nullptr : &*found;
}

PlannedTensor planned_vector(const GgufVectorEdit& edit) {
  return {.name = edit.tensor,
          .shape = {edit.values.size()},
          .bytes = edit.values.size() * sizeof(float),
          .values = edit.values};
}

std::vector<PlannedTensor> plan_tensors(const GgufFile& source, const GgufEdits& edits) {
  const std::vector<uint32_t> types = stored_types(source);
  std::vector<PlannedTensor> planned;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& info = source.tensors()[i];
    if (const GgufVectorEdit* const edit = find_edit(edits, info.name)) {
      if (!edit->values.empty()) planned.push_back(planned_vector(*edit));
      continue;
    }
    if (info.type == TensorType::kUnknown) {
      throw Error(source.name() + ": tensor " + printable(info.name),
                  "must have a type of known size to be copied", info.type_name);
    }
    planned.push_back({.name = info.name,
                       .shape = info.shape,
                       .type = types[i],
                       .bytes = info.bytes,
                       .source = &info});
  }
  for (const GgufVectorEdit& edit : edits.vectors) {
    if (edit.values.empty() || source.find_tensor(edit.tensor) != nullptr) continue;
    planned.push_back(planned_vector(edit));
  }
  return planned;
}

// The entries in order, without the undo record; their marks.
std::vector<uint64_t> add_entries(const GgufFile& source, const GgufEdits& edits, ByteRuns& runs) {
  std::vector<uint64_t> marks;
  const auto add_new = [&](std::string_view key, const GgufNewValue& value) {
    std::string entry = encode_entry(key, value);
    marks.push_back(mark_of(key, std::as_bytes(std::span(entry))));
    runs.add(std::move(entry));
  };
  for (const GgufEntry& entry : source.metadata().entries()) {
    if (entry.key.starts_with(kUndoPrefix)) continue;
    const auto edit = std::ranges::find(edits.keys, entry.key, &GgufKeyEdit::key);
    if (edit == edits.keys.end()) {
      runs.copy(entry.entry_offset, entry.entry_bytes);
      marks.push_back(
          mark_of(entry.key, source.bytes().subspan(entry.entry_offset, entry.entry_bytes)));
    } else if (edit->value) {
      add_new(entry.key, *edit->value);
    }
  }
  for (const GgufKeyEdit& edit : edits.keys) {
    if (!edit.value || source.metadata().contains(edit.key)) continue;
    add_new(edit.key, *edit.value);
  }
  return marks;
}

void add_tensor_list(const GgufFile& source, std::span<const PlannedTensor> tensors,
                     ByteRuns& runs) {
  uint64_t at = source.tensor_list_offset();  // of the source's entry that may be the same
  uint64_t offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    std::string entry = encode_tensor(tensor.name, tensor.shape, tensor.type, offset);
    const uint64_t bytes = entry.size();
    if (runs.copy_if_equal(at, entry)) at += bytes;
    offset += tensor.bytes + padding(tensor.bytes, source.alignment());
  }
}

void add_tensor_data(const GgufFile& source, std::span<const PlannedTensor> tensors,
                     ByteRuns& runs) {
  for (const PlannedTensor& tensor : tensors) {
    const std::string zeros(padding(tensor.bytes, source.alignment()), '\0');
    if (tensor.source != nullptr) {
      runs.copy(tensor.source->offset, tensor.bytes);
      runs.copy_if_equal(tensor.source->offset + tensor.bytes, zeros);
    } else {
      runs.add(std::string(reinterpret_cast<const char*>(tensor.values.data()), tensor.bytes));
      runs.add(zeros);
    }
  }
}

}  // namespace

void write_edited(const GgufFile& source, const GgufEdits& edits,
                  const std::string& original_sha256, const ByteSink& sink) {
  const std::vector<PlannedTensor> tensors = plan_tensors(source, edits);
  ByteRuns entries(source.bytes());
  const std::vector<uint64_t> marks = add_entries(source, edits, entries);
  ByteRuns list(source.bytes());
  add_tensor_list(source, tensors, list);
  ByteRuns data(source.bytes());
  add_tensor_data(source, tensors, data);

  const auto assemble = [&](const std::string& record) {
    ByteRuns file(source.bytes());
    file.add(encode_start(source.version(), tensors.size(), marks.size() + kUndoEntries));
    file.append(entries);
    file.add(record);
    file.append(list);
    file.add(std::string(padding(file.size(), source.alignment()), '\0'));
    file.append(data);
    return file;
  };
  const auto record_of = [&](const ByteRuns& file) {
    return encode_undo_record(file, source.bytes(), original_sha256, marks);
  };
  // The record says where things stand, and moves them: its size first, then what it says.
  const std::string sized = record_of(assemble({}));
  assemble(record_of(assemble(sized))).emit(sink);
}

// ---- conversion

namespace {

bool is_integer(TensorType type) {
  switch (type) {
    case TensorType::kI8:
    case TensorType::kI16:
    case TensorType::kI32:
    case TensorType::kI64:
      return true;
    default:
      return false;
  }
}

// The bytes of rows [first, first + count), decoded.
std::string converted_rows(const GgufFile& source, const TensorInfo& info, uint32_t type,
                           uint64_t first, uint64_t count) {
  std::vector<float> values(count * row_length(info));
  source.read_rows(info, first, count, values);
  if (type == kGgmlF32) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  std::string stored;
  stored.reserve(values.size() * sizeof(Bf16));
  for (const float value : values) append_number(stored, to_bf16(value).bits);
  return stored;
}

void write_converted_tensor(const GgufFile& source, const PlannedTensor& tensor,
                            const ByteSink& sink) {
  const TensorInfo& info = *tensor.source;
  if (is_integer(info.type)) return sink(source.tensor_bytes(info));
  constexpr uint64_t kBlockElements = uint64_t{1} << 20;
  const uint64_t step = std::max<uint64_t>(1, kBlockElements / row_length(info));
  for (uint64_t first = 0; first < row_count(info); first += step) {
    const uint64_t count = std::min(step, row_count(info) - first);
    const std::string rows = converted_rows(source, info, tensor.type, first, count);
    sink(std::as_bytes(std::span(rows)));
  }
}

}  // namespace

void write_converted(const GgufFile& source, TensorType type, const ByteSink& sink) {
  const bool to_f32 = type == TensorType::kF32;
  std::vector<PlannedTensor> tensors = plan_tensors(source, {});
  for (PlannedTensor& tensor : tensors) {
    if (is_integer(tensor.source->type)) continue;
    if (!is_decodable(tensor.source->type)) {
      throw Error(source.name() + ": tensor " + printable(tensor.name),
                  "must have a type that can be decoded", tensor.source->type_name);
    }
    const bool narrow = !to_f32 && tensor.shape.size() > 1;
    tensor.type = narrow ? kGgmlBf16 : kGgmlF32;
    tensor.bytes = element_count(*tensor.source) * (narrow ? sizeof(Bf16) : sizeof(float));
  }
  const GgufEdits edits = {
      .keys = {{std::string(kFileTypeKey), to_f32 ? kFileTypeF32 : kFileTypeBf16}}};

  ByteRuns entries(source.bytes());
  const uint64_t n_entries = add_entries(source, edits, entries).size();
  ByteRuns list(source.bytes());
  add_tensor_list(source, tensors, list);
  ByteRuns header(source.bytes());
  header.add(encode_start(source.version(), tensors.size(), n_entries));
  header.append(entries);
  header.append(list);
  header.add(std::string(padding(header.size(), source.alignment()), '\0'));
  header.emit(sink);
  for (const PlannedTensor& tensor : tensors) {
    write_converted_tensor(source, tensor, sink);
    const std::string zeros(padding(tensor.bytes, source.alignment()), '\0');
    sink(std::as_bytes(std::span(zeros)));
  }
}

std::string tensor_data_sha256(const GgufFile& file, std::span<const std::string> names) {
  Sha256 hash;
  for (const TensorInfo& info : file.tensors()) {
    if (std::ranges::find(names, info.name) == names.end()) continue;
    hash.update(file.tensor_bytes(info));
  }
  return hash.hex();
}

}  // namespace ropewalk
