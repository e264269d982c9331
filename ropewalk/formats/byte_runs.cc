#include "ropewalk/formats/byte_runs.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace ropewalk {

void ByteRuns::copy(uint64_t offset, uint64_t bytes) {
  assert(offset <= source_.size() && bytes <= source_.size() - offset);
  if (bytes == 0) return;
  size_ += bytes;
  if (!runs_.empty() && runs_.back().source_offset &&
      *runs_.back().source_offset + runs_.back().bytes == offset) {
    runs_.back().bytes += bytes;
    return;
  }
  runs_.push_back({.source_offset = offset, .bytes = bytes});
}

bool ByteRuns::copy_if_equal(uint64_t offset, const std::string& bytes) {
  if (bytes.empty()) return true;
  const bool equal = offset <= source_.size() && bytes.size() <= source_.size() - offset &&
                     std::memcmp(source_.data() + offset, bytes.data(), bytes.size()) == 0;
  if (equal) {
    copy(offset, bytes.size());
  } else {
    add(bytes);
  }
  return equal;
}

void ByteRuns::add(std::string bytes) {
  size_ += bytes.size();
  const uint64_t count = bytes.size();
  runs_.push_back({.bytes = count, .added = std::move(bytes)});
}

void ByteRuns::append(const ByteRuns& other) {
  assert(other.source_.data() == source_.data());
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  size_ += other.size_;
}

void ByteRuns::emit(const ByteSink& sink) const {
  for (const Run& run : runs_) {
    sink(run.source_offset ? source_.subspan(*run.source_offset, run.bytes)
                           : std::as_bytes(std::span(run.added)));
  }
}

std::vector<ByteRuns::Piece> ByteRuns::inverse() const {
  std::vector<Piece> copied;
  uint64_t at = 0;
  for (const Run& run : runs_) {
    if (run.source_offset) {
      copied.push_back({.offset = at, .source_offset = *run.source_offset, .bytes = run.bytes});
    }
    at += run.bytes;
  }
  std::ranges::sort(copied, {}, &Piece::source_offset);

  std::vector<Piece> pieces;
  uint64_t done = 0;
  const auto add_own = [&](uint64_t end) {
    assert(end >= done);
    if (end > done) pieces.push_back({.source_offset = done, .bytes = end - done});
    done = end;
  };
  for (const Piece& piece : copied) {
    add_own(piece.source_offset);
    pieces.push_back(piece);
    done += piece.bytes;
  }
  add_own(source_.size());
  return pieces;
}

}  // namespace ropewalk
