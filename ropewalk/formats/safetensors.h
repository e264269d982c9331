// safetensors: one file, or the shards that an index names.
// Source: github.com/huggingface/safetensors, README, "Format".
#ifndef ROPEWALK_FORMATS_SAFETENSORS_H_
#define ROPEWALK_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/tensor_source.h"

namespace ropewalk {

// A model in safetensors, checked as a whole when it is opened.
//
// Refused, with place and value: a header over 100 MB or longer than the file, one that is padded
// with anything but white space, JSON that is not a table of tensors, duplicate names, shapes that
// do not make up their bytes, and tensors that leave the data, overlap, or do not cover it (the
// format forbids holes). Of an index: shards that are named by anything but a plain file name
// beside it, and tensors that their shard does not hold.
class Safetensors : public TensorSource {
 public:
  // Opens a .safetensors file, an index (.json), or the directory of a model, where
  // model.safetensors is preferred to model.safetensors.index.json as transformers does.
  // Throws Error naming the path.
  static Safetensors open(const std::string& path);

  // Reads one file that is in memory already.
  //   bytes  must outlive the result
  //   name   names it in messages
  static Safetensors parse(std::span<const std::byte> bytes, std::string name);

  // The header's __metadata__; of the first shard when there are several.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  std::span<const std::byte> tensor_bytes(const TensorInfo& info) const override;
  void release(std::span<const std::byte> bytes) const override;

 private:
  Safetensors(std::string name, std::vector<TensorInfo> tensors,
              std::map<std::string, std::string> metadata,
              std::vector<std::span<const std::byte>> files);
  static Safetensors open_file(const std::string& path);
  static Safetensors open_index(const std::string& path);

  std::vector<std::shared_ptr<const MappedFile>> mappings_;  // empty when parsed from memory
  std::vector<std::span<const std::byte>> files_;            // by TensorInfo::file
  std::map<std::string, std::string> metadata_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_SAFETENSORS_H_
