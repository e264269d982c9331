// The tables of one pass: what every layer of one scheme shares.
#ifndef ROPEWALK_ENGINE_ROTATION_TABLES_H_
#define ROPEWALK_ENGINE_ROTATION_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ropewalk/engine/positions.h"
#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

// Rotations of a run of rows, one for each span of rows that sees one spectrum; kept while they fit
// in memory, made anew for each layer where a length-dependent scheme has too many.
class RotationTables {
 public:
  //   length  tokens of the whole sequence, >= first_row + n_rows
  //   chunk   no span has rows on both sides of a multiple of it; 0: any may
  RotationTables(const Positions& positions, int64_t length, int64_t first_row, int64_t n_rows,
                 int64_t chunk = 0);

  // The spans of rows of one scheme: starts, rising; the last ends with the rows.
  const std::vector<int64_t>& spans(size_t scheme) const { return kept_[scheme].starts; }

  // The tables of one span; the reference holds until the next call.
  const Rotations& span(size_t scheme, size_t index);

  // Foretold: what all tables that are held at once will take, and each thread's workspace of
  // attention. Branches are counted on a short text.
  struct Bytes {
    int64_t tables = 0;
    int64_t workspace = 0;
  };
  Bytes bytes(int64_t n_heads, int64_t n_kv_heads, int64_t head_dim) const;

  // Multiplies the logits of row `first_row + r`: 1 / sqrt(head_dim) is not in it. (n_rows)
  std::vector<float> row_scale(size_t scheme) const;

 private:
  struct Kept {
    std::vector<int64_t> starts;
    std::vector<std::unique_ptr<Rotations>> tables;
    bool fits = true;
  };

  std::unique_ptr<Rotations> make(size_t scheme, size_t index) const;

  const Positions& positions_;
  int64_t length_;
  int64_t first_row_;
  int64_t n_rows_;
  std::vector<Kept> kept_;
  std::unique_ptr<Rotations> current_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ROTATION_TABLES_H_
