// Tensors by name, whatever file they live in: what the engine loads from.
#ifndef ROPEWALK_FORMATS_TENSOR_SOURCE_H_
#define ROPEWALK_FORMATS_TENSOR_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/formats/tensor_type.h"

namespace ropewalk {

// One tensor's place in its file.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kUnknown;
  // As the file says it, so that unknown types can be named too: "F8_E4M3", "ggml type 77".
  std::string type_name;
  // Outermost first, row-major, for both formats: a weight matrix is {out_features, in_features}.
  // GGUF stores the same numbers innermost first (ne[0] = in_features); they are reversed on
  // reading. Empty for a scalar.
  std::vector<uint64_t> shape;
  // Of the first byte, from the start of file number `file`.
  uint64_t offset = 0;
  // Zero for the unknown types of GGUF, whose size nothing tells.
  uint64_t bytes = 0;
  // Which shard, for sharded models.
  size_t file = 0;
};

// Product of the shape. The formats have checked that it does not overflow.
uint64_t element_count(const TensorInfo& info);

// Length of the innermost dimension; 1 for a scalar.
uint64_t row_length(const TensorInfo& info);

// How many such rows there are: 1 for vectors and scalars.
uint64_t row_count(const TensorInfo& info);

// "[32, 64]"
std::string shape_text(std::span<const uint64_t> shape);

// An opened model. Const members may be called from any number of threads.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // The path it was opened from, for messages.
  const std::string& name() const { return name_; }

  // In file order. Names are unique.
  std::span<const TensorInfo> tensors() const { return tensors_; }

  // Null when there is no such tensor.
  const TensorInfo* find_tensor(std::string_view name) const;

  // The stored bytes, info.bytes of them, inside the mapping.
  //   info  one of tensors()
  // Throws Error when the file was opened without its data, or the type's size is unknown.
  virtual std::span<const std::byte> tensor_bytes(const TensorInfo& info) const = 0;

  // Tells the system that bytes of tensors will not be read soon: what memory holds of them may be
  // used for other things. They can still be read, from the file again.
  //   bytes  of tensor_bytes()
  virtual void release(std::span<const std::byte> bytes) const { static_cast<void>(bytes); }

  // Decodes the whole tensor.
  //   info  one of tensors()
  //   out   (element_count(info))
  // Throws Error naming tensor and type when the type is not decodable, and naming tensor and block
  // when a block's scale is infinite or no number. Plain floats are given as they are.
  void read_f32(const TensorInfo& info, std::span<float> out) const;

  // Decodes rows [first, first + count): lets big matrices be converted block by block, in
  // parallel.
  //   info          one of tensors()
  //   first, count  first + count <= row_count(info)
  //   out           (count, row_length(info))
  // Throws as read_f32 does.
  void read_rows(const TensorInfo& info, uint64_t first, uint64_t count,
                 std::span<float> out) const;

 protected:
  // Throws Error when two tensors share a name.
  TensorSource(std::string name, std::vector<TensorInfo> tensors);
  TensorSource(const TensorSource&) = default;
  TensorSource(TensorSource&&) = default;
  TensorSource& operator=(const TensorSource&) = default;
  TensorSource& operator=(TensorSource&&) = default;

 private:
  std::string name_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices into tensors_, sorted by name
};

// The getters that loading code is a list of. Each throws Error, saying what was expected and what
// was found, when the tensor is missing or has another shape.

const TensorInfo& expect_tensor(const TensorSource& source, std::string_view name,
                                std::initializer_list<uint64_t> shape);

// Returns the decoded values, row-major.
std::vector<float> read_tensor(const TensorSource& source, std::string_view name,
                               std::initializer_list<uint64_t> shape);

// Returns (size) values.
std::vector<float> read_vector(const TensorSource& source, std::string_view name, uint64_t size);

// Returns (rows, columns) values.
std::vector<float> read_matrix(const TensorSource& source, std::string_view name, uint64_t rows,
                               uint64_t columns);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_TENSOR_SOURCE_H_
