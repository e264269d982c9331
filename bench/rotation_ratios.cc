// rotate() beside memcpy of the same bytes and scaling in place, tables beside a loop of libm's
// sincos: medians, with ranges, of runs that take turns in one process, by the CPU time of one
// thread.
//
// usage: rotation_ratios [rounds]
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/roofline.h"
#include "bench/rotate_case.h"
#include "bench/table_case.h"
#include "ropewalk/kernels/rotation_rows.h"
#include "ropewalk/kernels/rotation_table.h"

namespace ropewalk::bench {
namespace {

struct Row {
  std::string name;
  size_t beside;  // the row whose time is divided by this one's
  std::function<void()> run;
  std::vector<double> seconds = {};
};

// Each round takes every row `repeats` times, once before it is timed.
void take(const std::string& title, std::vector<Row> rows, double amount, const char* unit,
          int repeats, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      if (repeats > 1) row.run();
      const double start = thread_seconds();
      for (int k = 0; k < repeats; ++k) row.run();
      row.seconds.push_back((thread_seconds() - start) / repeats);
    }
  }
  std::printf("%s\n", title.c_str());
  const auto middle = [](std::vector<double> numbers) {
    std::ranges::sort(numbers);
    return numbers[numbers.size() / 2];
  };
  for (const Row& row : rows) {
    std::vector<double> ratios;
    for (size_t k = 0; k < row.seconds.size(); ++k)
      ratios.push_back(rows[row.beside].seconds[k] / row.seconds[k]);
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("  %-28s %8.2f %s  %5.2f (%.2f to %.2f) of %s\n", row.name.c_str(),
                amount / middle(row.seconds), unit, middle(ratios), least, most,
                rows[row.beside].name.c_str());
  }
}

template <typename Element>
void compare_rotation(const char* type, int64_t tokens, int64_t dim, int rounds) {
  RotateCase<Element> halves(tokens, 32, dim, PairOrder::kHalf);
  RotateCase<Element> beside(tokens, 32, dim, PairOrder::kInterleaved);
  AlignedBuffer<float> scaled(halves.bytes() / sizeof(float));
  const auto repeats = static_cast<int>(std::max<int64_t>(1, 1024 / tokens));
  take(std::string(type) + ", head_dim " + std::to_string(dim) + ", 32 heads, " +
           std::to_string(tokens) + " tokens",
       {{"memcpy", 0,
         [&] {
           std::memcpy(halves.out.data(), halves.in.data(), halves.bytes());
           asm volatile("" : : : "memory");
         }},
        {"scale in place", 0, [&] { scale(scaled.data(), scaled.size(), 1.0000001F); }},
        {"halves, apart", 0, [&] { halves.turn_apart(); }},
        {"interleaved, apart", 0, [&] { beside.turn_apart(); }},
        {"halves, in place", 1, [&] { halves.turn_in_place(); }},
        {"interleaved, in place", 1, [&] { beside.turn_in_place(); }},
        {"halves, in place", 0, [&] { halves.turn_in_place(); }},
        {"interleaved, in place", 0, [&] { beside.turn_in_place(); }}},
       2e-9 * static_cast<double>(halves.bytes()), "GB/s", repeats, rounds);
}

void compare_tables(double base, int64_t first, int rounds) {
  constexpr int64_t kRows = 2048, kPairs = 64;
  const Spectrum spectrum = rope_spectrum(base, 2 * kPairs, kPairs);
  LibmTable libm(spectrum, kRows);
  std::vector<DoubleDouble> in_turn, scattered;
  for (int64_t r = 0; r < kRows; ++r) {
    in_turn.emplace_back(static_cast<double>(first + r));
    scattered.emplace_back(static_cast<double>(first + r * 7919 % 100003));
  }
  RotationRows<float> floats(kPairs, kRows);
  RotationRows<Bf16> bf16(kPairs, kRows);
  RotationRows<double> doubles(kPairs, kRows);
  RotationTable by_pairs(kPairs, kRows);
  const auto fill = [&](auto& table, const RowPositions& positions) {
    fill_rotation_rows(spectrum, positions, TableAmplitude::kApplied, 0, table);
  };
  const RowPositions range = RowPositions::range(first, kRows);
  char title[80];
  std::snprintf(title, sizeof(title), "tables, base %g, from %lld on", base,
                static_cast<long long>(first));
  take(title,
       {{"libm sincos", 0, [&] { libm.fill(first); }},
        {"float32 rows, range", 0, [&] { fill(floats, range); }},
        {"float32 rows, list", 0, [&] { fill(floats, RowPositions::list(scattered)); }},
        {"bf16 rows, range", 0, [&] { fill(bf16, range); }},
        {"float64 rows, range", 0, [&] { fill(doubles, range); }},
        {"float32 by pairs, range", 0,
         [&] { fill_rotation_table(spectrum, AngleMode::kExact, in_turn, 0, by_pairs); }},
        {"float32 by pairs, list", 0,
         [&] { fill_rotation_table(spectrum, AngleMode::kExact, scattered, 0, by_pairs); }}},
       2e-6 * static_cast<double>(kRows * kPairs), "M entries/s", 4, rounds);
}

}  // namespace
}  // namespace ropewalk::bench

int main(int argc, char** argv) {
  using namespace ropewalk::bench;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  if (rounds < 1) return 2;
  omp_set_num_threads(1);
  for (const int64_t dim : {64, 128}) {
    for (const int64_t tokens : {16, 2048}) {
      compare_rotation<float>("float32", tokens, dim, rounds);
      compare_rotation<ropewalk::Bf16>("bf16", tokens, dim, rounds);
      compare_rotation<ropewalk::F16>("f16", tokens, dim, rounds);
    }
  }
  for (const double base : {1e4, 1e9}) {
    for (const int64_t first : {0, 1000000}) compare_tables(base, first, rounds);
  }
  return 0;
}
