// AttentionPass: the order in which a block of rows meets its keys. It asks a kernel for all
// arithmetic, in pieces of some hundred cycles or more, and is the same for every kernel.
//
// A kernel has
//   kPanelRows                  rows it likes to be given at once
//   kKeysAtOnce                 runs of a tile's keys that it can score begin and end at multiples
//   begin()                     sums empty
//   turn_queries(family)        once per block
//   pack_keys(family, n_pairs, tile)
//   reads_rows(family, pair)    whether pack_keys() does, of the pair's table for keys
//   whole_sums(n_pairs)         the longest sum over fewer pairs, or as many, that may go on and
//                               have the bits of one made at once; -1: none
//   kSharers                    later parts for which a sum that they share is worth keeping
//   score(family, first_row, rows, keys, from_pair, to_pair, begun, out, stride)
//                               scores of a run of the packed tile's keys, pairs [from_pair,
//                               to_pair) of the family; `out` is where the tile's first key goes;
//                               they go on from `begun`, rows kTile apart, which may be `out`,
//                               a whole sum over from_pair pairs; from null they begin, with what
//                               passes through
//   pack_keys_by_distance(tile), score_by_distance(first_row, rows, tile, out, stride)
//   pack_values(tile)
//   weigh(first_row, rows, tiles, keys)
//                               scores of the tiles in the mask become weights, running maximum,
//                               total and sums follow
//   add_values(seen)            weights times values; of each panel the mask of tiles that it sees
//   choose(first_row, rows, t, cut, chosen)
//                               scores of tile t of those held together, of each row's chosen keys,
//                               become those of `cut`, rows of kTile
//   scores(row)                 (kKeysTogether), rows kScoreStride apart
//   finish()
#ifndef ROPEWALK_KERNELS_ATTENTION_PASS_H_
#define ROPEWALK_KERNELS_ATTENTION_PASS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "ropewalk/kernels/attention_block.h"

namespace ropewalk {

template <typename Kernel, typename Element>
class AttentionPass {
 public:
  explicit AttentionPass(const AttentionBlock<Element>& block) noexcept
      : walk_(*block.walk),
        block_(block),
        kernel_(block),
        group_(block.group()),
        rows_(block.rows()),
        first_(block.first_position()),
        last_(first_ + block.tokens() - 1),
        live_(block.workspace->template take<LivePart>(std::ssize(walk_.parts()))),
        turned_(block.workspace->template take<bool>(std::ssize(walk_.families()))),
        seen_(block.workspace->template take<uint8_t>(rows_ / kPanelRows + 1)),
        begun_(block.workspace->template take<float>(kPanelRows * kTile)),
        cut_(block.workspace->template take<float>(kPanelRows * kTile)) {}

  void run() noexcept {
    std::fill_n(turned_, walk_.families().size(), false);
    kernel_.begin();
    for (int64_t tile = 0; tile * kTile <= last_; tile += kTilesTogether) attend_together(tile);
    kernel_.finish();
  }

 private:
  static constexpr int64_t kPanelRows = Kernel::kPanelRows;

  struct LivePart {
    const WalkPart* part;
    int64_t nearest;  // distances, both included, outside of which it does not hold
    int64_t farthest;
    Cover cover;     // of the whole block
    Cover in_panel;  // of the panel in hand
    // Of a cut panel: its end rows, and keys of the tile, counted from its first, in runs that the
    // kernel can score.
    EndRows ends;
    KeyInterval keys;
    KeyInterval keys_from_here;  // those of the family's later parts too
    int64_t n_later;             // how many see any of the tile
  };
  static_assert(sizeof(LivePart) <= kLivePartWords * sizeof(float));

  struct Panel {
    int64_t index;
    int64_t first_row;
    int64_t rows;
  };

  template <typename Body>
  void for_panels(const Body& body) {
    for (int64_t row = 0; row < rows_; row += kPanelRows)
      body(Panel{row / kPanelRows, row, std::min(kPanelRows, rows_ - row)});
  }

