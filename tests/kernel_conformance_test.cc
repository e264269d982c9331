// Every registered scheme, every SIMD target this machine can run: the attention kernel against the
// double reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode.h"
#include "ropewalk/kernels/rotations.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 24;
constexpr int64_t kTarget = 150;  // three tiles, the last one cut

struct Case {
  int64_t n_tokens = kTarget;
  int64_t n_heads = 4;
  int64_t n_kv_heads = 2;
  PairLayout layout;
};

struct Inputs {
  std::vector<float> query, key, value;  // (n_tokens, heads, head_dim)
};

std::vector<float> random_floats(size_t size, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(generator);
  return values;
}

Inputs random_inputs(const Case& c) {
  std::mt19937 generator(7);
  const auto kv = static_cast<size_t>(c.n_tokens * c.n_kv_heads * c.layout.head_dim);
  const auto q = static_cast<size_t>(c.n_tokens * c.n_heads * c.layout.head_dim);
  return {random_floats(q, generator), random_floats(kv, generator), random_floats(kv, generator)};
}

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// As bfloat16 would keep them.
std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = to_float(to_bf16(value));
  return values;
}

// The kernel over rows [first, n_tokens) as one pass would run it: the spans of the spectrum's
// lengths one by one.
template <typename Element>
std::vector<float> run_kernel(const Rotary& rotary, const Case& c, const Inputs& in,
                              int64_t first = 0, Products products = Products::kFloat) {
  KvTiles<Element> kv(c.n_kv_heads, c.layout.head_dim, c.n_tokens);
  kv.store(0, c.n_tokens, in.key.data(), in.value.data());
  const int64_t row = c.n_heads * c.layout.head_dim;
  std::vector<float> out(in.query.size());
  std::vector<int64_t> starts = rotation_spans(rotary.spectrum, first, c.n_tokens);
  starts.push_back(c.n_tokens);
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    const Rotations rotations(rotary, c.n_tokens, starts[s], starts[s + 1] - starts[s],
                              AngleMode::kExact);
    std::vector<float> scale;
    for (int64_t i = starts[s]; i < starts[s + 1]; ++i) {
      const double multiplier =
          rotary.spectrum.at(rotary.spectrum.length_for_row(i, c.n_tokens)).logit_multiplier;
      scale.push_back(static_cast<float>(multiplier * rotary.temperature.at(i) /
                                         std::sqrt(static_cast<double>(c.layout.head_dim))));
    }
    attend<Element>(rotations, kv, c.n_heads, in.query.data() + starts[s] * row, scale,
                    out.data() + starts[s] * row, {.products = products});
  }
  return out;
}

// The last row, as the next token of a sequence that has the others in its cache.
template <typename Element>
std::vector<float> decode_last_row(const Rotary& rotary, const Case& c, const Inputs& in) {
  KvTiles<Element> kv(c.n_kv_heads, c.layout.head_dim, c.n_tokens);
  kv.store(0, c.n_tokens, in.key.data(), in.value.data());
  const int64_t i = c.n_tokens - 1;
  const int64_t row = c.n_heads * c.layout.head_dim;
  const int64_t length = rotary.spectrum.length_for_row(i, c.n_tokens);
  const double scale = rotary.spectrum.at(length).logit_multiplier * rotary.temperature.at(i) /
                       std::sqrt(static_cast<double>(c.layout.head_dim));
  std::vector<float> out(static_cast<size_t>(row));
  DecodeRotations rotations(rotary, c.n_tokens, AngleMode::kExact);
  DecodeWorkspace workspace;
  rotations.stand_at(i - 1);
  rotations.stand_at(i);
  decode<Element>(rotations, kv, c.n_heads, in.query.data() + i * row, static_cast<float>(scale),
                  out.data(), workspace);
  return out;
}

std::vector<double> run_reference(const Rotary& rotary, const Case& c, const Inputs& in) {
  const ReferenceShape shape{
      .n_tokens = c.n_tokens, .n_heads = c.n_heads, .n_kv_heads = c.n_kv_heads, .scale = {}};
  return reference_attention(rotary, shape, wide(in.query), wide(in.key), wide(in.value));
}

