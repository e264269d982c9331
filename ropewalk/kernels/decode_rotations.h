// DecodeRotations: what decoding a sequence token by token needs of positions. No scheme is known
// here.
//
// A prefill rotates keys by tables over their tokens. One query against a long cache would read more
// of such tables than of the cache. So the query is turned back to the first key of each tile, and
// the keys of a tile by their places in it: one tile of tables, and one entry a tile.
#ifndef ROPEWALK_KERNELS_DECODE_ROTATIONS_H_
#define ROPEWALK_KERNELS_DECODE_ROTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

// How one pair of the row's query meets the keys of a branch.
struct DecodePair {
  int64_t pair = 0;
  float query_cos = 1;  // turns the query
  float query_sin = 0;
  // Turn the query on, back to the first key of a tile: by tile; null where there is no such turn.
  const float* start_cos = nullptr;
  const float* start_sin = nullptr;
  // Turn the key in place `t` of tile `n`: entry t + n * key_step; null where keys stand still.
  const float* key_cos = nullptr;
  const float* key_sin = nullptr;
  int64_t key_step = 0;
};

struct DecodeBranch {
  KeyInterval keys;               // of the row
  std::vector<DecodePair> heard;  // rising by pair; none where there are no keys
};

class DecodeRotations {
 public:
  //   rotary    as Rotations takes it
  //   capacity  tokens of the longest sequence, >= 1
  // Throws Error where the spectrum or the map does, std::bad_alloc.
  DecodeRotations(Rotary rotary, int64_t capacity, AngleMode mode);

  DecodeRotations(const DecodeRotations&) = delete;
  DecodeRotations& operator=(const DecodeRotations&) = delete;

  // Makes ready for the queries of tokens i, i + 1, ..., each the last of a sequence of its own: token
  // t of one of t + 1 tokens, as if they came one after the other. Costs one entry for each row and
  // pair of each branch; all tables where the spectrum or the map depends on the length, or where the
  // spectrum decays.
  //   i       0 <= i <= capacity - n_rows
  //   n_rows  >= 1
  // Throws what Rotations throws of one row; then no row stands until the next call.
  void stand_at(int64_t i, int64_t n_rows = 1);

  int64_t row() const { return row_; }  // the first
  int64_t n_rows() const { return n_rows_; }
  const PairLayout& layout() const { return rotary_.layout; }
  // Of row row() + r. Where keys of some branch fall on the same token, the last branch holds.
  const std::vector<DecodeBranch>& branches(int64_t r = 0) const {
    return branches_[static_cast<size_t>(r)];
  }
  // Whether all rows have the same branches in the same order, some perhaps without keys, whose keys
  // turn alike.
  bool rows_share_keys() const { return planned_ && !plan_.by_distance; }

 private:
  // How keys turn under one map.
  struct KeySide {
    PositionMap map;
    const std::vector<DoubleDouble>* listed = nullptr;  // positions of the first keys, for `map`
    bool still = false;                                 // at map(0), and without tables
    int64_t step = 0;                                   // of `keys`: 0 or kTile
    RotationTable starts;  // by tile, amplitude 1; empty where step is not 0
    RotationTable keys;    // by place in the tile, or by token
  };
  struct Heard {
    int64_t pair = 0;
    PairState state = PairState::kMapped;
    const KeySide* side = nullptr;
  };

  // Where the tables are made for one row.
  struct RowTables {
    std::unique_ptr<Rotations> rotations;
    RotationTable by_distance;
  };

  void plan_all_rows();
  std::vector<DecodeBranch> branches_by_plan(int64_t i) const;
  RowTables tables_of_row(int64_t i) const;
  std::vector<DecodeBranch> branches_by_tables(const RowTables& tables) const;
  DecodeBranch branch_by_distance(KeyInterval keys, const RotationTable& table,
                                  int64_t first) const;
  void place_query(const PlanBranch& branch, const Heard& heard, int64_t i, DecodePair& pair) const;
  const KeySide& key_side(const PositionMap& map, const std::vector<DoubleDouble>* listed);
  KeySide make_key_side(const PositionMap& map, const std::vector<DoubleDouble>* listed) const;
  RotationTable table_at(const std::vector<DoubleDouble>& positions, double amplitude) const;

  Rotary rotary_;
  int64_t capacity_;
  AngleMode mode_;
  int64_t row_ = -1;
  int64_t n_rows_ = 0;
  std::vector<std::vector<DecodeBranch>> branches_;  // (n_rows)

  // Where neither spectrum nor map depends on the length, and nothing decays:
  bool planned_ = false;
  Spectrum spectrum_;
  RotationPlan plan_;
  std::deque<KeySide> sides_;              // addresses stay
  std::vector<std::vector<Heard>> heard_;  // per branch of the plan

  RotationTable by_distance_;  // falling distances, as Rotations has them, sines negated

  std::vector<RowTables> of_rows_;  // where one does: (n_rows)
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_ROTATIONS_H_
