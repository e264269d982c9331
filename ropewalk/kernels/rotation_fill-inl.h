// Columns and rows of tables, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ROTATION_FILL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ROTATION_FILL_INL_H_
#undef ROPEWALK_KERNELS_ROTATION_FILL_INL_H_
#else
#define ROPEWALK_KERNELS_ROTATION_FILL_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "ropewalk/kernels/elements-inl.h"
#include "ropewalk/kernels/phasor-inl.h"
#include "ropewalk/kernels/rotation_fill.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

// A product of two phasors is off by 2^-50 at most; an entry of this size so by 2^-34 of itself.
constexpr double kSmallEntry = 0x1p-16;

// start times step, which carries the amplitude.
HWY_INLINE void multiply(DoubleVec start_cos, DoubleVec start_sin, DoubleVec step_cos,
                         DoubleVec step_sin, DoubleVec& cosine, DoubleVec& sine) {
  cosine = hn::NegMulAdd(start_sin, step_sin, hn::Mul(start_cos, step_cos));
  sine = hn::MulAdd(start_cos, step_sin, hn::Mul(start_sin, step_cos));
}

// What |cos * sin| of entries falls below where one is small; never both are. A pair that stands
// still has its 0 already.
HWY_INLINE DoubleVec small_bound(DoubleVec turns, double amplitude) {
  const DoubleTag tag;
  return hn::IfThenElse(hn::Eq(turns, hn::Zero(tag)), hn::Set(tag, -1.0),
                        hn::Set(tag, amplitude * amplitude * kSmallEntry));
}

HWY_INLINE hn::Mask<DoubleTag> is_small(DoubleVec cosine, DoubleVec sine, DoubleVec bound) {
  return hn::Lt(hn::Abs(hn::Mul(cosine, sine)), bound);
}

// Makes entries of which one is small straight from their position.
HWY_INLINE void mend_small(DoubleVec position, DoubleVec position_lo, DoubleVec turns,
                           DoubleVec turns_lo, double amplitude, DoubleVec bound, DoubleVec& cosine,
                           DoubleVec& sine) {
  const auto small = is_small(cosine, sine, bound);
  if (HWY_LIKELY(hn::AllFalse(DoubleTag(), small))) return;
  const DoubleVec factor = hn::Set(DoubleTag(), amplitude);
  DoubleVec straight_cos, straight_sin;
  cos_sin(position, position_lo, turns, turns_lo, straight_cos, straight_sin);
  cosine = hn::IfThenElse(small, hn::Mul(straight_cos, factor), cosine);
  sine = hn::IfThenElse(small, hn::Mul(straight_sin, factor), sine);
}

// Entries with no neighbours to share a phasor with.
HWY_INLINE void lone_entries(DoubleVec start, DoubleVec start_lo, DoubleVec step, DoubleVec turns,
                             DoubleVec turns_lo, double amplitude, DoubleVec& cosine,
                             DoubleVec& sine) {
  const DoubleTag tag;
  const DoubleVec factor = hn::Set(tag, amplitude);
  DoubleVec start_cos, start_sin, step_cos, step_sin;
  cos_sin(start, start_lo, turns, turns_lo, start_cos, start_sin);
  cos_sin(step, hn::Zero(tag), turns, turns_lo, step_cos, step_sin);
  multiply(start_cos, start_sin, hn::Mul(step_cos, factor), hn::Mul(step_sin, factor), cosine,
           sine);
  mend_small(hn::Add(start, step), start_lo, turns, turns_lo, amplitude,
             small_bound(turns, amplitude), cosine, sine);
}

template <typename Element>
HWY_INLINE void store_entries(DoubleVec value, Element* to) {
  const hn::Rebind<float, DoubleTag> floats;
  store_elements(hn::DemoteTo(floats, value), floats, to);
}
HWY_INLINE void store_entries(DoubleVec value, double* to) { hn::StoreU(value, DoubleTag(), to); }

