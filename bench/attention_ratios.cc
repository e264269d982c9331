// What distance maps cost attention beside plain RoPE, and what shares of the machine's peak it
// reaches: medians, with ranges, of runs that take turns in one process, by the CPU time of one
// thread. Also a cap as it was published (github.com/bojone/rerope): the whole QK product twice,
// and a choice between them; by oneDNN's products, beside plain attention by the same means.
//
// usage: attention_ratios [tokens [heads [rounds]]]
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/attention_case.h"
#include "bench/peaks.h"
#include "ropewalk/math/turns.h"

namespace ropewalk::bench {
namespace {

struct Summary {
  double median, least, most;
};

Summary summary(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return {numbers[numbers.size() / 2], numbers.front(), numbers.back()};
}

class Turns {
 public:
  explicit Turns(const AttentionCase& inputs) : flops_(inputs.flops()) {}

  template <typename Run>
  void add(const std::string& name, double peak, Run run) {
    rows_.push_back({name, peak, std::move(run), {}});
  }

  // The first row is what the others are compared with.
  void take(const char* title, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (Row& row : rows_) {
        const double start = thread_seconds();
        row.run();
        row.seconds.push_back(thread_seconds() - start);
      }
    }
    std::printf("%s\n", title);
    for (const Row& row : rows_) print(row);
  }

 private:
  struct Row {
    std::string name;
    double peak;  // flops a second, 0: none
    std::function<void()> run;
    std::vector<double> seconds;
  };

  void print(const Row& row) const {
    std::vector<double> ratios;
    for (size_t k = 0; k < row.seconds.size(); ++k)
      ratios.push_back(row.seconds[k] / rows_.front().seconds[k]);
    const Summary time = summary(row.seconds);
    const Summary ratio = summary(ratios);
    std::printf("  %-44s %8.1f ms  %6.1f GF/s  x%.3f (%.3f to %.3f)", row.name.c_str(),
                time.median * 1e3, flops_ / time.median / 1e9, ratio.median, ratio.least,
                ratio.most);
    if (row.peak > 0) std::printf("  %.0f %% of peak", 100 * flops_ / time.median / row.peak);
    std::printf("\n");
  }

  double flops_;
  std::vector<Row> rows_;
};

const std::vector<std::string>& maps() {
  static const std::vector<std::string> names = {
      "declared",
      "cap,window=1024",
      "leaky,window=1024,divisor=8",
      "self_extend,window=1024,group=8",
      "log_tail,window=1024,bound=4096,at=32768,pieces=4",
      "full_turn",
      "cap,window=1024+full_turn"};
  return names;
}

template <typename Element>
void compare_maps(const char* title, AttentionCase& inputs, std::vector<std::string> schemes,
                  Products products, double peak, int rounds) {
  const KvTiles<Element> kv = inputs.tiles<Element>();
  std::vector<std::unique_ptr<Rotations>> rotations;
  Turns turns(inputs);
  for (const std::string& scheme : schemes) {
    rotations.push_back(std::make_unique<Rotations>(rotary_of(scheme), inputs.n_tokens, 0,
                                                    inputs.n_tokens, AngleMode::kExact));
    const Rotations& own = *rotations.back();
    turns.add(scheme, scheme == "declared" ? peak : 0, [&] {
      attend<Element>(own, kv, inputs.n_heads, inputs.queries.data(), inputs.row_scale,
                      inputs.out.data(), {.products = products});
    });
  }
  turns.take(title, rounds);
}

// ---- the published way

constexpr int64_t kBlock = 256;  // rows

// row (count) becomes weights of its first `seen` numbers, and zeros.
__attribute__((target_clones("avx512f", "avx2", "default"))) void soften(float* row, int64_t seen,
                                                                         int64_t count) {
  float largest = row[0];
  for (int64_t j = 1; j < seen; ++j) largest = row[j] > largest ? row[j] : largest;
  float total = 0;
  for (int64_t j = 0; j < seen; ++j) {
    const float x = std::max(row[j] - largest, -80.0F) * 1.44269504F;
    const float shifted = x + 0x1.8p23F;
    const float f = x - (shifted - 0x1.8p23F);
    const float power = 1 + f * (0.693147F + f * (0.2402265F + f * (0.0555033F + f * 0.0096184F)));
    row[j] = std::bit_cast<float>(std::bit_cast<int32_t>(power) +
                                  (std::bit_cast<int32_t>(shifted) << 23));
    total += row[j];
  }
  for (int64_t j = 0; j < seen; ++j) row[j] /= total;
  for (int64_t j = seen; j < count; ++j) row[j] = 0;
}

// All heads, (n_tokens, kHeadDim) each, turned by positions min(token, limit).
std::vector<float> turned(const AttentionCase& inputs, const std::vector<float>& heads,
                          const std::vector<int64_t>& positions) {
  const Spectrum spectrum = rotary_of("declared").spectrum.at(1);
  constexpr int64_t kHalf = kHeadDim / 2;
  std::vector<float> result(heads.size());
  for (int64_t t = 0; t < inputs.n_tokens; ++t) {
    for (int64_t pair = 0; pair < kHalf; ++pair) {
      const CosSin angle = cos_sin_at(positions[static_cast<size_t>(t)],
                                      spectrum.turns_per_token[static_cast<size_t>(pair)]);
      const auto cos = static_cast<float>(angle.cos), sin = static_cast<float>(angle.sin);
      for (int64_t h = 0; h < inputs.n_heads; ++h) {
        const float* from = heads.data() + (t * inputs.n_heads + h) * kHeadDim + pair;
        float* to = result.data() + (h * inputs.n_tokens + t) * kHeadDim + pair;
        to[0] = from[0] * cos - from[kHalf] * sin;
        to[kHalf] = from[kHalf] * cos + from[0] * sin;
      }
    }
  }
  return result;
}

class Published {
 public:
  Published(AttentionCase& inputs, int64_t window)
      : inputs_(inputs),
        window_(window),
        scores_(static_cast<size_t>(kBlock * inputs.n_tokens)),
        far_scores_(scores_.size()) {
    std::vector<int64_t> own(static_cast<size_t>(inputs.n_tokens));
    for (size_t t = 0; t < own.size(); ++t) own[t] = static_cast<int64_t>(t);
    const std::vector<int64_t> zero(own.size(), 0), capped(own.size(), window);
    query_ = turned(inputs, inputs.queries, own);
    key_ = turned(inputs, inputs.keys, own);
    far_query_ = turned(inputs, inputs.queries, capped);
    far_key_ = turned(inputs, inputs.keys, zero);
    value_ = turned(inputs, inputs.values, zero);
  }

