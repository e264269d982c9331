// Times one kernel at a time, as it is asked, so that another engine can be measured between the calls
// (scripts/peers/bench.py).
//
// Reads lines "NAME [key=value ...]" and answers each with "SECONDS WORK": of one call, the mean over
// some milliseconds after some that do not count; and how many bytes, operations or entries a call is. Names and their keys:
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
//   read_cache            tokens: what decode reads, as memory
// and of each: threads; and clock=thread, where only one is, for the CPU time that it took.
#include <omp.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "bench/attention_case.h"
#include "bench/published_cap.h"
#include "bench/roofline.h"
#include "bench/rotate_case.h"
#include "bench/table_case.h"
#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk::bench {
namespace {

constexpr int64_t kRotatedHeads = 32;
constexpr int64_t kHeads = 8;
constexpr double kBase = 10000;
constexpr double kShortest = 5e-3;  // seconds of one measurement
constexpr double kWarming =
    1e-2;  // before it: a core that has rested takes some milliseconds to be itself

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

// ---- what the machine can do

Work move_work(Move move, const Keys& keys, int threads) {
  const auto size = static_cast<size_t>(number_of(keys, "bytes")) / sizeof(float);
  auto from = std::make_shared<AlignedBuffer<float>>(size);
  auto to = std::make_shared<AlignedBuffer<float>>(size);
  for (float& value : std::span<float>(*from)) value = 1;
  return {[=] { move_floats(move, from->data(), to->data(), size, threads); },
          2.0 * static_cast<double>(size) * sizeof(float)};
}

Work read_work(const Keys& keys, int threads) {
  const auto size = static_cast<size_t>(number_of(keys, "bytes")) / sizeof(uint64_t);
  auto words = std::make_shared<AlignedBuffer<uint64_t>>(size);
  // Pages that nobody has written to would all be one.
  for (size_t k = 0; k < size; ++k) (*words)[k] = k;
  auto total = std::make_shared<uint64_t>();
  return {[=] { *total += read_once(words->data(), size, threads); },
          static_cast<double>(size * sizeof(uint64_t))};
}

Work products_work(Multiplier multiplier, int threads) {
  constexpr int64_t kTurns = 1000000;
  if (multiply_add(multiplier, 1) == 0)
    throw Error("name", "must be a product that this machine has", "another");
  const auto all_threads = [=] {
#pragma omp parallel num_threads(threads)
    multiply_add(multiplier, kTurns);
  };
  return {all_threads, static_cast<double>(threads) * multiply_add(multiplier, kTurns)};
}

// ---- rotation and tables

template <typename Element>
Work rotate_work(const Keys& keys) {
  const PairOrder order =
      text_of(keys, "layout") == "half" ? PairOrder::kHalf : PairOrder::kInterleaved;
  const int64_t dim = number_of(keys, "dim");
  const int64_t tokens = number_of(keys, "tokens");
  auto rotated = std::make_shared<RotateCase<Element>>(tokens, kRotatedHeads, dim, order);
  const Spectrum spectrum = rope_spectrum(kBase, dim, dim / 2);
  const bool make = text_of(keys, "table") == "made";
  const bool apart = text_of(keys, "place") == "out";
  return {[=] {
            if (make)
              fill_rotation_rows(spectrum, RowPositions::range(0, tokens), TableAmplitude::kApplied,
                                 0, rotated->table);
            if (apart) {
              rotated->turn_apart();
            } else {
              rotated->turn_in_place();
            }
          },
          2.0 * static_cast<double>(rotated->bytes())};
}

template <typename Element>
Work table_work(const Keys& keys) {
  const int64_t dim = number_of(keys, "dim");
  const auto positions = RowPositions::range(number_of(keys, "first"), number_of(keys, "tokens"));
  const Spectrum spectrum = rope_spectrum(kBase, dim, dim / 2);
  auto table = std::make_shared<RotationRows<Element>>(dim / 2, positions.count());
  return {[=] { fill_rotation_rows(spectrum, positions, TableAmplitude::kApplied, 0, *table); },
          static_cast<double>(positions.count() * dim)};
}

Work sincos_work(const Keys& keys) {
  const int64_t dim = number_of(keys, "dim");
  const int64_t tokens = number_of(keys, "tokens");
  const int64_t first = number_of(keys, "first");
  auto libm = std::make_shared<LibmTable>(rope_spectrum(kBase, dim, dim / 2), tokens);
  return {[=] { libm->fill(first); }, static_cast<double>(tokens * dim)};
}

// ---- attention

template <typename Element>
Work prefill_work(const Keys& keys) {
  auto inputs = std::make_shared<AttentionCase>(number_of(keys, "tokens"), kHeads);
  auto kv = std::make_shared<KvTiles<Element>>(inputs->tiles<Element>());
  auto rotations = std::make_shared<Rotations>(rotary_of(text_of(keys, "scheme")), inputs->n_tokens,
                                               0, inputs->n_tokens, AngleMode::kExact);
  const AttentionOptions options{.products = std::is_same_v<Element, Bf16> ? Products::kBf16
                                                                           : Products::kFloat};
  return {[=] {
            attend<Element>(*rotations, *kv, kHeads, inputs->queries.data(), inputs->row_scale,
                            inputs->out.data(), options);
          },
          inputs->flops()};
}

Work published_work(const Keys& keys) {
  const AttentionCase inputs(number_of(keys, "tokens"), kHeads);
  auto published = std::make_shared<PublishedCap>(inputs, number_of(keys, "window"));
  return {[=] { published->cap(); }, inputs.flops()};
}

// One cache for all that is measured on it: how much of it lies in the caches then depends on no order.
struct DecodeCase {
  AttentionCase inputs;
  KvTiles<Bf16> kv;

