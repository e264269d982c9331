// The smallest parts of a layer: a product with a bias, a norm, and the block of rows they work on.
#ifndef ROPEWALK_ENGINE_PARTS_H_
#define ROPEWALK_ENGINE_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/dense.h"
#include "ropewalk/engine/weights.h"

namespace ropewalk {

// y = x W^T + b.
struct Linear {
  std::optional<Dense> dense;  // nothing: the family has no such part
  std::vector<float> bias;     // (outputs), or empty

  explicit operator bool() const { return dense.has_value(); }
  int64_t inputs() const { return dense->inputs(); }
  int64_t outputs() const { return dense->outputs(); }
};

// Up to Dense::kBlockRows rows that one thread, or few rows that all threads, work on.
class RowBlock {
 public:
  // What threads share of a product.
  enum class Sharing {
    kRows,     // nothing: each has blocks of its own, inside a parallel region
    kOutputs,  // of few rows, outside of one
    kStored,   // the same of one row, which meets the weights as the file has them: apply_one()
  };

  RowBlock(int64_t rows, Sharing sharing, DenseScratch& scratch)
      : rows_(rows), sharing_(sharing), scratch_(scratch) {}

  int64_t rows() const { return rows_; }

  // The same threads on other rows.
  RowBlock of(int64_t rows) const { return {rows, sharing_, scratch_}; }

  //   x, y  as Dense takes them
  void multiply(const Linear& linear, const float* x, float* y) const;
  // Linears of equal inputs on the same x: the same bits as one by one.
  struct Product {
    const Linear& linear;
    float* y;
  };
  void multiply_each(std::initializer_list<Product> products, const float* x) const;
  void multiply(const Dense& dense, const float* x, float* y) const;

 private:
  void add_bias(const Linear& linear, float* y) const;

  int64_t rows_;
  Sharing sharing_;
  DenseScratch& scratch_;
};

// RMSNorm or LayerNorm of rows of one width.
class Norm {
 public:
  Norm() = default;  // none
  // The part's weight, and its bias where there is one; none where the file has no such part.
  static Norm read_if(Weights& weights, const Blueprint& blueprint, const std::string& part,
                      int64_t layer, int64_t width);
  // Throws Error where there is no such part.
  static Norm read(Weights& weights, const Blueprint& blueprint, const std::string& part,
                   int64_t layer, int64_t width);
  // Without weights.
  static Norm plain(NormKind kind, double epsilon, int64_t width);

  explicit operator bool() const { return width_ != 0; }
  int64_t width() const { return width_; }

  //   in, out  (rows, width); out may be in
  void apply(const float* in, int64_t rows, float* out) const;

  // As many norms as `groups`, each of width / groups: a head's own weights.
  void apply_grouped(int64_t groups, const float* in, int64_t rows, float* out) const;

 private:
  void apply_row(const float* in, int64_t first, int64_t width, float* out) const;

  NormKind kind_ = NormKind::kRms;
  double epsilon_ = 0;
  int64_t width_ = 0;
  std::vector<float> weight_;  // (width), or empty: all 1
  std::vector<float> bias_;    // (width), or empty
};

// Whether the queries and keys of each of so many layers are rotated.
std::vector<bool> rotated_layers(const ModelConfig& config, int64_t n_layers);

// What reads the parts of one layer.
class LayerReader {
 public:
  LayerReader(Weights& weights, const Blueprint& blueprint, Precision precision, int64_t layer)
      : weights_(weights), blueprint_(blueprint), precision_(precision), layer_(layer) {}

  bool has(const std::string& part) const { return weights_.has(name(part)); }
  std::string name(const std::string& part, const std::string& kind = "weight") const {
    return weights_.name_of(part, layer_, kind);
  }
  Weights& weights() const { return weights_; }
  const Blueprint& blueprint() const { return blueprint_; }
  int64_t layer() const { return layer_; }

  Linear linear(const std::string& part, int64_t outputs, int64_t inputs) const;
  // Parts that lie one below the other in one tensor.
  std::vector<Linear> stacked(const std::string& part, const std::vector<int64_t>& outputs,
                              int64_t inputs) const;
  Linear of_rows(const WeightRows& rows, std::vector<float> bias = {}) const;
  Norm norm(const std::string& part, int64_t width) const {
    return Norm::read(weights_, blueprint_, part, layer_, width);
  }
  Norm norm_if(const std::string& part, int64_t width) const {
    return Norm::read_if(weights_, blueprint_, part, layer_, width);
  }
  // Of the residual's width; none where `part` is empty, and, if it is optional, where the file has
  // none.
  Norm residual_norm(const std::string& part, bool optional = false) const;

 private:
  Weights& weights_;
  const Blueprint& blueprint_;
  Precision precision_;
  int64_t layer_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_PARTS_H_
