// Times one kernel at a time, as it is asked, so that another engine can be measured between the calls
// (scripts/peers/bench.py).
//
// Reads lines "NAME [key=value ...]" and answers each with "SECONDS WORK": of one call, the mean over
// some milliseconds; and how many bytes, operations or entries a call is. Names and their keys:
//   copy, scale, read     bytes             copy counts what it reads and what it writes, scale too
//   floats, bf16                            operations of the widest multiply-add, of bfloat16 products
//   rotate                type (f32, bf16), layout (half, interleaved), dim, tokens, place (out, in),
//                         table (ready, made): 32 heads; bytes read and written
//   table, sincos         type (f32, bf16, f64), dim, tokens, first: entries of ours; of libm in double
//   prefill               type (f32, bf16), scheme, tokens: 8 heads of 128; causal operations of plain
//                         attention
//   published_cap         tokens, window: the same work, by two whole products and a choice, float32
//   decode                scheme, tokens, cache (unrotated, rotated): 8 heads of 128, bfloat16; bytes of
//                         keys and values
// and of each: threads.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/ceilings.h"
#include "bench/published_cap.h"
#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode.h"
#include "ropewalk/kernels/rotate.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kRotatedHeads = 32;
constexpr int64_t kHeads = 8;
constexpr int64_t kTrainedLength = 4096;
constexpr double kShortest = 5e-3;  // seconds of one measurement

using Keys = std::map<std::string, std::string>;

// Work prepared once; `call` does it once more.
struct Work {
  std::function<void()> call;
  double size = 0;
};

const std::string& text_of(const Keys& keys, const std::string& name) {
  const auto found = keys.find(name);
  if (found == keys.end()) throw Error(name, "must be given", "nothing");
  return found->second;
}

int64_t number_of(const Keys& keys, const std::string& name) {
  return std::stoll(text_of(keys, name));
}

template <typename Element>
Element narrowed(float value) {
  if constexpr (std::is_same_v<Element, Bf16>)
    return to_bf16(value);
  else
    return value;
}

template <typename Element>
std::shared_ptr<AlignedBuffer<Element>> random_values(int64_t size) {
  auto values = std::make_shared<AlignedBuffer<Element>>(static_cast<size_t>(size));
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  // A short cycle is as good as a long one, and much faster made.
  std::vector<Element> cycle;
  for (int k = 0; k < 4099; ++k) cycle.push_back(narrowed<Element>(normal(generator)));
  for (int64_t x = 0; x < size; ++x) (*values)[x] = cycle[static_cast<size_t>(x) % cycle.size()];
  return values;
}

Rotary plain(const PairLayout& layout) {
  return plain_rotary(
      {.base = 10000.0, .frequency_dim = layout.rotary_dim, .trained_length = kTrainedLength},
      layout);
}

// ---- what the machine can do

Work copy_work(const Keys& keys) {
  const int64_t size = number_of(keys, "bytes") / static_cast<int64_t>(sizeof(float));
  auto from = random_values<float>(size);
  auto to = random_values<float>(size);
  return {[=] { copy(*from, *to); }, 2.0 * static_cast<double>(size) * sizeof(float)};
}

Work scale_work(const Keys& keys) {
  const int64_t size = number_of(keys, "bytes") / static_cast<int64_t>(sizeof(float));
  auto values = random_values<float>(size);
  return {[=] { scale(*values, -1.0F); }, 2.0 * static_cast<double>(size) * sizeof(float)};
}

Work read_work(const Keys& keys) {
  const int64_t bytes = number_of(keys, "bytes");
  auto words =
      std::make_shared<AlignedBuffer<uint64_t>>(static_cast<size_t>(bytes) / sizeof(uint64_t));
  auto sum = std::make_shared<uint64_t>();
  return {[=] { *sum += read(*words); }, static_cast<double>(bytes)};
}

Work products_work(double (*products)(double)) {
  constexpr double kFlops = 2e9;
  return {[=] { products(kFlops); }, kFlops * omp_get_max_threads()};
}

// ---- rotation and tables

