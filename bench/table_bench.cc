// Tables of 64 pairs by type, kind of positions, rows and threads. Counters: entries a second, how
// many times those of a loop of libm's sincos over the same positions, one thread; and the bytes
// written, as a share of what copying writes.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "bench/roofline.h"
#include "bench/table_case.h"
#include "ropewalk/kernels/rotation_rows.h"
#include "ropewalk/kernels/rotation_table.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kPairs = 64;
constexpr int64_t kFirst = 100000;

const Spectrum& spectrum() {
  static const Spectrum made = rope_spectrum(5e5, 2 * kPairs, kPairs);
  return made;
}

// Seconds an entry by the clock, least of 5.
double libm_seconds(int64_t rows) {
  static std::map<int64_t, double> known;
  const auto found = known.find(rows);
  if (found != known.end()) return found->second;
  LibmTable table(spectrum(), rows);
  double least = 1;
  for (int k = 0; k < 5; ++k) {
    const auto start = std::chrono::steady_clock::now();
    table.fill(kFirst);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return known[rows] = least / static_cast<double>(2 * rows * kPairs);
}

template <typename Fill>
void run(benchmark::State& state, size_t entry_bytes, const Fill& fill) {
  const int64_t rows = state.range(0);
  const auto threads = static_cast<int>(state.range(1));
  omp_set_num_threads(threads);
  for (auto _ : state) fill();
  using benchmark::Counter;
  const auto rate = [&](double each) {
    return Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
  };
  const auto entries = static_cast<double>(2 * rows * kPairs);
  const double bytes = entries * static_cast<double>(entry_bytes);
  state.counters["entries/s"] = rate(entries);
  state.counters["times_libm"] = rate(entries * libm_seconds(rows));
  state.counters["bytes/s"] = rate(bytes);
  state.counters["of_copy"] =
      rate(2 * bytes / bytes_per_second(Move::kCopy, static_cast<size_t>(bytes), threads));
}

std::vector<DoubleDouble> scattered(int64_t rows) {
  std::vector<DoubleDouble> positions;
  for (int64_t r = 0; r < rows; ++r)
    positions.emplace_back(static_cast<double>(kFirst + r * 7919 % 100003));
  return positions;
}

void shape(benchmark::internal::Benchmark* added) {
  added->ArgsProduct({{16, 128, 2048, 32768}, {1, 2}})->ArgNames({"rows", "threads"});
  added->UseRealTime();
}

template <typename Element>
void add(const std::string& type) {
  shape(benchmark::RegisterBenchmark(
      ("table/rows/" + type + "/range").c_str(), [](benchmark::State& state) {
        RotationRows<Element> table(kPairs, state.range(0));
        run(state, sizeof(Element), [&] {
          fill_rotation_rows(spectrum(), RowPositions::range(kFirst, table.n_rows),
                             TableAmplitude::kApplied, 0, table);
        });
      }));
  shape(benchmark::RegisterBenchmark(
      ("table/rows/" + type + "/list").c_str(), [](benchmark::State& state) {
        RotationRows<Element> table(kPairs, state.range(0));
        const auto positions = scattered(table.n_rows);
        run(state, sizeof(Element), [&] {
          fill_rotation_rows(spectrum(), RowPositions::list(positions), TableAmplitude::kApplied, 0,
                             table);
        });
      }));
}

void columns(benchmark::State& state, bool in_turn) {
  RotationTable table(kPairs, state.range(0));
  std::vector<DoubleDouble> positions = scattered(table.n_rows);
  if (in_turn) {
    for (int64_t r = 0; r < table.n_rows; ++r) positions[r] = kFirst + r;
  }
  run(state, sizeof(float),
      [&] { fill_rotation_table(spectrum(), AngleMode::kExact, positions, 0, table); });
}

const bool added = [] {
  add<float>("float32");
  add<Bf16>("bf16");
  add<F16>("f16");
  add<double>("float64");
  shape(benchmark::RegisterBenchmark("table/by_pairs/float32/range",
                                     [](benchmark::State& state) { columns(state, true); }));
  shape(benchmark::RegisterBenchmark("table/by_pairs/float32/list",
                                     [](benchmark::State& state) { columns(state, false); }));
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
