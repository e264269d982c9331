// What memory lets a kernel move, measured beside it: copying, scaling in place, and reading. Flops are
// in peaks.h.
#ifndef ROPEWALK_BENCH_ROOFLINE_H_
#define ROPEWALK_BENCH_ROOFLINE_H_

#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "bench/peaks.h"
#include "ropewalk/base/aligned_buffer.h"

namespace ropewalk::bench {

// x *= factor.
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) inline void scale(
    float* x, size_t size, float factor) {
  for (size_t k = 0; k < size; ++k) x[k] *= factor;
}

// [first, last) of `size` that thread `t` of `threads` takes, in whole lines.
inline std::pair<size_t, size_t> share(size_t size, int t, int threads) {
  constexpr size_t kLine = 16;
  const auto cut = [&](int k) { return size / kLine * static_cast<size_t>(k) / threads * kLine; };
  return {cut(t), t + 1 == threads ? size : cut(t + 1)};
}

enum class Move { kCopy, kScale };

// Copies `from` to `to`, or scales `to`, `repeats` times, each thread its share.
//   from  (size); not looked at where `to` is scaled
inline void move_floats(Move move, const float* from, float* to, size_t size, int threads,
                        size_t repeats = 1) {
  const auto move_share = [&](size_t first, size_t last) {
    for (size_t k = 0; k < repeats; ++k) {
      if (move == Move::kScale) {
        scale(to + first, last - first, 1.0000001F);
      } else {
        std::memcpy(to + first, from + first, (last - first) * sizeof(float));
      }
      asm volatile("" : : "r"(to) : "memory");
    }
  };
  if (threads == 1) return move_share(0, size);
#pragma omp parallel num_threads(threads)
  {
    const auto [first, last] = share(size, omp_get_thread_num(), threads);
    move_share(first, last);
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) inline uint64_t sum(
    const uint64_t* words, size_t size) {
  uint64_t total = 0;
  for (size_t k = 0; k < size; ++k) total += words[k];
  return total;
}

// Reads all of it once: the sum, so that no read is left out.
inline uint64_t read_once(const uint64_t* words, size_t size, int threads) {
  if (threads == 1) return sum(words, size);
  uint64_t total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    const auto [first, last] = share(size, omp_get_thread_num(), threads);
    total += sum(words + first, last - first);
  }
  return total;
}

// Bytes a second of reading `bytes` of them, shared between the threads: median of 9, by the clock,
// measured once for each size.
inline double read_bytes_per_second(size_t bytes, int threads) {
  static std::map<std::pair<size_t, int>, double> known;
  const auto [found, is_new] = known.try_emplace({bytes, threads});
  if (!is_new) return found->second;
  AlignedBuffer<uint64_t> words(std::max<size_t>(bytes / sizeof(uint64_t), 64));
  // Pages that nobody has written to would all be one.
  for (size_t k = 0; k < words.size(); ++k) words[k] = k;
  const size_t size = words.size() * sizeof(uint64_t);
  const size_t repeats = std::max<size_t>(1, (size_t{16} << 20) / size);
  std::array<double, 9> rates{};
  for (double& rate : rates) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t k = 0; k < repeats; ++k) {
      [[maybe_unused]] volatile uint64_t total = read_once(words.data(), words.size(), threads);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rate = static_cast<double>(size * repeats) / seconds.count();
  }
  std::ranges::sort(rates);
  return found->second = rates[rates.size() / 2];
}

// Bytes a second, read and written ones counted both, of memcpy from one buffer to another or of
// scaling one in place; `bytes` of them in one buffer, shared between the threads. Median of 9, by
// the clock.
inline double measure_move(Move move, size_t bytes, int threads) {
  const size_t size = std::max<size_t>(bytes / sizeof(float), 64);
  AlignedBuffer<float> from(size);
  AlignedBuffer<float> to(size);
  const size_t repeats = std::max<size_t>(1, (size_t{16} << 20) / (size * sizeof(float)));
  std::array<double, 9> rates{};
  for (double& rate : rates) {
    const auto start = std::chrono::steady_clock::now();
    move_floats(move, from.data(), to.data(), size, threads, repeats);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rate = 2.0 * static_cast<double>(size * sizeof(float) * repeats) / seconds.count();
  }
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

// The same, measured once for each size.
inline double bytes_per_second(Move move, size_t bytes, int threads) {
  static std::map<std::pair<std::pair<Move, size_t>, int>, double> known;
  const auto key = std::pair(std::pair(move, bytes), threads);
  const auto found = known.find(key);
  return found != known.end()
             ? found->second
             : known.emplace(key, measure_move(move, bytes, threads)).first->second;
}

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_ROOFLINE_H_