template <typename Element>
Work rotate_work(const Keys& keys) {
  const int64_t dim = number_of(keys, "dim");
  const int64_t tokens = number_of(keys, "tokens");
  const bool half = text_of(keys, "layout") == "half";
  const PairLayout layout{half ? PairOrder::kHalf : PairOrder::kInterleaved, dim, dim};
  const auto positions = RowPositions::range(0, tokens);
  const Spectrum spectrum = plain(layout).spectrum.at(1);
  auto table = std::make_shared<RotationRows<float>>(
      rotation_rows<float>(spectrum, positions, TableAmplitude::kApplied));
  const int64_t size = tokens * kRotatedHeads * dim;
  auto from = random_values<Element>(size);
  auto to = random_values<Element>(size);
  const auto view = [&](AlignedBuffer<Element>& buffer) {
    return HeadsView<Element>{.data = buffer.data(),
                              .n_tokens = tokens,
                              .n_heads = kRotatedHeads,
                              .batch_stride = size,
                              .token_stride = kRotatedHeads * dim,
                              .head_stride = dim};
  };
  RotatedHeads<Element> heads = in_place(view(*from));
  if (text_of(keys, "place") == "out") heads.to = view(*to);
  const bool make = text_of(keys, "table") == "made";
  return {[=] {
            if (make) fill_rotation_rows(spectrum, positions, TableAmplitude::kApplied, 0, *table);
            rotate(Rotation{.layout = layout, .table = *table}, {heads});
            static_cast<void>(from);
            static_cast<void>(to);
          },
          2.0 * static_cast<double>(size) * sizeof(Element)};
}

template <typename Element>
Work table_work(const Keys& keys) {
  const int64_t dim = number_of(keys, "dim");
  const auto positions = RowPositions::range(number_of(keys, "first"), number_of(keys, "tokens"));
  const Spectrum spectrum = plain({PairOrder::kHalf, dim, dim}).spectrum.at(1);
  auto table = std::make_shared<RotationRows<Element>>(dim / 2, positions.count());
  return {[=] { fill_rotation_rows(spectrum, positions, TableAmplitude::kApplied, 0, *table); },
          static_cast<double>(positions.count() * dim)};
}

// The plain way in double: one angle, one sine, one cosine at a time.
Work sincos_work(const Keys& keys) {
  const int64_t dim = number_of(keys, "dim");
  const int64_t tokens = number_of(keys, "tokens");
  const int64_t first = number_of(keys, "first");
  const std::vector<double> inv_freq =
      plain({PairOrder::kHalf, dim, dim}).spectrum.at(1).inv_freq();
  auto table = random_values<float>(tokens * dim);
  return {[=] {
            float* to = table->data();
            for (int64_t p = first; p < first + tokens; ++p) {
              for (const double speed : inv_freq) {
                const double angle = static_cast<double>(p) * speed;
                *to++ = static_cast<float>(std::cos(angle));
                *to++ = static_cast<float>(std::sin(angle));
              }
            }
          },
          static_cast<double>(tokens * dim)};
}

// ---- attention

template <typename Element>
std::shared_ptr<KvTiles<Element>> random_cache(int64_t tokens) {
  auto kv = std::make_shared<KvTiles<Element>>(kHeads, kHeadDim, tokens);
  const auto some = random_values<float>(64 * kHeads * kHeadDim);
  for (int64_t t = 0; t < tokens; t += 64)
    kv->store(t, std::min<int64_t>(64, tokens - t), some->data(), some->data());
  return kv;
}

template <typename Element>
Work prefill_work(const Keys& keys) {
  const int64_t tokens = number_of(keys, "tokens");
  const Rotary rotary =
      apply_scheme(text_of(keys, "scheme"), plain({PairOrder::kHalf, kHeadDim, kHeadDim}));
  auto kv = random_cache<Element>(tokens);
  auto rotations = std::make_shared<Rotations>(rotary, tokens, 0, tokens, AngleMode::kExact);
  auto queries = random_values<float>(tokens * kHeads * kHeadDim);
  auto out = random_values<float>(tokens * kHeads * kHeadDim);
  const std::vector<float> scale(static_cast<size_t>(tokens), 0.088F);
  const AttentionOptions options{.products = std::is_same_v<Element, Bf16> ? Products::kBf16
                                                                           : Products::kFloat};
  return {[=] {
            attend<Element>(*rotations, *kv, kHeads, queries->data(), scale, out->data(), options);
          },
          static_cast<double>(kHeads) * static_cast<double>(tokens) * static_cast<double>(tokens) /
              2 * 4 * static_cast<double>(kHeadDim)};
}

