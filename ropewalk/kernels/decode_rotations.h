// DecodeRotations: what decoding a sequence token by token needs of positions. No scheme is known
// here.
//
// A prefill rotates keys by tables over their tokens. One query against a long cache would read more
// of such tables than of the cache. So the query is turned back to the first key of each tile, from
// there to where its parts begin, and keys by their places in a part: a table that stays in the
// nearest cache, and one entry a tile.
#ifndef ROPEWALK_KERNELS_DECODE_ROTATIONS_H_
#define ROPEWALK_KERNELS_DECODE_ROTATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

// Every second key of half a tile is a part: vectors of bfloat16 keys come apart that way at least
// cost. Part m begins at key kPartStarts[m] of its tile; its places are kPartStep keys apart.
inline constexpr int64_t kParts = 4, kPartKeys = 16, kPartStep = 2;
inline constexpr std::array<int64_t, kParts> kPartStarts = {0, 1, 32, 33};

// How one pair of the row's query is turned.
struct DecodePair {
  int64_t pair = 0;
  float query_cos = 1;
  float query_sin = 0;
};

enum class KeyTurn { kNone, kByPlace, kByToken };

// Heard pairs one after another whose keys turn in the same manner.
struct DecodeRun {
  int64_t first_pair = 0;
  int64_t n_pairs = 0;
  KeyTurn turn = KeyTurn::kNone;
  const float* cos = nullptr;  // (n_pairs, by place in a part or by token)
  const float* sin = nullptr;
  int64_t stride = 0;  // of a pair
};

// What turns queries on, back to where keys begin that go by place; the pairs of a branch side by
// side. Cosines, then sines, of 1 and 0 for the other pairs.
struct QueryTurns {
  int64_t width = 0;            // pairs, up to a multiple of kPairMultiple
  AlignedBuffer<float> starts;  // (n_tiles, 2, width): to each tile's first key
  AlignedBuffer<float> parts;   // (kParts, 2, width): from there on
};

struct DecodeBranch {
  KeyInterval keys;                   // of the row
  std::vector<DecodePair> heard;      // rising by pair; none where there are no keys
  std::vector<DecodeRun> runs;        // of them, in order
  const QueryTurns* turns = nullptr;  // null where no keys go by place
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
    bool by_token = false;
    RotationTable keys;  // by place in a part, or by token; empty where they do not turn
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
  static std::vector<DecodeRun> runs_of(const std::vector<Heard>& heard);
  void place_query(const PlanBranch& branch, const Heard& heard, int64_t i, DecodePair& pair) const;
  const KeySide& key_side(const PositionMap& map, const std::vector<DoubleDouble>* listed);
  KeySide make_key_side(const PositionMap& map, const std::vector<DoubleDouble>* listed) const;
  QueryTurns query_turns(const std::vector<Heard>& heard) const;
  void place_turns(const std::vector<Heard>& heard, const KeySide& side,
                   const std::vector<DoubleDouble>& positions, int64_t width,
                   std::span<float> entries) const;

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
  std::deque<QueryTurns> turns_;           // the same; without entries where no keys go by place

  RotationTable by_distance_;  // falling distances, as Rotations has them, sines negated

  std::vector<RowTables> of_rows_;  // where one does: (n_rows)
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_ROTATIONS_H_