double worst(const std::vector<float>& got, const std::vector<double>& expected) {
  double difference = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    if (!std::isfinite(got[k])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(got[k] - expected[k]));
  }
  return difference;
}

Rotary declared(const PairLayout& layout) {
  const FrequencySource source{
      .base = 10000.0, .frequency_dim = layout.rotary_dim, .trained_length = kTrained};
  return plain_rotary(source, layout);
}

std::vector<std::string> settings(const SchemeInfo& scheme, int64_t n_pairs) {
  if (scheme.candidates == nullptr) return {scheme.example(n_pairs)};
  return scheme.candidates(kTrained, kTarget);
}

constexpr double kBound = 2e-5;

// By bfloat16 products: what rounding may do and what it does, as attention_options_test.cc derives
// it; logits are some units in size here.
constexpr double kBf16Root = 0x1p-7;
constexpr double kBf16Bound = 0x1p-3;

double root_mean_square(const std::vector<float>& got, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t k = 0; k < got.size(); ++k) sum += (got[k] - expected[k]) * (got[k] - expected[k]);
  return std::sqrt(sum / static_cast<double>(got.size()));
}

class KernelConformance : public testing::TestWithParam<std::string> {};

TEST_P(KernelConformance, EveryTargetGivesTheReference) {
  const SchemeInfo& scheme = *find_scheme(GetParam());
  double largest = 0;
  double largest_rounded = 0;
  int checks = 0;
  for (const PairLayout layout :
       {PairLayout{PairOrder::kHalf, 16, 12}, PairLayout{PairOrder::kInterleaved, 24, 24}}) {
    const Case c{.layout = layout};
    const Inputs in = random_inputs(c);
    const Inputs in_bf16 = {in.query, rounded(in.key), rounded(in.value)};
    const auto last_row = [&](const std::vector<double>& all) {
      return std::vector<double>(all.end() - c.n_heads * layout.head_dim, all.end());
    };
    for (const std::string& setting : settings(scheme, layout.n_pairs())) {
      const Rotary rotary = apply_scheme(setting, declared(layout));
      const std::vector<double> expected = run_reference(rotary, c, in);
      const std::vector<double> expected_bf16 = run_reference(rotary, c, in_bf16);
      for (const std::string& target : attention_targets()) {
        const ForcedTarget forced(target);
        ASSERT_EQ(attention_targets(), std::vector<std::string>{target});
        const double plain = worst(run_kernel<float>(rotary, c, in), expected);
        const double cached = worst(run_kernel<Bf16>(rotary, c, in), expected_bf16);
        EXPECT_LE(plain, kBound) << setting << " on " << target;
        const double next = worst(decode_last_row<float>(rotary, c, in), last_row(expected));
        const double next_cached =
            worst(decode_last_row<Bf16>(rotary, c, in), last_row(expected_bf16));
        EXPECT_LE(cached, kBound) << setting << " on " << target << ", bf16 cache";
        EXPECT_LE(next, kBound) << setting << " on " << target << ", decoding";
        EXPECT_LE(next_cached, kBound) << setting << " on " << target << ", decoding, bf16 cache";
        largest = std::max({largest, plain, cached, next, next_cached});
        checks += 4;
      }
      for (const std::string& unit : bf16_product_units()) {
        force_bf16_product_unit(unit);
        const std::vector<float> got = run_kernel<Bf16>(rotary, c, in_bf16, 0, Products::kBf16);
        EXPECT_LE(worst(got, expected_bf16), kBf16Bound) << setting << " by " << unit;
        EXPECT_LE(root_mean_square(got, expected_bf16), kBf16Root) << setting << " by " << unit;
        largest_rounded = std::max(largest_rounded, worst(got, expected_bf16));
        ++checks;
      }
      force_bf16_product_unit("");
    }
  }
  std::printf("%-20s %4d checks, worst difference %.1e, %.1e by bfloat16 products\n",
              scheme.name.c_str(), checks, largest, largest_rounded);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const SchemeInfo& scheme : all_schemes()) all.push_back(scheme.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Schemes, KernelConformance, testing::ValuesIn(names()),
                         [](const auto& scheme) { return scheme.param; });

