// What distance maps cost attention beside plain RoPE, and what shares of the machine's peak it
// reaches: medians, with ranges, of runs that take turns in one process, by the CPU time of one
// thread. Also a cap as it was published (github.com/bojone/rerope): the whole QK product twice,
// and a choice between them; by oneDNN's products, beside plain attention by the same means.
//
// usage: attention_ratios [tokens [heads [rounds]]]
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/attention_case.h"
#include "bench/peaks.h"
#include "bench/published_cap.h"

namespace ropewalk::bench {
namespace {

struct Summary {
  double median, least, most;
};

Summary summary(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return {numbers[numbers.size() / 2], numbers.front(), numbers.back()};
}

class Interleaved {
 public:
  explicit Interleaved(const AttentionCase& inputs) : flops_(inputs.flops()) {}

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
  Interleaved runs(inputs);
  for (const std::string& scheme : schemes) {
    rotations.push_back(std::make_unique<Rotations>(rotary_of(scheme), inputs.n_tokens, 0,
                                                    inputs.n_tokens, AngleMode::kExact));
    const Rotations& own = *rotations.back();
    runs.add(scheme, scheme == "declared" ? peak : 0, [&] {
      attend<Element>(own, kv, inputs.n_heads, inputs.queries.data(), inputs.row_scale,
                      inputs.out.data(), {.products = products});
    });
  }
  runs.take(title, rounds);
}

void compare_published(AttentionCase& inputs, int rounds) {
  const KvTiles<float> kv = inputs.tiles<float>();
  PublishedCap published(inputs, 1024);
  const Rotations plain(rotary_of("declared"), inputs.n_tokens, 0, inputs.n_tokens,
                        AngleMode::kExact);
  const Rotations cap(rotary_of("cap,window=1024"), inputs.n_tokens, 0, inputs.n_tokens,
                      AngleMode::kExact);
  const auto ours = [&](const Rotations& rotations) {
    attend<float>(rotations, kv, inputs.n_heads, inputs.queries.data(), inputs.row_scale,
                  inputs.out.data());
  };
  Interleaved runs(inputs);
  runs.add("plain, ours", 0, [&] { ours(plain); });
  runs.add("cap, ours", 0, [&] { ours(cap); });
  runs.add("plain, whole products", 0, [&] { published.plain(); });
  runs.add("cap, two whole products and a choice", 0, [&] { published.cap(); });
  runs.take("a cap as published, float32", rounds);
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
