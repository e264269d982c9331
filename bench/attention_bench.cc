// Prefill attention by size, map and products. Counters: GF/s of the flops that a causal mask
// leaves, and their share of the peak of one thread's FMA, or of VDPBF16PS, times the threads.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <string>

#include "bench/attention_case.h"
#include "bench/peaks.h"

namespace ropewalk::bench {
namespace {

struct Setting {
  std::string scheme;
  Products products;
  std::string unit;  // of bfloat16 products
};

template <typename Element>
void run(benchmark::State& state, const Setting& setting) {
  const int64_t n_tokens = state.range(0);
  omp_set_num_threads(static_cast<int>(state.range(1)));
  force_bf16_product_unit(setting.unit);
  AttentionCase inputs(n_tokens, 8);
  const KvTiles<Element> kv = inputs.tiles<Element>();
  const Rotations rotations(rotary_of(setting.scheme), n_tokens, 0, n_tokens, AngleMode::kExact);
  for (auto _ : state) {
    attend<Element>(rotations, kv, inputs.n_heads, inputs.queries.data(), inputs.row_scale,
                    inputs.out.data(), {.products = setting.products});
  }
  static const double fma = peak_flops(Multiplier::kFma);
  static const double dot = peak_flops(Multiplier::kDotBf16);
  const double peak = setting.products == Products::kFloat ? fma : dot;
  const double flops = inputs.flops() * static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["flop/s"] = Counter(flops, Counter::kIsRate);
  if (peak > 0)
    state.counters["of_peak"] =
        Counter(flops / peak / static_cast<double>(state.range(1)), Counter::kIsRate);
  force_bf16_product_unit("");
}

template <typename Element>
void add(const std::string& name, const Setting& setting) {
  auto* added = benchmark::RegisterBenchmark(
      name.c_str(), [setting](benchmark::State& state) { run<Element>(state, setting); });
  added->ArgsProduct({{128, 512, 2048, 8192}, {1, 2}})->ArgNames({"tokens", "threads"});
  added->UseRealTime()->Unit(benchmark::kMillisecond);
}

const bool added = [] {
  for (const char* scheme : {"declared", "cap,window=1024", "leaky,window=1024,divisor=8",
                             "self_extend,window=1024,group=8", "full_turn", "window,size=1024",
                             "log_tail,window=1024"}) {
    add<float>(std::string("attend/float32/") + scheme, {scheme, Products::kFloat, ""});
  }
  add<Bf16>("attend/float32_of_bf16_cache/declared", {"declared", Products::kFloat, ""});
  for (const std::string& unit : bf16_product_units()) {
    for (const char* scheme : {"declared", "cap,window=1024"})
      add<Bf16>("attend/" + unit + "/" + scheme, {scheme, Products::kBf16, unit});
  }
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