Work published_work(const Keys& keys) {
  auto inputs = std::make_shared<AttentionCase>(number_of(keys, "tokens"), kHeads);
  auto published = std::make_shared<PublishedCap>(*inputs, number_of(keys, "window"));
  return {[=] { published->cap(); }, inputs->flops()};
}

Work decode_work(const Keys& keys) {
  const int64_t tokens = number_of(keys, "tokens");
  Rotary rotary =
      apply_scheme(text_of(keys, "scheme"), plain({PairOrder::kHalf, kHeadDim, kHeadDim}));
  // Keys that were rotated when they were stored stand still now.
  if (text_of(keys, "cache") == "rotated")
    rotary.distance = DistanceMap({{.key = fixed_position(0.0)}});
  auto kv = random_cache<Bf16>(tokens);
  auto rotations = std::make_shared<DecodeRotations>(rotary, tokens, AngleMode::kExact);
  rotations->stand_at(tokens - 1);
  auto queries = random_values<float>(kHeads * kHeadDim);
  auto out = random_values<float>(kHeads * kHeadDim);
  auto workspace = std::make_shared<DecodeWorkspace>();
  return {[=] {
            decode<Bf16>(*rotations, *kv, kHeads, queries->data(), 0.088F, out->data(), *workspace);
          },
          2.0 * sizeof(Bf16) * static_cast<double>(tokens * kHeads * kHeadDim)};
}

Work prepare(const std::string& name, const Keys& keys) {
  const auto type = [&] { return text_of(keys, "type"); };
  if (name == "copy") return copy_work(keys);
  if (name == "scale") return scale_work(keys);
  if (name == "read") return read_work(keys);
  if (name == "floats") return products_work(multiply_add_floats);
  if (name == "bf16") return products_work(multiply_add_bf16);
  if (name == "rotate")
    return type() == "bf16" ? rotate_work<Bf16>(keys) : rotate_work<float>(keys);
  if (name == "table" && type() == "f64") return table_work<double>(keys);
  if (name == "table") return type() == "bf16" ? table_work<Bf16>(keys) : table_work<float>(keys);
  if (name == "sincos") return sincos_work(keys);
  if (name == "prefill")
    return type() == "bf16" ? prefill_work<Bf16>(keys) : prefill_work<float>(keys);
  if (name == "published_cap") return published_work(keys);
  if (name == "decode") return decode_work(keys);
  throw Error("name", "must be one that the head of bench/measure.cc lists", name);
}

double seconds_of(const Work& work) {
  using Clock = std::chrono::steady_clock;
  int64_t calls = 0;
  const auto begin = Clock::now();
  std::chrono::duration<double> spent{};
  while (spent.count() < kShortest) {
    work.call();
    ++calls;
    spent = Clock::now() - begin;
  }
  return spent.count() / static_cast<double>(calls);
}

void answer_lines() {
  std::map<std::string, Work> known;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Keys keys;
    for (std::string word; words >> word;) {
      const size_t at = word.find('=');
      keys[word.substr(0, at)] = at == std::string::npos ? "" : word.substr(at + 1);
    }
    if (name == "forget") {
      known.clear();
      std::puts("0 0");
      std::fflush(stdout);
      continue;
    }
    omp_set_num_threads(static_cast<int>(number_of(keys, "threads")));
    auto work = known.find(line);
    if (work == known.end()) {
      work = known.emplace(line, prepare(name, keys)).first;
      work->second.call();  // touches what it needs
    }
    std::printf("%.9g %.9g\n", seconds_of(work->second), work->second.size);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace ropewalk::bench

int main() {
  try {
    ropewalk::bench::answer_lines();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measure: %s\n", error.what());
    return 1;
  }
  return 0;
}
