// Decoding one query by cache, map, keys and threads: 8 heads of 128. Counters: bytes of keys and
// values a second, and their share of only reading as many; flops of both products a second, and
// their share of the FMA peak of the threads.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/attention_case.h"
#include "bench/roofline.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kHeads = 8;

// A cache of `n_tokens` whose tiles all hold the same numbers.
template <typename Element>
KvTiles<Element> cache(const AttentionCase& tile, int64_t n_tokens) {
  KvTiles<Element> kv(kHeads, kHeadDim, n_tokens);
  for (int64_t first = 0; first < n_tokens; first += kTile) {
    kv.store(first, std::min(kTile, n_tokens - first), tile.keys.data(), tile.values.data());
  }
  return kv;
}

template <typename Element>
void run(benchmark::State& state, const std::string& scheme) {
  const int64_t n_tokens = state.range(0);
  const auto threads = static_cast<int>(state.range(1));
  omp_set_num_threads(threads);
  AttentionCase tile(kTile, kHeads);
  const KvTiles<Element> kv = cache<Element>(tile, n_tokens);
  DecodeRotations rotations(rotary_of(scheme), n_tokens, AngleMode::kExact);
  rotations.stand_at(n_tokens - 1);
  DecodeWorkspace workspace;
  for (auto _ : state) {
    decode<Element>(rotations, kv, kHeads, tile.queries.data(), tile.row_scale[0], tile.out.data(),
                    workspace);
  }
  static const double peak = peak_flops(Multiplier::kFma);
  using benchmark::Counter;
  const auto rate = [&](double each) {
    return Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
  };
  const auto numbers = static_cast<double>(2 * n_tokens * kHeads * kHeadDim);
  const double bytes = numbers * sizeof(Element);
  state.counters["bytes/s"] = rate(bytes);
  state.counters["of_read"] =
      rate(bytes / read_bytes_per_second(static_cast<size_t>(bytes), threads));
  state.counters["flop/s"] = rate(2 * numbers);
  if (peak > 0) state.counters["of_peak"] = rate(2 * numbers / peak / threads);
}

template <typename Element>
void add(const std::string& type, const std::string& scheme) {
  benchmark::RegisterBenchmark(("decode/" + type + "/" + scheme).c_str(),
                               [scheme](benchmark::State& state) { run<Element>(state, scheme); })
      ->ArgsProduct({{4, 64, 512, 4096, 32768, 131072}, {1, 2}})
      ->ArgNames({"keys", "threads"})
      ->UseRealTime();
}

const bool added = [] {
  for (const char* scheme : {"declared", "cap,window=1024", "self_extend,window=1024,group=8",
                             "full_turn", "log_tail,window=1024,pieces=4,at=131072"}) {
    add<float>("float32", scheme);
    add<Bf16>("bf16", scheme);
  }
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
