// A file to be, as runs of bytes that are either new or copied from a file that is there.
#ifndef ROPEWALK_FORMATS_BYTE_RUNS_H_
#define ROPEWALK_FORMATS_BYTE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ropewalk {

// Takes the bytes of a file, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

class ByteRuns {
 public:
  // What remakes the source from the file to be: a piece of that file, or bytes of its own.
  struct Piece {
    std::optional<uint64_t> offset;  // in the file to be; nothing: the bytes are the source's own
    uint64_t source_offset = 0;
    uint64_t bytes = 0;
  };

  //   source  must outlive this
  explicit ByteRuns(std::span<const std::byte> source) : source_(source) {}

  // Bytes of the source, none of them twice. Runs that follow each other there too become one.
  void copy(uint64_t offset, uint64_t bytes);

  // Copies where the source has these bytes at `offset`, adds them otherwise. Returns which.
  bool copy_if_equal(uint64_t offset, const std::string& bytes);

  // New bytes. Even where there are none, runs before and after stay apart: how many pieces there
  // are depends on what is copied, never on how much is added.
  void add(std::string bytes);

  void append(const ByteRuns& other);

  uint64_t size() const { return size_; }
  void emit(const ByteSink& sink) const;

  // The source, from its first byte to its last.
  std::vector<Piece> inverse() const;

 private:
  struct Run {
    std::optional<uint64_t> source_offset;  // nothing: `added`
    uint64_t bytes = 0;
    std::string added;
  };

  std::span<const std::byte> source_;
  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_BYTE_RUNS_H_