  void plain() { attend_all(false); }
  void cap() { attend_all(true); }

 private:
  void attend_all(bool twice) {
    for (int64_t head = 0; head < inputs_.n_heads; ++head) {
      for (int64_t begin = 0; begin < inputs_.n_tokens; begin += kBlock)
        attend_block(head, begin, std::min(begin + kBlock, inputs_.n_tokens), twice);
    }
  }

  void attend_block(int64_t head, int64_t begin, int64_t end, bool twice) {
    const int64_t at = head * inputs_.n_tokens * kHeadDim;
    const int64_t rows = end - begin;
    score(query_.data() + at + begin * kHeadDim, key_.data() + at, rows, end, scores_.data());
    if (twice) {
      score(far_query_.data() + at + begin * kHeadDim, far_key_.data() + at, rows, end,
            far_scores_.data());
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = scores_.data() + r * end;
      const int64_t far = std::max<int64_t>(0, begin + r - window_ + 1);
      if (twice) std::copy_n(far_scores_.data() + r * end, far, row);
      soften(row, begin + r + 1, end);
    }
    dnnl_sgemm('N', 'N', rows, kHeadDim, end, 1, scores_.data(), end, value_.data() + at, kHeadDim,
               0, inputs_.out.data() + at + begin * kHeadDim, kHeadDim);
  }

  void score(const float* query, const float* key, int64_t rows, int64_t keys, float* to) const {
    dnnl_sgemm('N', 'T', rows, keys, kHeadDim, inputs_.row_scale[0], query, kHeadDim, key, kHeadDim,
               0, to, keys);
  }

  AttentionCase& inputs_;
  int64_t window_;
  std::vector<float> query_, key_, far_query_, far_key_, value_;  // (n_heads, n_tokens, kHeadDim)
  std::vector<float> scores_, far_scores_;                        // (kBlock, keys)
};

void compare_published(AttentionCase& inputs, int rounds) {
  const KvTiles<float> kv = inputs.tiles<float>();
  Published published(inputs, 1024);
  const Rotations plain(rotary_of("declared"), inputs.n_tokens, 0, inputs.n_tokens,
                        AngleMode::kExact);
  const Rotations cap(rotary_of("cap,window=1024"), inputs.n_tokens, 0, inputs.n_tokens,
                      AngleMode::kExact);
  const auto ours = [&](const Rotations& rotations) {
    attend<float>(rotations, kv, inputs.n_heads, inputs.queries.data(), inputs.row_scale,
                  inputs.out.data());
  };
  Turns turns(inputs);
  turns.add("plain, ours", 0, [&] { ours(plain); });
  turns.add("cap, ours", 0, [&] { ours(cap); });
  turns.add("plain, whole products", 0, [&] { published.plain(); });
  turns.add("cap, two whole products and a choice", 0, [&] { published.cap(); });
  turns.take("a cap as published, float32", rounds);
}

int64_t argument(int count, char** arguments, int which, int64_t otherwise) {
  return count > which ? std::strtoll(arguments[which], nullptr, 10) : otherwise;
}

void compare_all(int64_t tokens, int64_t heads, int rounds) {
  omp_set_num_threads(1);
  const double fma = peak_flops(Multiplier::kFma);
  const double dot = peak_flops(Multiplier::kDotBf16);
  std::printf("%lld tokens, %lld heads; peaks: FMA %.0f GF/s, VDPBF16PS %.0f GF/s\n",
              static_cast<long long>(tokens), static_cast<long long>(heads), fma / 1e9, dot / 1e9);
  AttentionCase inputs(tokens, heads);
  compare_maps<float>("float32 products", inputs, maps(), Products::kFloat, fma, rounds);
  compare_maps<float>("float32 products, the general path", inputs,
                      {"declared", "log_tail,window=1024"}, Products::kFloat, 0, rounds);
  for (const std::string& unit : bf16_product_units()) {
    force_bf16_product_unit(unit);
    compare_maps<Bf16>(("bfloat16 products by " + unit).c_str(), inputs, maps(), Products::kBf16,
                       dot, rounds);
  }
  compare_published(inputs, rounds);
}

}  // namespace
}  // namespace ropewalk::bench

int main(int count, char** arguments) {
  using ropewalk::bench::argument;
  try {
    ropewalk::bench::compare_all(argument(count, arguments, 1, 8192),
                                 argument(count, arguments, 2, 8),
                                 static_cast<int>(argument(count, arguments, 3, 5)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_ratios: %s\n", error.what());
    return 1;
  }
  return 0;
}