  float* scores(const Panel& panel, int64_t t) const {
    return kernel_.scores(panel.first_row) + t * kTile;
  }

  WalkRectangle rectangle(const Panel& panel, int64_t tile) const {
    return {first_ + panel.first_row / group_, first_ + (panel.first_row + panel.rows - 1) / group_,
            tile * kTile, (tile + 1) * kTile};
  }

  void attend_together(int64_t first_tile) {
    std::fill_n(seen_, (rows_ + kPanelRows - 1) / kPanelRows, uint8_t{0});
    uint8_t any = 0;
    for (int64_t t = 0; t < kTilesTogether; ++t) any |= score_tile(first_tile, t);
    if (any == 0) return;
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((any >> t & 1) != 0) kernel_.pack_values(first_tile + t);
    }
    for_panels([&](const Panel& panel) {
      if (seen_[panel.index] != 0)
        kernel_.weigh(panel.first_row, panel.rows, seen_[panel.index], first_tile * kTile);
    });
    kernel_.add_values(seen_);
  }

  // Scores tile first_tile + t; returns its bit where a row sees it.
  uint8_t score_tile(int64_t first_tile, int64_t t) {
    const int64_t tile = first_tile + t;
    const int64_t n_live = find_live(tile);
    if (n_live == 0) return 0;
    const auto bit = static_cast<uint8_t>(1U << t);
    for (int64_t begin = 0; begin < n_live;) {
      int64_t end = begin + 1;
      while (end < n_live && alike(*live_[begin].part, *live_[end].part)) ++end;
      score_family(tile, t, bit, begin, end);
      begin = end;
    }
    return bit;
  }

  int64_t find_live(int64_t tile) {
    int64_t n_live = 0;
    const WalkRectangle all{first_, last_, tile * kTile, (tile + 1) * kTile};
    for (const WalkPart& part : walk_.parts()) {
      const Cover cover = walk_.cover(part, all);
      if (cover == Cover::kNone) continue;
      LivePart& live = live_[n_live++];
      live = {.part = &part, .nearest = 0, .farthest = kUnbounded, .cover = cover};
      if (part.kind == WalkPart::Kind::kBranch) {
        live.nearest = part.branch->first;
        live.farthest = part.branch->last - 1;
      }
    }
    return n_live;
  }

  static bool alike(const WalkPart& a, const WalkPart& b) {
    return a.kind == WalkPart::Kind::kBranch && b.kind == WalkPart::Kind::kBranch &&
           a.family == b.family;
  }

  // Live parts [begin, end), all of one family, or one that goes by distance.
  void score_family(int64_t tile, int64_t t, uint8_t bit, int64_t begin, int64_t end) {
    const WalkPart& widest = *live_[end - 1].part;
    if (widest.kind != WalkPart::Kind::kBranch) {
      kernel_.pack_keys_by_distance(tile);
    } else {
      if (!turned_[widest.family]) kernel_.turn_queries(widest.family);
      turned_[widest.family] = true;
      kernel_.pack_keys(widest.family, widest.n_pairs, tile);
    }
    for_panels([&](const Panel& panel) { score_panel(panel, tile, t, bit, begin, end); });
  }

  void score_panel(const Panel& panel, int64_t tile, int64_t t, uint8_t bit, int64_t begin,
                   int64_t end) {
    const WalkRectangle own = rectangle(panel, tile);
    const int64_t nearest = own.first_row - own.end_key + 1;
    const int64_t farthest = own.last_row - own.first_key;
    bool cut = false;
    for (int64_t p = begin; p < end; ++p) {
      live_[p].in_panel = Cover::kNone;
      if (farthest < live_[p].nearest || nearest > live_[p].farthest) continue;
      const WalkPart& part = *live_[p].part;
      const Cover cover = live_[p].cover == Cover::kAll ? Cover::kAll : walk_.cover(part, own);
      live_[p].in_panel = cover;
      if (cover == Cover::kAll) {
        seen_[panel.index] |= bit;
        fetch_ahead(part, panel, tile + 1);
        return score_keys(part, panel, tile, {0, kTile}, -1, scores(panel, t), kScoreStride);
      }
      cut = cut || cover == Cover::kSome;
    }
    if (!cut) return;
    fetch_ahead(*live_[begin].part, panel, tile + 1);
    score_cut(panel, own, tile, t, bit, begin, end);
  }

