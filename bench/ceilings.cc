#include "bench/ceilings.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ropewalk::bench {
namespace {

// [begin, end) of `size` things in units of 1024 for thread `t` of `n`.
struct Share {
  size_t begin;
  size_t end;
};

Share share_of(size_t size, int t, int n) {
  constexpr size_t kUnit = 1024;
  const size_t units = (size + kUnit - 1) / kUnit;
  const auto edge = [&](int at) {
    return std::min(size, units * static_cast<size_t>(at) / static_cast<size_t>(n) * kUnit);
  };
  return {edge(t), edge(t + 1)};
}

template <typename Body>
void on_all_threads(size_t size, const Body& body) {
  if (omp_get_max_threads() == 1) return body(Share{0, size});
#pragma omp parallel
  body(share_of(size, omp_get_thread_num(), omp_get_num_threads()));
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) void scale_512(float* values, size_t size, float factor) {
  const __m512 by = _mm512_set1_ps(factor);
  size_t x = 0;
  for (; x + 64 <= size; x += 64) {
    for (size_t v = x; v < x + 64; v += 16)
      _mm512_storeu_ps(values + v, _mm512_mul_ps(_mm512_loadu_ps(values + v), by));
  }
  for (; x < size; ++x) values[x] *= factor;
}

__attribute__((target("avx512f"))) uint64_t read_512(const uint64_t* words, size_t size) {
  __m512i sums[4] = {};
  size_t x = 0;
  for (; x + 32 <= size; x += 32) {
    for (size_t v = 0; v < 4; ++v)
      sums[v] = _mm512_add_epi64(sums[v], _mm512_loadu_si512(words + x + 8 * v));
  }
  uint64_t sum = 0;
  for (; x < size; ++x) sum += words[x];
  // _mm512_reduce_add_* draws a false warning from g++ 12.
  alignas(64) uint64_t lanes[32];
  for (size_t v = 0; v < 4; ++v) _mm512_store_si512(lanes + 8 * v, sums[v]);
  for (const uint64_t lane : lanes) sum += lane;
  return sum;
}

bool has_512() { return __builtin_cpu_supports("avx512f") != 0; }

// Enough sums in flight to hide the latency of two units of four or five cycles.
constexpr int kSums = 12;

__attribute__((target("avx512f"))) float float_products_512(int64_t rounds) {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999999F);
  for (int64_t r = 0; r < rounds; ++r) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, factor);
  }
  __m512 all = sums[0];
  for (int k = 1; k < kSums; ++k) all = _mm512_add_ps(all, sums[k]);
  return _mm512_cvtss_f32(all);
}

__attribute__((target("avx2,fma"))) float float_products_256(int64_t rounds) {
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999999F);
  for (int64_t r = 0; r < rounds; ++r) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, factor);
  }
  __m256 all = sums[0];
  for (int k = 1; k < kSums; ++k) all = _mm256_add_ps(all, sums[k]);
  return _mm256_cvtss_f32(all);
}

__attribute__((target("avx512f,avx512bf16"))) float bf16_products(int64_t rounds) {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.25F));
  for (int64_t r = 0; r < rounds; ++r) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  __m512 all = sums[0];
  for (int k = 1; k < kSums; ++k) all = _mm512_add_ps(all, sums[k]);
  return _mm512_cvtss_f32(all);
}

#endif

void scale_some(float* values, size_t size, float factor) {
#if defined(__x86_64__)
  if (has_512()) return scale_512(values, size, factor);
#endif
  for (size_t x = 0; x < size; ++x) values[x] *= factor;
}

uint64_t read_some(const uint64_t* words, size_t size) {
#if defined(__x86_64__)
  if (has_512()) return read_512(words, size);
#endif
  uint64_t sum = 0;
  for (size_t x = 0; x < size; ++x) sum += words[x];
  return sum;
}

// Runs products(rounds) on every thread; one round is `per_round` operations.
double run_products(float (*products)(int64_t), double flops, double per_round) {
  const auto rounds = static_cast<int64_t>(flops / per_round);
  int threads = 0;
  float kept = 0;
#pragma omp parallel reduction(+ : threads, kept)
  {
    threads += 1;
    kept += products(rounds);
  }
  volatile float sink = kept;
  static_cast<void>(sink);
  return static_cast<double>(threads) * static_cast<double>(rounds) * per_round;
}

}  // namespace

void copy(std::span<const float> from, std::span<float> to) {
  on_all_threads(from.size(), [&](Share share) {
    std::memcpy(to.data() + share.begin, from.data() + share.begin,
                (share.end - share.begin) * sizeof(float));
  });
}

void scale(std::span<float> values, float factor) {
  on_all_threads(values.size(), [&](Share share) {
    scale_some(values.data() + share.begin, share.end - share.begin, factor);
  });
}

uint64_t read(std::span<const uint64_t> words) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    const Share share = share_of(words.size(), omp_get_thread_num(), omp_get_num_threads());
    sum += read_some(words.data() + share.begin, share.end - share.begin);
  }
  return sum;
}

double multiply_add_floats(double flops) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return run_products(float_products_512, flops, 2.0 * 16 * kSums);
  if (__builtin_cpu_supports("fma"))
    return run_products(float_products_256, flops, 2.0 * 8 * kSums);
#endif
  static_cast<void>(flops);
  return 0;
}

double multiply_add_bf16(double flops) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16"))
    return run_products(bf16_products, flops, 4.0 * 16 * kSums);
#endif
  static_cast<void>(flops);
  return 0;
}

}  // namespace ropewalk::bench
