// The plain way to fill a table, which benchmarks of tables stand beside.
#ifndef ROPEWALK_BENCH_TABLE_CASE_H_
#define ROPEWALK_BENCH_TABLE_CASE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "ropewalk/math/spectrum.h"

namespace ropewalk::bench {

// A loop of libm's double sine and cosine over rounded angles: (rows, n_pairs) of each.
struct LibmTable {
  std::vector<double> inv_freq;
  std::vector<double> cos;
  std::vector<double> sin;

  LibmTable(const Spectrum& spectrum, int64_t rows)
      : inv_freq(spectrum.inv_freq()), cos(inv_freq.size() * static_cast<size_t>(rows)), sin(cos) {}

  __attribute__((noinline)) void fill(int64_t first) {
    const size_t n_pairs = inv_freq.size();
    for (size_t r = 0; r < cos.size() / n_pairs; ++r) {
      const auto position = static_cast<double>(first + static_cast<int64_t>(r));
      for (size_t pair = 0; pair < n_pairs; ++pair) {
        const double angle = position * inv_freq[pair];
        sincos(angle, &sin[r * n_pairs + pair], &cos[r * n_pairs + pair]);
      }
    }
  }
};

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_TABLE_CASE_H_