class Column {
 public:
  Column(DoubleDouble turns, double amplitude, float* cos, float* sin)
      : turns_(turns), amplitude_(amplitude), cos_(cos), sin_(sin) {
    const DoubleTag tag;
    const DoubleVec factor = hn::Set(tag, amplitude);
    for (size_t k = 0; k < kPhasorTile; k += hn::Lanes(tag)) {
      DoubleVec cosine, sine;
      phasors(hn::Iota(tag, static_cast<double>(k)), cosine, sine);
      hn::Store(hn::Mul(cosine, factor), tag, step_cos_ + k);
      hn::Store(hn::Mul(sine, factor), tag, step_sin_ + k);
    }
  }

  void fill(const ColumnPlan::Run& run) {
    const DoubleTag tag;
    const int64_t end = run.first + run.count;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
    HWY_ALIGN double start_cos[hn::MaxLanes(DoubleTag())];
    HWY_ALIGN double start_sin[hn::MaxLanes(DoubleTag())];
    // Tiles of kPhasorTile positions from a multiple of it on; as many starts at once as a vector has.
    const int64_t misplaced = (run.first % kPhasorTile + kPhasorTile) % kPhasorTile;
    for (int64_t first = run.first - misplaced; first < end; first += lanes * kPhasorTile) {
      DoubleVec cosine, sine;
      const DoubleVec spacing = hn::Set(tag, static_cast<double>(kPhasorTile));
      phasors(hn::MulAdd(hn::Iota(tag, 0.0), spacing, hn::Set(tag, static_cast<double>(first))),
              cosine, sine);
      hn::Store(cosine, tag, start_cos);
      hn::Store(sine, tag, start_sin);
      for (int64_t t = 0; t < lanes && first + t * kPhasorTile < end; ++t) {
        const int64_t start = first + t * kPhasorTile;
        const int64_t row = run.row + start - run.first;
        if (start >= run.first && start + kPhasorTile <= end) {
          fill_tile(start, start_cos[t], start_sin[t], cos_ + row, sin_ + row);
          continue;
        }
        float cos[kPhasorTile];
        float sin[kPhasorTile];
        fill_tile(start, start_cos[t], start_sin[t], cos, sin);
        const int64_t from = std::max(run.first, start) - start;
        const int64_t to = std::min(end, start + kPhasorTile) - start;
        std::copy(cos + from, cos + to, cos_ + row + from);
        std::copy(sin + from, sin + to, sin_ + row + from);
      }
    }
  }

  void fill_lone(const ColumnPlan& plan) {
    const DoubleTag tag;
    const size_t lanes = hn::Lanes(tag);
    float cos[hn::MaxLanes(DoubleTag())];
    float sin[hn::MaxLanes(DoubleTag())];
    for (size_t x = 0; x < plan.rows.size(); x += lanes) {
      DoubleVec cosine, sine;
      lone_entries(hn::LoadU(tag, plan.start.data() + x), hn::LoadU(tag, plan.start_lo.data() + x),
                   hn::LoadU(tag, plan.step.data() + x), hn::Set(tag, turns_.hi),
                   hn::Set(tag, turns_.lo), amplitude_, cosine, sine);
      // Rows rise: these follow each other where the last is no farther than that.
      const size_t last = x + lanes - 1;
      if (last < plan.rows.size() &&
          plan.rows[last] - plan.rows[x] == static_cast<int64_t>(lanes - 1)) {
        store_entries(cosine, cos_ + plan.rows[x]);
        store_entries(sine, sin_ + plan.rows[x]);
        continue;
      }
      store_entries(cosine, cos);
      store_entries(sine, sin);
      for (size_t k = 0; k < lanes && x + k < plan.rows.size(); ++k) {
        cos_[plan.rows[x + k]] = cos[k];
        sin_[plan.rows[x + k]] = sin[k];
      }
    }
  }

