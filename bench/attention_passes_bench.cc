// What follows a prefill, by map, size and threads: its gradients, and its statistics by distance, 8
// heads of 128. Counters: flops a second of the products that a causal mask leaves, and their share
// of the FMA peak of the threads; bytes of what is read and written a second.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/attention_case.h"
#include "bench/peaks.h"
#include "ropewalk/kernels/attention_backward.h"
#include "ropewalk/kernels/attention_statistics.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kHeads = 8;

struct PassCase {
  AttentionCase inputs;
  KvTiles<float> kv;
  Rotations rotations;
  std::vector<float> log_sum_exp;  // (n_tokens, kHeads)

  PassCase(const std::string& scheme, int64_t n_tokens)
      : inputs(n_tokens, kHeads),
        kv(inputs.tiles<float>()),
        rotations(rotary_of(scheme), n_tokens, 0, n_tokens, AngleMode::kExact) {
    // About what logits that are standard normal sum to, sooner than by a forward pass.
    for (int64_t k = 0; k < n_tokens * kHeads; ++k) {
      log_sum_exp.push_back(0.5F + std::log(static_cast<float>(k / kHeads + 1)));
    }
  }

  AttentionForward forward() const {
    return {.rotations = &rotations,
            .kv = &kv,
            .n_heads = kHeads,
            .queries = inputs.queries.data(),
            .row_scale = inputs.row_scale,
            .log_sum_exp = log_sum_exp};
  }
};

//   products  of queries and keys, each of half as many flops as both of a prefill
//   tensors   of floats, of the queries' size, that are read or written
void count(benchmark::State& state, const AttentionCase& inputs, double products, double tensors) {
  static const double peak = peak_flops(Multiplier::kFma);
  using benchmark::Counter;
  const auto rate = [&](double each) {
    return Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
  };
  const double flops = products / 2 * inputs.flops();
  state.counters["flop/s"] = rate(flops);
  if (peak > 0)
    state.counters["of_peak"] = rate(flops / peak / static_cast<double>(state.range(1)));
  state.counters["bytes/s"] =
      rate(tensors * static_cast<double>(inputs.queries.size() * sizeof(float)));
}

void backward(benchmark::State& state, const std::string& scheme) {
  omp_set_num_threads(static_cast<int>(state.range(1)));
  PassCase pass(scheme, state.range(0));
  const AttentionCase& inputs = pass.inputs;
  std::vector<float> d_queries(inputs.queries.size()), d_keys(d_queries), d_values(d_queries);
  for (auto _ : state) {
    // Any numbers of their size do for the output and its gradient.
    attend_backward(pass.forward(), inputs.values.data(), inputs.queries.data(), d_queries.data(),
                    d_keys.data(), d_values.data());
  }
  count(state, inputs, 5, 8);
}

void statistics(benchmark::State& state, const std::string& scheme) {
  static const std::vector<int64_t> edges = {0, 1, 16, 64, 256, 1024, 4096};
  omp_set_num_threads(static_cast<int>(state.range(1)));
  const PassCase pass(scheme, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(attention_by_distance(pass.forward(), edges));
  count(state, pass.inputs, 1, 2);
}

const bool added = [] {
  const auto add = [](const std::string& name, const std::string& scheme, auto run) {
    const int64_t most =
        scheme.starts_with("log_tail") ? 2048 : 8192;  // distance by distance: slow
    benchmark::RegisterBenchmark((name + "/" + scheme).c_str(),
                                 [run, scheme](benchmark::State& state) { run(state, scheme); })
        ->ArgsProduct({{1, 16, 128, 1024, most}, {1, 2}})
        ->ArgNames({"tokens", "threads"})
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const char* scheme : {"declared", "cap,window=1024", "leaky,window=1024,divisor=8",
                             "window,size=1024", "log_tail,window=1024"}) {
    add("attend_backward", scheme, backward);
    add("attention_by_distance", scheme, statistics);
  }
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
