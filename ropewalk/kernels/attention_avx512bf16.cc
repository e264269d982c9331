// The bfloat16 kernel of attention for the units that this machine may have.
#include "ropewalk/kernels/attention_avx512bf16.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "ropewalk/kernels/attention_bf16-inl.h"
#include "ropewalk/kernels/attention_pass.h"

namespace ropewalk {
namespace {

void attend_by_dots(const AttentionBlock<Bf16>& block) {
  AttentionPass<Bf16Kernel<DotUnit>, Bf16>(block).run();
}
void attend_by_tiles(const AttentionBlock<Bf16>& block) {
  AttentionPass<Bf16Kernel<TileUnit>, Bf16>(block).run();
}

bool has_avx512bf16() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("fma");
}

// Tiles are large, so Linux hands them only to those who ask.
bool may_use_amx() {
#if defined(__linux__)
  constexpr unsigned kAmxBf16 = 1U << 22, kAmxTile = 1U << 24;  // cpuid 7, edx
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::vector<Bf16Unit> units_of_this_machine() {
  std::vector<Bf16Unit> units;
  if (!has_avx512bf16()) return units;
  if (may_use_amx()) units.push_back({"amx", attend_by_tiles});
  units.push_back({"avx512bf16", attend_by_dots});
  return units;
}

}  // namespace

std::span<const Bf16Unit> bf16_units() {
  static const std::vector<Bf16Unit> units = units_of_this_machine();
  return units;
}

}  // namespace ropewalk

#else

namespace ropewalk {

std::span<const Bf16Unit> bf16_units() { return {}; }

}  // namespace ropewalk

#endif
