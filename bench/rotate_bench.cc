// rotate() by type, layout, head size, tokens and threads: 32 heads. Counters: bytes a second, read
// and written, and their share of copying as many (apart) or of scaling them in place; flops a
// second and their share of the FMA peak.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/roofline.h"
#include "bench/rotate_case.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kHeads = 32;

struct Setting {
  PairOrder pairs;
  Order order;
  Move beside;  // what it is held to: copying apart, scaling in place
};

template <typename Element>
void run(benchmark::State& state, const Setting& setting) {
  RotateCase<Element> inputs(state.range(1), kHeads, state.range(0), setting.pairs, setting.order);
  const auto threads = static_cast<int>(state.range(2));
  omp_set_num_threads(threads);
  for (auto _ : state) {
    if (setting.beside == Move::kCopy) {
      inputs.turn_apart();
    } else {
      inputs.turn_in_place();
    }
  }
  static const double peak = peak_flops(Multiplier::kFma);
  using benchmark::Counter;
  const auto rate = [&](double each) {
    return Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
  };
  const double moved = 2.0 * static_cast<double>(inputs.bytes());
  const char* const share = setting.beside == Move::kCopy ? "of_copy" : "of_scale";
  state.counters["bytes/s"] = rate(moved);
  state.counters[share] = rate(moved / bytes_per_second(setting.beside, inputs.bytes(), threads));
  state.counters["flop/s"] = rate(inputs.flops());
  if (peak > 0) state.counters["of_peak"] = rate(inputs.flops() / peak / threads);
}

template <typename Element>
void add(const std::string& type) {
  for (const PairOrder pairs : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    for (const Order order : {Order::kSequence, Order::kHeads}) {
      for (const Move beside : {Move::kCopy, Move::kScale}) {
        const std::string name = "rotate/" + type +
                                 (pairs == PairOrder::kHalf ? "/halves" : "/interleaved") +
                                 (order == Order::kSequence ? "/seq_heads" : "/heads_seq") +
                                 (beside == Move::kCopy ? "/apart" : "/in_place");
        const Setting setting{pairs, order, beside};
        benchmark::RegisterBenchmark(
            name.c_str(), [setting](benchmark::State& state) { run<Element>(state, setting); })
            ->ArgsProduct({{64, 128}, {1, 4, 16, 128, 512, 2048, 8192}, {1, 2}})
            ->ArgNames({"dim", "tokens", "threads"})
            ->UseRealTime();
      }
    }
  }
}

const bool added = [] {
  add<float>("float32");
  add<Bf16>("bf16");
  add<F16>("f16");
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