 private:
  void phasors(DoubleVec position, DoubleVec& cosine, DoubleVec& sine) const {
    const DoubleTag tag;
    cos_sin(position, hn::Zero(tag), hn::Set(tag, turns_.hi), hn::Set(tag, turns_.lo), cosine,
            sine);
  }

  void fill_tile(int64_t start, double start_cos, double start_sin, float* cos, float* sin) const {
    const DoubleTag tag;
    const DoubleVec turns = hn::Set(tag, turns_.hi);
    const DoubleVec turns_lo = hn::Set(tag, turns_.lo);
    const DoubleVec bound = small_bound(turns, amplitude_);
    const DoubleVec first_cos = hn::Set(tag, start_cos);
    const DoubleVec first_sin = hn::Set(tag, start_sin);
    for (size_t k = 0; k < kPhasorTile; k += hn::Lanes(tag)) {
      DoubleVec cosine, sine;
      multiply(first_cos, first_sin, hn::Load(tag, step_cos_ + k), hn::Load(tag, step_sin_ + k),
               cosine, sine);
      mend_small(hn::Iota(tag, static_cast<double>(start + static_cast<int64_t>(k))), hn::Zero(tag),
                 turns, turns_lo, amplitude_, bound, cosine, sine);
      store_entries(cosine, cos + k);
      store_entries(sine, sin + k);
    }
  }

  DoubleDouble turns_;
  double amplitude_;
  float* cos_;
  float* sin_;
  HWY_ALIGN double step_cos_[kPhasorTile];
  HWY_ALIGN double step_sin_[kPhasorTile];
};

void column(const ColumnPlan& plan, DoubleDouble turns, double amplitude, float* cos, float* sin) {
  Column column(turns, amplitude, cos, sin);
  for (const ColumnPlan::Run& run : plan.runs) column.fill(run);
  column.fill_lone(plan);
}

// kPairMultiple pairs of every row: the phasors of the steps are made once each, that of a start
// where it changes.
template <typename Element>
class PairStrip {
 public:
  PairStrip(const RowBlock& block, int64_t first_pair, Element* entries)
      : block_(block), pair_(first_pair), entries_(entries + first_pair) {}

  void fill() {
    const SplitPosition* const positions = block_.positions;
    int64_t r = 0;
    while (r < block_.n_rows) {
      const SplitPosition& first = positions[r];
      make(first.start, first.start_lo, 1, start_cos_, start_sin_);
      while (r < block_.n_rows && same_start(positions[r], first)) {
        int64_t next = r;
        do {
          make_step(positions[next].step);
          ++next;
        } while (next < block_.n_rows && same_start(positions[next], first) &&
                 positions[next].step == positions[next - 1].step + 1);
        fill_steps(r, next - r);
        r = next;
      }
    }
  }

  // Pairs of several axes; or entries that must be right to more than floats are.
  void fill_lone() {
    const DoubleTag tag;
    HWY_ALIGN double start[kPairMultiple];
    HWY_ALIGN double start_lo[kPairMultiple];
    HWY_ALIGN double step[kPairMultiple];
    for (int64_t r = 0; r < block_.n_rows; ++r) {
      for (int64_t x = 0; x < kPairMultiple; ++x) {
        const int64_t axis = block_.axis == nullptr ? 0 : block_.axis[pair_ + x];
        const SplitPosition& position = block_.positions[r * block_.n_axes + axis];
        start[x] = position.start;
        start_lo[x] = position.start_lo;
        step[x] = position.step;
      }
      for (size_t x = 0; x < kPairMultiple; x += hn::Lanes(tag)) {
        DoubleVec cosine, sine;
        entries_at(hn::Load(tag, start + x), hn::Load(tag, start_lo + x), hn::Load(tag, step + x),
                   turns(x), turns_lo(x), cosine, sine);
        store_entries(cosine, row(r) + x);
        store_entries(sine, row(r) + block_.n_pairs + x);
      }
    }
  }