  // Scores of a part on some of a tile's keys, into `out`, where the tile's first key goes.
  //   done  pairs of the sums in begun_; -1: none
  void score_keys(const WalkPart& part, const Panel& panel, int64_t tile, const KeyInterval& keys,
                  int64_t done, float* out, int64_t stride) {
    if (part.kind == WalkPart::Kind::kBranch) {
      kernel_.score(part.family, panel.first_row, panel.rows, keys, std::max<int64_t>(done, 0),
                    part.n_pairs, done < 0 ? nullptr : begun_, out, stride);
    } else {
      kernel_.score_by_distance(panel.first_row, panel.rows, tile, out, stride);
    }
  }

  // While the panels of a tile are multiplied, what the next tile needs comes nearer, a share with
  // each: keys and values, and the tables' rows, which no hardware foresees.
  void fetch_ahead(const WalkPart& part, const Panel& panel, int64_t tile) const {
    if (part.kind != WalkPart::Kind::kBranch || tile * kTile > last_) return;
    const WalkFamily& family = walk_.families()[part.family];
    const int64_t n_panels = (rows_ + kPanelRows - 1) / kPanelRows;
    const auto share_of = [&](int64_t count, const auto& fetch) {
      for (int64_t x = count * panel.index / n_panels; x < count * (panel.index + 1) / n_panels;
           ++x)
        fetch(x);
    };
    constexpr int64_t kLine = 64 / sizeof(Element);
    const KvTiles<Element>& kv = *block_.kv;
    const Element* const keys = kv.keys(block_.kv_head, tile);
    const Element* const values = kv.values(block_.kv_head, tile);
    share_of(kv.head_dim() * kTile / kLine, [&](int64_t x) { fetch_line(keys + x * kLine); });
    share_of(kv.value_stride() * kTile / kLine, [&](int64_t x) { fetch_line(values + x * kLine); });
    share_of(std::ssize(family.pairs), [&](int64_t p) {
      if (!kernel_.reads_rows(family, p)) return;
      for (int64_t k = 0; k < kTile; k += 16) {
        fetch_line(family.pairs[p].key_cos + tile * kTile + k);
        fetch_line(family.pairs[p].key_sin + tile * kTile + k);
      }
    });
  }

  // Into the second cache; a hint, so any address will do.
  static void fetch_line(const void* address) { __builtin_prefetch(address, 0, 2); }

  // A family's parts one after the other, each a longer sum than the one before, which goes on from
  // what the earlier ones share with it. Where all keys are seen, a score that is not the part's own
  // may stand for one that another part still writes.
  void score_cut(const Panel& panel, const WalkRectangle& own, int64_t tile, int64_t t, uint8_t bit,
                 int64_t begin, int64_t end) {
    find_keys(own, begin, end);
    const bool straight = (seen_[panel.index] & bit) == 0 && walk_.sees_all(own);
    int64_t written = 0;  // straight: scores of keys before it are not to be lost
    int64_t done = -1;    // pairs, of the sums in begun_
    for (int64_t p = begin; p < end; ++p) {
      const LivePart& live = live_[p];
      if (live.keys.empty()) continue;
      if (live.n_later >= Kernel::kSharers) done = begin_sums(live, panel, done);
      KeyInterval shared = live.keys;
      if (straight) {
        const KeyInterval free{std::max(written, live.keys.first), live.keys.last};
        if (!free.empty())
          score_keys(*live.part, panel, tile, free, done, scores(panel, t), kScoreStride);
        shared.last = std::min(written, shared.last);
        written = std::max(written, live.keys.last);
      }
      if (!shared.empty()) choose_keys(live, panel, own, tile, t, shared, done, bit);
      seen_[panel.index] |= bit;
    }
  }

