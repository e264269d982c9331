// Decoding of stored weights, one thread. Counters: bytes of floats per second, and what a look for
// scales that are no numbers adds.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/formats/tensor_type.h"

namespace ropewalk::bench {
namespace {

constexpr size_t kElements = size_t{1} << 16;  // in cache: arithmetic, not memory

void decode(benchmark::State& state, TensorType type, bool with_scales) {
  // A byte that makes no scale infinite, a NaN or subnormal.
  const std::vector<std::byte> source(kElements / block_elements(type) * block_bytes(type),
                                      std::byte{0x2a});
  std::vector<float> out(kElements);
  for (auto _ : state) {
    if (with_scales) benchmark::DoNotOptimize(find_bad_scale(type, source));
    dequantize(type, source, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kElements * sizeof(float)));
}

const bool added = [] {
  for (uint32_t number = 0; number < 64; ++number) {
    const TensorType type = type_from_ggml(number);
    if (!is_decodable(type)) continue;
    for (const bool with_scales : {false, true}) {
      const std::string name = std::string(type_name(type)) + (with_scales ? "/scales" : "");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        decode(state, type, with_scales);
      })->Unit(benchmark::kMicrosecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace ropewalk::bench