 private:
  DoubleVec turns(size_t x) const { return hn::Load(DoubleTag(), block_.turns + pair_ + x); }
  DoubleVec turns_lo(size_t x) const { return hn::Load(DoubleTag(), block_.turns_lo + pair_ + x); }
  Element* row(int64_t r) const { return entries_ + r * 2 * block_.n_pairs; }

  void entries_at(DoubleVec start, DoubleVec start_lo, DoubleVec step, DoubleVec turns,
                  DoubleVec turns_lo, DoubleVec& cosine, DoubleVec& sine) const {
    if constexpr (std::is_same_v<Element, double>) {
      const DoubleVec amplitude = hn::Set(DoubleTag(), block_.amplitude);
      cos_sin_precise(hn::Add(start, step), start_lo, turns, turns_lo, cosine, sine);
      cosine = hn::Mul(cosine, amplitude);
      sine = hn::Mul(sine, amplitude);
    } else {
      lone_entries(start, start_lo, step, turns, turns_lo, block_.amplitude, cosine, sine);
    }
  }

  void make(double position, double position_lo, double amplitude, double* cos, double* sin) const {
    const DoubleTag tag;
    const DoubleVec factor = hn::Set(tag, amplitude);
    for (size_t x = 0; x < kPairMultiple; x += hn::Lanes(tag)) {
      DoubleVec cosine, sine;
      cos_sin(hn::Set(tag, position), hn::Set(tag, position_lo), turns(x), turns_lo(x), cosine,
              sine);
      hn::Store(hn::Mul(cosine, factor), tag, cos + x);
      hn::Store(hn::Mul(sine, factor), tag, sin + x);
    }
  }

  static bool same_start(const SplitPosition& a, const SplitPosition& b) {
    return a.start == b.start && a.start_lo == b.start_lo;
  }

  void make_step(double step) {
    const auto k = static_cast<uint32_t>(step);
    if ((made_ >> k & 1) != 0) return;
    make(step, 0, block_.amplitude, step_cos_[k], step_sin_[k]);
    made_ |= uint32_t{1} << k;
  }

  // `count` rows from r on: steps that rise by one from the start in hand.
  void fill_steps(int64_t r, int64_t count) const {
    const DoubleTag tag;
    const SplitPosition position = block_.positions[r];
    const auto k = static_cast<size_t>(position.step);
    const double amplitude = block_.amplitude;
    const int64_t n_pairs = block_.n_pairs;
    for (size_t x = 0; x < kPairMultiple; x += hn::Lanes(tag)) {
      const DoubleVec speed = turns(x);
      const DoubleVec speed_lo = turns_lo(x);
      const DoubleVec bound = small_bound(speed, amplitude);
      const DoubleVec first_cos = hn::Load(tag, start_cos_ + x);
      const DoubleVec first_sin = hn::Load(tag, start_sin_ + x);
      const double* step_cos = step_cos_[k] + x;
      const double* step_sin = step_sin_[k] + x;
      Element* out = row(r) + x;
      for (int64_t n = 0; n < count; ++n) {
        DoubleVec cosine, sine;
        multiply(first_cos, first_sin, hn::Load(tag, step_cos), hn::Load(tag, step_sin), cosine,
                 sine);
        mend_small(hn::Set(tag, position.start + position.step + static_cast<double>(n)),
                   hn::Set(tag, position.start_lo), speed, speed_lo, amplitude, bound, cosine,
                   sine);
        store_entries(cosine, out);
        store_entries(sine, out + n_pairs);
        step_cos += kPairMultiple;
        step_sin += kPairMultiple;
        out += 2 * n_pairs;
      }
    }
  }

  const RowBlock& block_;
  const int64_t pair_;
  Element* const entries_;
  uint32_t made_ = 0;  // a bit for each step
  HWY_ALIGN double start_cos_[kPairMultiple];
  HWY_ALIGN double start_sin_[kPairMultiple];
  HWY_ALIGN double step_cos_[kPhasorTile][kPairMultiple];
  HWY_ALIGN double step_sin_[kPhasorTile][kPairMultiple];
};