// Parts of several kinds at once: the order of mask, visibility and map must hold for every pair of
// tokens.
TEST(KernelCombinations, GiveTheReference) {
  const PairLayout layout{PairOrder::kHalf, 16, 16};
  const Case c{.layout = layout};
  const Inputs in = random_inputs(c);
  const Inputs in_bf16 = {in.query, rounded(in.key), rounded(in.value)};
  for (const char* scheme : {
           "cap,window=20+full_turn",
           "leaky,window=20,divisor=3+full_turn,mode=freeze",
           "log_tail,window=20+full_turn",
           "log_tail,window=20,pairs=2:5+full_turn,turns=0.5,mode=freeze",
           "log_tail,window=20+sinks,count=3,size=30",
           "log_tail,window=20,pairs=1:4+sinks,count=3,size=30+full_turn",
           "cap,window=20+sinks,count=3,size=30",
           "self_extend,window=10,group=4+sinks,count=5,size=70",
           "self_extend,window=10,group=4,pairs=0:3+full_turn+logn",
           "cap,window=20,pairs=4:7+window,size=64",
           "log_tail,window=20+window,size=63",
           "yarn,factor=8+cap,window=15+full_turn+temperature,factor=1.5",
           "dynamic_ntk+cap,window=20+logn",
           "dynamic_ntk+log_tail,window=20+full_turn",
           "dynamic_ntk,block=64+sinks,count=2,size=100",
           "stale_dynamic_ntk+leaky,window=20,divisor=4",
           "sinks,count=1,size=1",
           "window,size=1",
           "dca,chunk=23,local=5+full_turn",
           "dca,chunk=23,local=5,pairs=2:5+sinks,count=3,size=50+full_turn,mode=freeze",
           "dca,chunk=70,local=6+window,size=64",
           "dynamic_ntk+dca_code,chunk=30,local=4",
           "stale_dynamic_ntk+dca_code+logn",
           "dpe,window=11,groups=1:3:7+full_turn",
           "dpe,window=11,groups=2:9,pairs=1:6+sinks,count=4,size=60",
           "dynamic_ntk,block=16+jet_long,window=9,block=16+full_turn",
           "jet_long,window=9,pairs=3:7+sinks,count=2,size=80",
           "group_attention,group=3,window=9+sinks,count=7,size=33",
           "group_attention,group=4,window=64+full_turn,turns=3",
           "self_logistic,window=9,capacity=7,rate=0.1+full_turn+window,size=99",
           "self_logistic,window=9,capacity=7,rate=0.1,by=position+sinks,count=5,size=40",
           "string,shift=20,window=6+full_turn,mode=freeze",
           "lm_infinite,sinks=5,window=30,ceiling=17+full_turn",
           "sinks,count=200,size=20",
           "xpos,scale_base=3",
           "xpos,scale_base=0.01,gamma=0.1",
           "xpos,scale_base=9+cap,window=20+full_turn,mode=freeze",
           "xpos,scale_base=9+log_tail,window=20+sinks,count=3,size=30",
           "xpos,scale_base=3+log_tail,window=20,pairs=2:5+full_turn,turns=0.5,mode=freeze",
           "xpos,scale_base=5+self_extend,window=10,group=4+sinks,count=5,size=70",
           "xpos,scale_base=5+dca,chunk=23,local=5,pairs=2:5+full_turn",
           "xpos,scale_base=20+dpe,window=11,groups=2:9,pairs=1:6+sinks,count=4,size=60",
           "xpos,scale_base=20+jet_long,window=9,pairs=3:7+sinks,count=2,size=80",
           "xpos,scale_base=4+window,size=63",
           "xpos,scale_base=6+sinks,count=3,size=30+logn",
       }) {
    const Rotary rotary = apply_scheme(scheme, declared(layout));
    EXPECT_LE(worst(run_kernel<float>(rotary, c, in), run_reference(rotary, c, in)), kBound)
        << scheme;
    const std::vector<double> expected = run_reference(rotary, c, in_bf16);
    for (const std::string& unit : bf16_product_units()) {
      force_bf16_product_unit(unit);
      const std::vector<float> got = run_kernel<Bf16>(rotary, c, in_bf16, 0, Products::kBf16);
      EXPECT_LE(worst(got, expected), kBf16Bound) << scheme << " by " << unit;
      EXPECT_LE(root_mean_square(got, expected), kBf16Root) << scheme << " by " << unit;
    }
    force_bf16_product_unit("");
  }
}