  // The keys of live parts [begin, end) in the panel's tile. Both ends of a row's keys rise, or stay,
  // from row to row.
  void find_keys(const WalkRectangle& own, int64_t begin, int64_t end) {
    constexpr int64_t kRun = Kernel::kKeysAtOnce;
    KeyInterval later{kTile, 0};
    int64_t n_later = 0;
    for (int64_t p = end; p-- > begin;) {
      LivePart& live = live_[p];
      live.keys = {};
      if (live.in_panel == Cover::kNone) continue;
      live.ends = {walk_.keys(*live.part, own.first_row), walk_.keys(*live.part, own.last_row)};
      const int64_t first = std::max(live.ends.first.first - own.first_key, int64_t{0});
      const int64_t last = std::min(live.ends.last.last - own.first_key, kTile);
      if (first >= last) continue;
      live.keys = {first / kRun * kRun, (last + kRun - 1) / kRun * kRun};
      live.n_later = n_later++;
      later = {std::min(later.first, live.keys.first), std::max(later.last, live.keys.last)};
      live.keys_from_here = later;
    }
  }

  // Leaves in begun_ what later parts may go on from.
  //   done     pairs of the sums there; -1: none
  //   returns  the same thereafter
  int64_t begin_sums(const LivePart& live, const Panel& panel, int64_t done) {
    if (live.part->kind != WalkPart::Kind::kBranch) return done;
    const int64_t whole = kernel_.whole_sums(live.part->n_pairs);
    if (whole <= done) return done;
    kernel_.score(live.part->family, panel.first_row, panel.rows, live.keys_from_here,
                  std::max<int64_t>(done, 0), whole, done < 0 ? nullptr : begun_, begun_, kTile);
    return whole;
  }

  // Scores of a part, each row's own keys alone, where other parts' stand between them.
  void choose_keys(const LivePart& live, const Panel& panel, const WalkRectangle& own, int64_t tile,
                   int64_t t, const KeyInterval& keys, int64_t done, uint8_t bit) {
    const float* sums = begun_;
    if (done != live.part->n_pairs || live.part->kind != WalkPart::Kind::kBranch) {
      score_keys(*live.part, panel, tile, keys, done, cut_, kTile);
      sums = cut_;
    }
    find_bits(live, panel, own);
    kernel_.choose(panel.first_row, panel.rows, t, sums,
                   {bits_.data(), keys, (seen_[panel.index] & bit) == 0});
  }

  // Fills bits_, of each row of the panel.
  void find_bits(const LivePart& live, const Panel& panel, const WalkRectangle& own) {
    const int64_t n_tokens = own.last_row - own.first_row + 1;
    if (group_ == 1)
      return walk_.key_bits(*live.part, own, live.ends, std::span(bits_).first(n_tokens));
    walk_.key_bits(*live.part, own, live.ends, std::span(of_tokens_).first(n_tokens));
    int64_t row = 0;
    int64_t end_of_token = group_ - panel.first_row % group_;
    for (int64_t token = 0; token < n_tokens; ++token, end_of_token += group_) {
      for (; row < std::min(end_of_token, panel.rows); ++row) bits_[row] = of_tokens_[token];
    }
  }

  const AttentionWalk& walk_;
  const AttentionBlock<Element>& block_;
  Kernel kernel_;
  const int64_t group_;
  const int64_t rows_;
  const int64_t first_;  // positions of the block's first and last row
  const int64_t last_;
  LivePart* live_;
  bool* turned_;   // (families)
  uint8_t* seen_;  // (panels) bit t: the panel sees something of tile t of those held together
  float* begun_;   // (kPanelRows, kTile) sums that parts of a family share
  float* cut_;     // (kPanelRows, kTile)
  std::array<uint64_t, kPanelRows> of_tokens_;  // of a cut panel, in the part in hand
  std::array<uint64_t, kPanelRows> bits_;       // the same by row: see ChosenKeys
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_PASS_H_
