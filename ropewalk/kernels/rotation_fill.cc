// The kernels lie in rotation_fill-inl.h, compiled once per SIMD target.
#include "ropewalk/kernels/rotation_fill.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/rotation_fill.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/rotation_fill-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(column);
HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_bf16);
HWY_EXPORT(rows_f16);
HWY_EXPORT(rows_f64);
HWY_EXPORT(between_f32);
HWY_EXPORT(between_bf16);
HWY_EXPORT(between_f16);
HWY_EXPORT(between_f64);

namespace {

constexpr int64_t kShortestRun = 8;
constexpr size_t kLoneMultiple = 8;

bool is_whole(DoubleDouble position) {
  return position.lo == 0 && std::fabs(position.hi) < 0x1p53 &&
         position.hi == static_cast<double>(static_cast<int64_t>(position.hi));
}

// How many positions from `first` on are integers that rise by one.
int64_t run_length(std::span<const DoubleDouble> positions, size_t first) {
  if (!is_whole(positions[first])) return 0;
  size_t next = first + 1;
  while (next < positions.size() && positions[next].lo == 0 &&
         positions[next].hi == positions[next - 1].hi + 1) {
    ++next;
  }
  return static_cast<int64_t>(next - first);
}

}  // namespace

SplitPosition::SplitPosition(DoubleDouble position) : start(position.hi), start_lo(position.lo) {
  if (is_whole(position)) *this = SplitPosition(static_cast<int64_t>(position.hi));
}

ColumnPlan::ColumnPlan(std::span<const DoubleDouble> positions) {
  size_t r = 0;
  while (r < positions.size()) {
    const int64_t length = run_length(positions, r);
    if (length >= kShortestRun) {
      runs.push_back({static_cast<int64_t>(r), static_cast<int64_t>(positions[r].hi), length});
      r += static_cast<size_t>(length);
      continue;
    }
    const SplitPosition split(positions[r]);
    rows.push_back(static_cast<int64_t>(r));
    start.push_back(split.start);
    start_lo.push_back(split.start_lo);
    step.push_back(split.step);
    ++r;
  }
  const size_t padded = (rows.size() + kLoneMultiple - 1) / kLoneMultiple * kLoneMultiple;
  for (std::vector<double>* part : {&start, &start_lo, &step}) part->resize(padded);
}

void fill_column(const ColumnPlan& plan, DoubleDouble turns, double amplitude, float* cos,
                 float* sin) noexcept {
  HWY_DYNAMIC_DISPATCH(column)(plan, turns, amplitude, cos, sin);
}

template <>
void fill_rows(const RowBlock& block, float* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(rows_f32)(block, entries);
}
template <>
void fill_rows(const RowBlock& block, Bf16* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(rows_bf16)(block, entries);
}
template <>
void fill_rows(const RowBlock& block, F16* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(rows_f16)(block, entries);
}
template <>
void fill_rows(const RowBlock& block, double* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(rows_f64)(block, entries);
}

template <>
void fill_rows_between(const RowBlock& from, const RowBlock& to, float* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(between_f32)(from, to, entries);
}
template <>
void fill_rows_between(const RowBlock& from, const RowBlock& to, Bf16* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(between_bf16)(from, to, entries);
}
template <>
void fill_rows_between(const RowBlock& from, const RowBlock& to, F16* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(between_f16)(from, to, entries);
}
template <>
void fill_rows_between(const RowBlock& from, const RowBlock& to, double* entries) noexcept {
  HWY_DYNAMIC_DISPATCH(between_f64)(from, to, entries);
}

}  // namespace ropewalk
#endif  // HWY_ONCE