  explicit DecodeCase(int64_t tokens) : inputs(tokens, kHeads), kv(inputs.tiles<Bf16>()) {}
};

std::shared_ptr<DecodeCase> decode_case(int64_t tokens) {
  static std::map<int64_t, std::weak_ptr<DecodeCase>> cases;
  std::shared_ptr<DecodeCase> found = cases[tokens].lock();
  if (found == nullptr) cases[tokens] = found = std::make_shared<DecodeCase>(tokens);
  return found;
}

double cache_bytes(int64_t tokens) {
  return 2.0 * sizeof(Bf16) * static_cast<double>(tokens * kHeads * kHeadDim);
}

// Its keys, then its values, as a reading of memory.
Work read_cache_work(const Keys& keys, int threads) {
  const int64_t tokens = number_of(keys, "tokens");
  auto of = decode_case(tokens);
  const size_t size = static_cast<size_t>(cache_bytes(tokens)) / 2 / sizeof(uint64_t);
  auto total = std::make_shared<uint64_t>();
  const auto read = [=](const Bf16* from) {
    *total += read_once(reinterpret_cast<const uint64_t*>(from), size, threads);
  };
  return {[=] {
            read(of->kv.keys(0, 0));
            read(of->kv.values(0, 0));
          },
          cache_bytes(tokens)};
}

Work decode_work(const Keys& keys) {
  const int64_t tokens = number_of(keys, "tokens");
  auto of = decode_case(tokens);
  Rotary rotary = rotary_of(text_of(keys, "scheme"));
  // Keys that were rotated when they were stored stand still now.
  if (text_of(keys, "cache") == "rotated")
    rotary.distance = DistanceMap({{.key = fixed_position(0.0)}});
  auto rotations = std::make_shared<DecodeRotations>(rotary, tokens, AngleMode::kExact);
  rotations->stand_at(tokens - 1);
  auto workspace = std::make_shared<DecodeWorkspace>();
  return {[=] {
            AttentionCase& inputs = of->inputs;
            decode<Bf16>(*rotations, of->kv, kHeads, inputs.queries.data(), inputs.row_scale[0],
                         inputs.out.data(), *workspace);
          },
          cache_bytes(tokens)};
}

Work prepare(const std::string& name, const Keys& keys, int threads) {
  const auto type = [&] { return text_of(keys, "type"); };
  if (name == "copy") return move_work(Move::kCopy, keys, threads);
  if (name == "scale") return move_work(Move::kScale, keys, threads);
  if (name == "read") return read_work(keys, threads);
  if (name == "floats") return products_work(Multiplier::kFma, threads);
  if (name == "bf16") return products_work(Multiplier::kDotBf16, threads);
  if (name == "rotate")
    return type() == "bf16" ? rotate_work<Bf16>(keys) : rotate_work<float>(keys);
  if (name == "table" && type() == "f64") return table_work<double>(keys);
  if (name == "table") return type() == "bf16" ? table_work<Bf16>(keys) : table_work<float>(keys);
  if (name == "sincos") return sincos_work(keys);
  if (name == "prefill")
    return type() == "bf16" ? prefill_work<Bf16>(keys) : prefill_work<float>(keys);
  if (name == "published_cap") return published_work(keys);
  if (name == "decode") return decode_work(keys);
  if (name == "read_cache") return read_cache_work(keys, threads);
  throw Error("name", "must be one that the head of bench/measure.cc lists", name);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Calls {
  int64_t count = 0;
  double seconds = 0;
};

Calls call_for(double shortest, const Work& work, bool of_thread) {
  const auto now = of_thread ? thread_seconds : wall_seconds;
  Calls calls;
  const double begin = now();
  while (calls.seconds < shortest) {
    work.call();
    ++calls.count;
    calls.seconds = now() - begin;
  }
  return calls;
}

// Of one call. What takes longer than the warming warms itself.
double seconds_of(const Work& work, bool of_thread) {
  Calls calls = call_for(kWarming, work, of_thread);
  if (calls.count > 1) calls = call_for(kShortest, work, of_thread);
  return calls.seconds / static_cast<double>(calls.count);
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
    const auto threads = static_cast<int>(number_of(keys, "threads"));
    omp_set_num_threads(threads);
    auto work = known.find(line);
    if (work == known.end()) {
      work = known.emplace(line, prepare(name, keys, threads)).first;
      work->second.call();  // touches what it needs
    }
    std::printf("%.9g %.9g\n", seconds_of(work->second, keys.contains("clock")), work->second.size);
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
