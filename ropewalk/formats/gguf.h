// GGUF, versions 2 and 3, little endian. Source: ggml/docs/gguf.md and ggml/src/gguf.cpp.
#ifndef ROPEWALK_FORMATS_GGUF_H_
#define ROPEWALK_FORMATS_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/formats/gguf_metadata.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/tensor_source.h"

namespace ropewalk {

// Whether a file that ends before its tensors do is an error.
enum class GgufData {
  kRequired,
  kOptional,  // only the header has to be whole: enough to show a model's positions
};

// A GGUF file, checked as a whole when it is opened; nothing is copied but names and shapes.
//
// Refused, with place and value: another magic, version 1, big endian, duplicate keys or tensor
// names, nested arrays, bools other than 0 and 1, keys over 65535 bytes, more than four dimensions
// or an empty one, rows that are no multiple of their type's block, an alignment that is no power
// of two, and tensors that are misaligned, overlap or leave the file. Time and memory stay
// proportional to the file's size whatever its counts claim.
class GgufFile : public TensorSource {
 public:
  // Throws Error naming the path.
  static GgufFile open(const std::string& path, GgufData data = GgufData::kRequired);

  // Opens all parts of a split model (llama-gguf-split; the keys split.no, split.count and
  // split.tensors.count), or the one file of one that is not split.
  //   path  any of the parts, named as llama.cpp names them: m-00001-of-00003.gguf
  // tensors() are those of all parts in order, TensorInfo::file the part; name(), metadata(),
  // bytes() and offsets are the first part's.
  // Throws Error naming the part that is missing, is another than its name says, is of another
  // model or brings a tensor that an earlier one has; and where the parts' tensors are not as many
  // as split.tensors.count says.
  static GgufFile open_all(const std::string& path, GgufData data = GgufData::kRequired);

  // Reads a file that is in memory already.
  //   bytes  must outlive the result
  //   name   names it in messages
  static GgufFile parse(std::span<const std::byte> bytes, std::string name,
                        GgufData data = GgufData::kRequired);

  uint32_t version() const { return layout_.version; }
  const GgufMetadata& metadata() const { return metadata_; }

  // From the file's general.alignment, else 32: a power of two.
  uint64_t alignment() const { return layout_.alignment; }
  // Where the list of tensors starts: right behind the metadata.
  uint64_t tensor_list_offset() const { return layout_.tensor_list_offset; }
  // Where the tensors' bytes start: past the list of tensors, aligned.
  uint64_t data_offset() const { return layout_.data_offset; }
  // False when some tensor lies outside: possible with GgufData::kOptional only.
  bool has_data() const { return layout_.has_data; }
  // The whole file.
  std::span<const std::byte> bytes() const { return files_.front().bytes; }
  // Whether other files hold more of this model: its keys count several parts, and they were not
  // opened with open_all(). Throws Error when split.count is no integer.
  bool is_part() const;

  std::span<const std::byte> tensor_bytes(const TensorInfo& info) const override;
  void release(std::span<const std::byte> bytes) const override;

 private:
  struct Layout {
    uint32_t version = 0;
    uint64_t alignment = 0;
    uint64_t tensor_list_offset = 0;
    uint64_t data_offset = 0;
    bool has_data = false;
  };
  struct File {
    std::string name;
    std::span<const std::byte> bytes;
    std::shared_ptr<const MappedFile> mapping;  // null when parsed from memory
  };
  class Parser;

  GgufFile(std::vector<File> files, GgufMetadata metadata, std::vector<TensorInfo> tensors,
           Layout layout);
  static GgufFile join(std::vector<GgufFile> parts);

  std::vector<File> files_;  // by TensorInfo::file
  GgufMetadata metadata_;
  Layout layout_;
};

// Where the parts of a split model lie, whether they are there or not: beside each other, named as
// llama.cpp names them.
//   part  any of them, opened from its path
// Throws Error when its name is not that of the part that its keys say it is.
std::vector<std::string> part_paths(const GgufFile& part);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_GGUF_H_
