#include "ropewalk/formats/gguf_undo.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/append_bytes.h"
#include "ropewalk/formats/printable.h"
#include "ropewalk/formats/sha256.h"

namespace ropewalk {
namespace {

constexpr uint64_t kOwnBytes = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMaxOwnBytes = uint64_t{64} << 20;

std::string undo_key(std::string_view name) { return std::string(kUndoPrefix).append(name); }

void append_type(std::string& out, GgufType type) {
  append_number(out, static_cast<uint32_t>(type));
}

void append_array_start(std::string& out, std::string_view name, GgufType type, uint64_t count) {
  append_string(out, undo_key(name));
  append_type(out, GgufType::kArray);
  append_type(out, type);
  append_number(out, count);
}

// A number array of the record.
const GgufValue& record_array(const GgufFile& file, std::string_view name, GgufType type) {
  const std::string key = undo_key(name);
  const GgufValue* const value = file.metadata().find(key);
  if (value == nullptr) {
    throw Error(file.name() + ": " + key, "must be present to undo a write", {},
                "only files that `ropewalk write` made can be undone");
  }
  if (value->type != GgufType::kArray || value->element_type != type) {
    throw Error(file.name() + ": " + key, "must be an array of " + std::string(type_name(type)),
                value->describe());
  }
  return *value;
}

uint64_t first_bits(std::span<const std::byte> bytes) {
  return std::stoull(sha256_hex(bytes).substr(0, 8), nullptr, 16);
}

uint32_t key_of(uint64_t mark) { return static_cast<uint32_t>(mark >> 32); }

}  // namespace

uint64_t mark_of(std::string_view key, std::span<const std::byte> entry) {
  return first_bits(std::as_bytes(std::span(key))) << 32 | first_bits(entry);
}

std::string edited_since(const GgufFile& edited) {
  const GgufValue* const stored = edited.metadata().find(undo_key("marks"));
  if (stored == nullptr) return {};
  const GgufValue& marks = record_array(edited, "marks", GgufType::kUint64);
  std::map<uint32_t, uint64_t> left;
  for (uint64_t i = 0; i < marks.count; ++i) {
    uint64_t mark;
    std::memcpy(&mark, marks.elements.data() + i * sizeof(mark), sizeof(mark));
    left[key_of(mark)] = mark;
  }
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  for (const GgufEntry& entry : edited.metadata().entries()) {
    if (entry.key.starts_with(kUndoPrefix)) continue;
    const uint64_t mark =
        mark_of(entry.key, edited.bytes().subspan(entry.entry_offset, entry.entry_bytes));
    const auto known = left.find(key_of(mark));
    if (known == left.end()) {
      add("added " + printable(entry.key));
      continue;
    }
    if (known->second != mark) add(printable(entry.key) + ", now " + entry.value.describe());
    left.erase(known);
  }
  if (!left.empty()) add("removed " + std::to_string(left.size()) + " of the keys");
  return text;
}

std::string encode_undo_record(const ByteRuns& edited, std::span<const std::byte> source,
                               const std::string& sha256, std::span<const uint64_t> marks) {
  std::string pieces;
  std::string own;
  uint64_t count = 0;
  for (const ByteRuns::Piece& piece : edited.inverse()) {
    append_number(pieces, piece.offset.value_or(kOwnBytes));
    append_number(pieces, piece.bytes);
    count += 2;
    if (piece.offset) continue;
    if (piece.bytes > kMaxOwnBytes - own.size()) {
      throw Error("model", "must have less than 64 MiB between its tensors and after them",
                  std::to_string(piece.bytes) + " bytes at " + std::to_string(piece.source_offset));
    }
    own.append(reinterpret_cast<const char*>(source.data()) + piece.source_offset, piece.bytes);
  }

  std::string record;
  append_string(record, undo_key("sha256"));
  append_type(record, GgufType::kString);
  append_string(record, sha256);
  append_array_start(record, "pieces", GgufType::kUint64, count);
  record += pieces;
  append_array_start(record, "bytes", GgufType::kUint8, own.size());
  record += own;
  append_array_start(record, "marks", GgufType::kUint64, marks.size());
  for (const uint64_t mark : marks) append_number(record, mark);
  return record;
}

std::string write_undone(const GgufFile& edited, const ByteSink& sink) {
  const GgufValue& pieces = record_array(edited, "pieces", GgufType::kUint64);
  std::span<const std::byte> own = record_array(edited, "bytes", GgufType::kUint8).elements;
  if (const std::string since = edited_since(edited); !since.empty()) {
    throw Error(edited.name(), "must be as it was written to be undone", since,
                "set that back as it was and undo, or write anew from the original model");
  }
  const std::string place = edited.name() + ": " + undo_key("pieces");
  if (pieces.count % 2 != 0) {
    throw Error(place, "must hold pairs of offset and bytes", std::to_string(pieces.count));
  }
  // Each byte counts once, so that no record makes more than it takes.
  uint64_t left = edited.bytes().size();
  for (uint64_t i = 0; i < pieces.count; i += 2) {
    uint64_t piece[2];
    std::memcpy(piece, pieces.elements.data() + i * sizeof(uint64_t), sizeof(piece));
    const auto [offset, bytes] = piece;
    std::span<const std::byte> from = offset == kOwnBytes ? own : edited.bytes();
    const uint64_t start = offset == kOwnBytes ? 0 : offset;
    if (start > from.size() || bytes > from.size() - start || bytes > left) {
      throw Error(place, "must stay within the file",
                  std::to_string(bytes) + " bytes at " + std::to_string(offset));
    }
    sink(from.subspan(start, bytes));
    left -= bytes;
    if (offset == kOwnBytes) own = own.subspan(bytes);
  }
  return std::string(edited.metadata().get_string(undo_key("sha256")));
}

}  // namespace ropewalk