template <typename Element>
HWY_INLINE void rows(const RowBlock& block, Element* entries) {
  for (int64_t pair = 0; pair < block.n_pairs; pair += kPairMultiple) {
    PairStrip<Element> strip(block, pair, entries);
    if (block.axis != nullptr || std::is_same_v<Element, double>) {
      strip.fill_lone();
    } else {
      strip.fill();
    }
  }
}

// Positions of kPairMultiple pairs, each by its axis, and their turns per token.
class PairPositions {
 public:
  PairPositions(const RowBlock& block, int64_t first_pair) : block_(block), pair_(first_pair) {}

  void stand_at(int64_t row) {
    for (int64_t x = 0; x < kPairMultiple; ++x) {
      const int64_t axis = block_.axis == nullptr ? 0 : block_.axis[pair_ + x];
      const SplitPosition& position = block_.positions[row * block_.n_axes + axis];
      position_[x] = position.start + position.step;
      position_lo_[x] = position.start_lo;
    }
  }

  // The angles of pairs x, x + 1, ..., reduced.
  void turn(size_t x, DoubleVec& high, DoubleVec& rest, DoubleVec& quarters) const {
    const DoubleTag tag;
    reduce(hn::Load(tag, position_ + x), hn::Load(tag, position_lo_ + x),
           hn::Load(tag, block_.turns + pair_ + x), hn::Load(tag, block_.turns_lo + pair_ + x),
           high, rest, quarters);
  }

 private:
  const RowBlock& block_;
  const int64_t pair_;
  HWY_ALIGN double position_[kPairMultiple];
  HWY_ALIGN double position_lo_[kPairMultiple];
};

// Turns of `to` less those of `from`; the amplitude is that of `to`.
template <typename Element>
HWY_INLINE void rows_between(const RowBlock& from, const RowBlock& to, Element* entries) {
  const DoubleTag tag;
  const DoubleVec amplitude = hn::Set(tag, to.amplitude);
  for (int64_t pair = 0; pair < to.n_pairs; pair += kPairMultiple) {
    PairPositions before(from, pair);
    PairPositions after(to, pair);
    for (int64_t r = 0; r < to.n_rows; ++r) {
      before.stand_at(r);
      after.stand_at(r);
      Element* const out = entries + r * 2 * to.n_pairs + pair;
      for (size_t x = 0; x < kPairMultiple; x += hn::Lanes(tag)) {
        DoubleVec from_high, from_rest, from_quarters, high, rest, quarters, cosine, sine;
        before.turn(x, from_high, from_rest, from_quarters);
        after.turn(x, high, rest, quarters);
        reduce_difference(from_high, from_rest, from_quarters, high, rest, quarters);
        if constexpr (std::is_same_v<Element, double>) {
          cos_sin_precise_of_reduced(high, rest, quarters, cosine, sine);
        } else {
          cos_sin_of_reduced(high, rest, quarters, cosine, sine);
        }
        store_entries(hn::Mul(cosine, amplitude), out + x);
        store_entries(hn::Mul(sine, amplitude), out + to.n_pairs + x);
      }
    }
  }
}

void between_f32(const RowBlock& from, const RowBlock& to, float* out) {
  rows_between(from, to, out);
}
void between_bf16(const RowBlock& from, const RowBlock& to, Bf16* out) {
  rows_between(from, to, out);
}
void between_f16(const RowBlock& from, const RowBlock& to, F16* out) {
  rows_between(from, to, out);
}
void between_f64(const RowBlock& from, const RowBlock& to, double* out) {
  rows_between(from, to, out);
}

void rows_f32(const RowBlock& block, float* entries) { rows(block, entries); }
void rows_bf16(const RowBlock& block, Bf16* entries) { rows(block, entries); }
void rows_f16(const RowBlock& block, F16* entries) { rows(block, entries); }
void rows_f64(const RowBlock& block, double* entries) { rows(block, entries); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
