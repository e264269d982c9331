// The most that this machine's registers multiply and add in a second, measured: what benchmarks
// are shares of.
#ifndef ROPEWALK_BENCH_PEAKS_H_
#define ROPEWALK_BENCH_PEAKS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace ropewalk::bench {

inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

enum class Multiplier { kFma, kDotBf16 };

// 24 independent sums in AVX-512 registers of one thread, each added to `turns` times.
//   returns the flops; 0 where the machine has no such instruction
inline double multiply_add([[maybe_unused]] Multiplier multiplier, [[maybe_unused]] int64_t turns) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512f")) return 0;
  if (multiplier == Multiplier::kDotBf16 && !__builtin_cpu_supports("avx512bf16")) return 0;
// Compilers name the upper registers only where they may use them.
#if defined(__AVX512F__)
#define ROPEWALK_UPPER                                                                        \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"
#else
#define ROPEWALK_UPPER
#endif
// The assembler writes the 24 instructions out.
#define ROPEWALK_LOOP(op)                                                                   \
  asm volatile(                                                                             \
      "vpxord %%zmm0, %%zmm0, %%zmm0\nvpxord %%zmm1, %%zmm1, %%zmm1\n1:\n"                  \
      ".irp n, 8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n" op  \
      " %%zmm0, %%zmm1, %%zmm\\n\n.endr\ndec %0\njnz 1b\nvzeroupper\n"                      \
      : "+r"(left)                                                                          \
      :                                                                                     \
      : "memory", "cc", "xmm0", "xmm1", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
        "xmm14", "xmm15" ROPEWALK_UPPER)
  int64_t left = turns;
  if (multiplier == Multiplier::kFma) {
    ROPEWALK_LOOP("vfmadd231ps");
  } else {
    ROPEWALK_LOOP("vdpbf16ps");
  }
#undef ROPEWALK_LOOP
#undef ROPEWALK_UPPER
  return static_cast<double>(turns) * 24 * 2 * (multiplier == Multiplier::kFma ? 16 : 32);
#else
  return 0;
#endif
}

// Flops in a second of one thread, median of 7; 0 where the machine has no such instruction.
inline double peak_flops(Multiplier multiplier) {
  constexpr int64_t kTurns = 1000000;
  std::array<double, 7> rates{};
  for (double& rate : rates) {
    const double start = thread_seconds();
    const double flops = multiply_add(multiplier, kTurns);
    rate = flops / (thread_seconds() - start);
  }
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_PEAKS_H_
