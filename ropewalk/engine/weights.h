// A model's weights under GGUF's names, whatever the file calls them, and the count of which were
// used.
#ifndef ROPEWALK_ENGINE_WEIGHTS_H_
#define ROPEWALK_ENGINE_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/engine/stored_product.h"
#include "ropewalk/formats/tensor_source.h"

namespace ropewalk {

// Where a matrix is between products. No bit depends on it.
enum class Holding {
  kPacked,    // in memory, as products take it
  kStreamed,  // in the file alone: packed anew for every pass
};

// A matrix that can be read row by row: y = x W^T.
struct WeightRows {
  std::string name;  // for messages
  int64_t outputs = 0;
  int64_t inputs = 0;
  // Rows [first, first + count) in float32: (count, inputs).
  std::function<void(int64_t first, int64_t count, std::span<float> out)> read;
  // The same rows in the file, where they lie there one behind the other in a type that is decoded.
  std::optional<StoredRows> stored;
  Holding holding = Holding::kPacked;

  // Rows [first, first + count) alone.
  WeightRows slice(int64_t first, int64_t count) const;
};

// How a part lies in a file, where that is not GGUF's way: matrices of (outputs, inputs), one below
// the other in one tensor. What is dealt, or lies in several tensors, does so in biases, too.
struct Storage {
  // The name has no ".weight": "sinks", and "sinks_bias".
  bool bare = false;
  // Tensors, one below the other: "{}" in the name stands for which. 0: one, without a number.
  int64_t tensors = 0;
  // Matrices in all tensors together.
  int64_t matrices = 1;
  // Each matrix is (inputs, outputs).
  bool transposed = false;
  // Or it is not: versions differ, and the stored shape tells.
  bool either_way = false;
  // Each matrix's rows are parts, one below the other, of so many rows, and lie dealt into groups, as
  // heads of queries, keys and values are: parts {4, 2} in two groups lie as 0 1 4 2 3 5.
  std::vector<int64_t> parts = {};
  int64_t groups = 1;
  // Elements and scales lie in tensors of their own: "up_blocks", "up_scales", matrices not
  // transposed. Biases are as ever.
  bool mxfp4 = false;

  bool is_plain() const {
    return tensors == 0 && !transposed && !either_way && parts.empty() && !mxfp4;
  }

  // Where row r of a matrix lies in it.
  int64_t stored_row(int64_t row) const;
};

// A part of GGUF's names and what stands for it in another file's: {"attn_q", "self_attn.q_proj"}.
// Without its layer and its ".weight" or ".bias".
struct Rename {
  std::string ours;
  std::string theirs;
  Storage storage = {};
};

// How a file names tensors of layers.
struct TensorNames {
  std::string layer = "blk.";   // before the layer's number
  std::vector<Rename> renames;  // empty: GGUF's own
  // Before all names but some: files may lack it everywhere. "transformer."
  std::string root = {};
  // Ends of names that hold no weights: masks, say, that some versions saved.
  std::vector<std::string> ignored = {};
  // Starts of names of another model's weights, that this one goes without: towers of images.
  std::vector<std::string> ignored_starts = {};
  // What some files have in place of `root`.
  std::vector<std::string> other_roots = {};
  // Endings that older files have in place of ".weight" and ".bias": {"weight", "gamma"}.
  std::vector<Rename> other_kinds = {};

  bool ignores(const std::string& name) const;
};

class Weights {
 public:
  //   source   must outlive it, and the matrices, too, where they are streamed
  //   holding  of all matrices
  explicit Weights(const TensorSource& source, TensorNames names = {},
                   Holding holding = Holding::kPacked);

  // The same file under other names; what is used of one counts for both.
  Weights renamed(TensorNames names) const;

  // "blk.3.attn_q.weight" of part "attn_q", or as the file has it; layer -1: of no layer.
  std::string name_of(const std::string& part, int64_t layer = -1,
                      const std::string& kind = "weight") const;

  // What names of layers begin with in this file, before the layer's number.
  const std::string& layer() const { return names_.layer; }

  bool has(const std::string& name) const { return count_of(name) != 0; }

  // Each throws Error naming a tensor that is missing, has another shape, or cannot be decoded.
  //   name  as name_of() gives it

  // All of the tensor's rows, which are outputs * inputs numbers: of three dimensions, the first two
  // are one.
  WeightRows matrix(const std::string& name, int64_t outputs, int64_t inputs);
  std::vector<float> vector(const std::string& name, int64_t size);
  std::vector<float> vector_if(const std::string& name, int64_t size);  // empty where there is none
  const TensorInfo& tensor(const std::string& name, int64_t rows, int64_t row_length);

  // That the family has it, whether it is used or not.
  void expect(const std::string& name) { used_->insert(name); }

  // How many numbers it holds; 0 where there is none.
  int64_t count_of(const std::string& name) const;

  // A tensor that nothing multiplies, a bias say, would make every answer wrong without a word.
  // Throws Error naming the first that nobody asked for; frequencies are the configuration's
  // business.
  void refuse_unused(const std::string& family) const;

  const TensorSource& source() const { return source_; }

 private:
  const Rename* rename_of(const std::string& part) const;
  Storage storage_of(const std::string& name) const;
  const TensorInfo& find(const std::string& name, const std::vector<uint64_t>& wanted);
  // By the shape of the tensor. Throws Error where its matrices are square.
  bool is_transposed(const std::string& name, int64_t rows, int64_t inputs);
  // Of exactly this shape.
  const TensorInfo& bytes(const std::string& name, const std::vector<uint64_t>& wanted);
  WeightRows mxfp4_matrix(const std::string& name, const Storage& storage, int64_t outputs,
                          int64_t inputs);
  WeightRows find_matrix(const std::string& name, int64_t outputs, int64_t inputs);

  const TensorSource& source_;
  TensorNames names_;
  Holding holding_;
  std::shared_ptr<std::set<std::string>> used_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_WEIGHTS_H_