// Sinks that stay where they are, seen along a curve: two runs of keys go by distance.
TEST(KernelCombinations, SinksMayStayUnderACurve) {
  const PairLayout layout{PairOrder::kHalf, 16, 16};
  const Case c{.layout = layout};
  const Inputs in = random_inputs(c);
  for (const char* scheme : {"log_tail,window=20", "log_tail,window=20,pairs=1:4+full_turn"}) {
    Rotary rotary = apply_scheme(scheme, declared(layout));
    rotary.visibility = {.window = 30, .sinks = 4, .sinks_stay = true};
    EXPECT_LE(worst(run_kernel<float>(rotary, c, in), run_reference(rotary, c, in)), kBound)
        << scheme;
  }
}

// Odd sizes: one token, tiles one short and one over, one head, many heads per key, a head of two
// coordinates.
TEST(KernelShapes, GiveTheReference) {
  for (const int64_t n : {1, 2, 63, 64, 65, 127, 129}) {
    for (const auto& [heads, kv_heads] :
         std::map<int64_t, int64_t>{{1, 1}, {3, 1}, {8, 4}, {9, 3}}) {
      for (const PairLayout layout :
           {PairLayout{PairOrder::kHalf, 2, 2}, PairLayout{PairOrder::kInterleaved, 20, 6},
            PairLayout{PairOrder::kHalf, 33, 32}}) {
        const Case c{.n_tokens = n, .n_heads = heads, .n_kv_heads = kv_heads, .layout = layout};
        const Inputs in = random_inputs(c);
        for (const char* scheme : {"rope", "cap,window=40+full_turn", "log_tail,window=12"}) {
          const Rotary rotary = apply_scheme(scheme, declared(layout));
          EXPECT_LE(worst(run_kernel<float>(rotary, c, in), run_reference(rotary, c, in)), kBound)
              << scheme << ", " << n << " tokens, " << heads << " heads, head_dim "
              << layout.head_dim;
        }
      }
    }
  }
}

// A pass that starts late, on a cache that holds the earlier keys, gives the same rows.
TEST(KernelCache, LaterRowsAloneAreTheSame) {
  const PairLayout layout{PairOrder::kHalf, 16, 16};
  const Case c{.layout = layout};
  const Inputs in = random_inputs(c);
  for (const char* scheme :
       {"rope", "cap,window=20", "log_tail,window=20", "dynamic_ntk",
        "self_extend,window=10,group=4", "sinks,count=3,size=30", "dca,chunk=23,local=5",
        "group_attention,group=3,window=9", "jet_long,window=9", "dpe,window=11,groups=1:3", "xpos",
        "xpos,scale_base=2+self_extend,window=10,group=4"}) {
    const Rotary rotary = apply_scheme(scheme, declared(layout));
    const std::vector<double> expected = run_reference(rotary, c, in);
    for (const int64_t first : {1, 64, 100, 149}) {
      const std::vector<float> got = run_kernel<float>(rotary, c, in, first);
      const auto skip = static_cast<std::ptrdiff_t>(first * c.n_heads * layout.head_dim);
      EXPECT_LE(worst({got.begin() + skip, got.end()}, {expected.begin() + skip, expected.end()}),
                kBound)
          << scheme << " from row " << first;
    }
  }
}

TEST(KernelTargets, AreNamedAndRefused) {
  EXPECT_FALSE(attention_targets().empty());
  EXPECT_THROW(force_attention_target("8087"), Error);
}

}  // namespace
}  // namespace ropewalk
