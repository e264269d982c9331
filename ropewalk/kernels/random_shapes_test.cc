// Attention and decoding on 10 000 random shapes: heads, rows, padding, caps, biases and any Rotary,
// shared out between the SIMD targets, and by every unit for bfloat16 products, against the double
// reference. Rotation's are in rotate_test.cc.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/testing/random_cases.h"
#include "ropewalk/testing/random_rotary.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

constexpr double kBound = 2e-5;
constexpr float kUntouched = -77;
constexpr int64_t kMargin = 32;  // elements around a result that must stay as they were

// Rows [first_row, first_row + n_rows) of one sequence.
struct Sequence {
  RandomRotary drawn;
  int64_t n_tokens = 0;
  int64_t first_row = 0;
  int64_t n_rows = 0;
  int64_t first_key = 0;
  std::vector<float> query;       // (n_rows, n_heads, head_dim)
  std::vector<float> key, value;  // (n_tokens, n_kv_heads, head_dim), as bfloat16 holds them
};

struct Case {
  PairLayout layout;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  double scale = 0;
  float softcap = 0;
  std::vector<float> bias;  // (n_heads, n_distances), or empty
  std::vector<Sequence> sequences;

  AttentionOptions options() const { return {.softcap = softcap, .distance_bias = bias}; }

  std::string text() const {
    std::string text = std::to_string(n_heads) + " heads on " + std::to_string(n_kv_heads) +
                       ", scale " + std::to_string(scale) + ", cap " + std::to_string(softcap) +
                       ", distances of bias " + std::to_string(std::ssize(bias) / n_heads);
    for (const Sequence& s : sequences)
      text += "\n  rows " + std::to_string(s.first_row) + " to " +
              std::to_string(s.first_row + s.n_rows) + " of " + std::to_string(s.n_tokens) +
              " tokens, first key " + std::to_string(s.first_key) + "; " + s.drawn.description;
    return text;
  }
};

std::vector<float> normals(Dice& dice, int64_t size, bool rounded) {
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = rounded ? to_float(to_bf16(dice.normal())) : dice.normal();
  return values;
}

PairLayout random_layout(Dice& dice) {
  const int64_t dim = dice.one_in(12) ? dice.one_of<int64_t>({48, 64, 80, 128})
                                      : dice.between(2, dice.coin() ? 12 : 40);
  const int64_t rotary = dice.coin() ? dim / 2 * 2 : 2 * dice.between(1, dim / 2);
  return {dice.coin() ? PairOrder::kHalf : PairOrder::kInterleaved, dim, rotary};
}

// What goes for all sequences.
Case random_case(Dice& dice) {
  Case c{.layout = random_layout(dice)};
  c.n_kv_heads = dice.between(1, 3);
  c.n_heads = c.n_kv_heads * dice.one_of<int64_t>({1, 1, 2, 3, 4, 5, 7});
  c.scale = dice.real(0.3, 1.2) / std::sqrt(static_cast<double>(c.layout.head_dim));
  if (dice.one_in(3)) c.softcap = static_cast<float>(dice.real(0.5, 30));
  return c;
}

void draw_bias(Dice& dice, int64_t n_tokens, Case& c) {
  if (!dice.one_in(3)) return;
  c.bias = normals(dice, c.n_heads * dice.between(1, n_tokens + 5), false);
}

Sequence random_sequence(Dice& dice, const Case& c, int64_t n_tokens, int64_t most_rows) {
  Sequence s{.drawn = random_rotary(dice, c.layout, n_tokens), .n_tokens = n_tokens};
  s.n_rows = dice.between(1, std::min(n_tokens, most_rows));
  s.first_row = dice.coin() ? n_tokens - s.n_rows : dice.between(0, n_tokens - s.n_rows);
  if (dice.one_in(3)) s.first_key = dice.between(1, dice.coin() ? n_tokens : 1 + n_tokens / 8);
  const int64_t dim = c.layout.head_dim;
  s.query = normals(dice, s.n_rows * c.n_heads * dim, false);
  s.key = normals(dice, n_tokens * c.n_kv_heads * dim, true);
  s.value = normals(dice, n_tokens * c.n_kv_heads * dim, true);
  return s;
}

// ---- the reference, of single rows and heads

struct ExpectedRow {
  size_t sequence = 0;
  int64_t row = 0;  // from first_row on
  int64_t head = 0;
  std::vector<double> out;  // (head_dim)
  double log_sum_exp = 0;
};

std::vector<double> head_of(const std::vector<float>& from, int64_t at, int64_t dim) {
  return {from.begin() + at * dim, from.begin() + (at + 1) * dim};
}

class RowReference {
 public:
  //   length  tokens of the whole sequence, for what depends on it
  RowReference(const Case& c, size_t sequence, int64_t i, int64_t length)
      : case_(c),
        sequence_(sequence),
        s_(c.sequences[sequence]),
        i_(i),
        length_(length),
        rule_(s_.drawn.rotary.spectrum),
        row_length_(rule_.length_for_row(i, length)),
        rotary_(at_length(s_.drawn.rotary, row_length_)),
        query_spectrum_(rule_.at(row_length_)) {}

  ExpectedRow head(int64_t head) const {
    const int64_t dim = case_.layout.head_dim;
    const int64_t kv_head = head / (case_.n_heads / case_.n_kv_heads);
    const int64_t row = i_ - s_.first_row;
    const std::vector<double> query = head_of(s_.query, row * case_.n_heads + head, dim);
    const int64_t n_distances = std::ssize(case_.bias) / case_.n_heads;
    std::vector<int64_t> seen;
    std::vector<double> logits;
    for (int64_t j = s_.first_key; j <= i_; ++j) {
      if (!rotary_.visibility.sees(i_, j)) continue;
      double logit =
          case_.scale * reference_logit(rotary_, query_spectrum_, key_spectrum(j), i_, j, query,
                                        head_of(s_.key, j * case_.n_kv_heads + kv_head, dim));
      const auto cap = static_cast<double>(case_.softcap);
      if (cap != 0) logit = cap * std::tanh(logit / cap);
      if (n_distances > 0)
        logit +=
            case_.bias[static_cast<size_t>(head * n_distances + std::min(i_ - j, n_distances - 1))];
      seen.push_back(j);
      logits.push_back(logit);
    }
    ExpectedRow expected{sequence_, row, head, std::vector<double>(static_cast<size_t>(dim)),
                         -std::numeric_limits<double>::infinity()};
    if (seen.empty()) return expected;
    const double largest = *std::ranges::max_element(logits);
    double total = 0;
    for (size_t k = 0; k < seen.size(); ++k) {
      const double weight = std::exp(logits[k] - largest);
      total += weight;
      const std::vector<double> value =
          head_of(s_.value, seen[k] * case_.n_kv_heads + kv_head, dim);
      for (size_t x = 0; x < value.size(); ++x) expected.out[x] += weight * value[x];
    }
    for (double& out : expected.out) out /= total;
    expected.log_sum_exp = largest + std::log(total);
    return expected;
  }

 private:
  Spectrum key_spectrum(int64_t j) const {
    if (rule_.length() != SpectrumRule::Length::kToken) return query_spectrum_;
    return rule_.at(rule_.length_for_row(j, length_));
  }

  const Case& case_;
  size_t sequence_;
  const Sequence& s_;
  int64_t i_;
  int64_t length_;
  const SpectrumRule& rule_;
  int64_t row_length_;
  Rotary rotary_;
  Spectrum query_spectrum_;
};

// The first row, the last and one between, a head of each: enough to tell any fault of a row or head
// from its neighbours' over thousands of cases.
//   own_length  every row is the last of a sequence of its own, not one of n_tokens
std::vector<ExpectedRow> reference_rows(Dice& dice, const Case& c, bool own_length) {
  std::vector<ExpectedRow> rows;
  for (size_t s = 0; s < c.sequences.size(); ++s) {
    const Sequence& own = c.sequences[s];
    std::vector<int64_t> chosen = {0, own.n_rows - 1, dice.between(0, own.n_rows - 1)};
    std::ranges::sort(chosen);
    chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
    for (const int64_t row : chosen) {
      const int64_t i = own.first_row + row;
      const RowReference reference(c, s, i, own_length ? i + 1 : own.n_tokens);
      rows.push_back(reference.head(dice.between(0, c.n_heads - 1)));
    }
  }
  return rows;
}

// ---- the kernels

// Of one sequence, with the margins.
struct Result {
  std::vector<float> out;
  std::vector<float> log_sum_exp;

  Result(const Case& c, const Sequence& s)
      : out(static_cast<size_t>(s.n_rows * c.n_heads * c.layout.head_dim + 2 * kMargin),
            kUntouched),
        log_sum_exp(static_cast<size_t>(s.n_rows * c.n_heads + 2 * kMargin), kUntouched) {}

  float* row(int64_t values) { return out.data() + kMargin + values; }
  std::span<float> sums(int64_t first, int64_t count) {
    return std::span(log_sum_exp)
        .subspan(static_cast<size_t>(kMargin + first), static_cast<size_t>(count));
  }
};

double row_scale(const Case& c, const Sequence& s, int64_t i, int64_t length) {
  const Rotary& rotary = s.drawn.rotary;
  return c.scale * rotary.temperature.at(i) *
         rotary.spectrum.at(rotary.spectrum.length_for_row(i, length)).logit_multiplier;
}

template <typename Element>
KvTiles<Element> cache_of(const Case& c, const Sequence& s) {
  KvTiles<Element> kv(c.n_kv_heads, c.layout.head_dim, s.n_tokens);
  kv.store(0, s.n_tokens, s.key.data(), s.value.data());
  return kv;
}

// All sequences in one call, each as the parts that one Rotations can serve.
template <typename Element>
std::vector<Result> attended(const Case& c, Products products) {
  std::vector<Result> results;
  std::vector<KvTiles<Element>> caches;
  for (const Sequence& s : c.sequences) {
    results.emplace_back(c, s);
    caches.push_back(cache_of<Element>(c, s));
  }
  std::vector<std::unique_ptr<Rotations>> rotations;
  std::vector<std::unique_ptr<std::vector<float>>> scales;
  std::vector<AttentionSequence<Element>> batch;
  for (size_t n = 0; n < c.sequences.size(); ++n) {
    const Sequence& s = c.sequences[n];
    std::vector<int64_t> starts =
        rotation_spans(s.drawn.rotary.spectrum, s.first_row, s.first_row + s.n_rows);
    starts.push_back(s.first_row + s.n_rows);
    for (size_t part = 0; part + 1 < starts.size(); ++part) {
      const int64_t first = starts[part];
      const int64_t count = starts[part + 1] - first;
      rotations.push_back(
          std::make_unique<Rotations>(s.drawn.rotary, s.n_tokens, first, count, AngleMode::kExact));
      scales.push_back(std::make_unique<std::vector<float>>());
      for (int64_t i = first; i < first + count; ++i)
        scales.back()->push_back(static_cast<float>(row_scale(c, s, i, s.n_tokens)));
      const int64_t heads = (first - s.first_row) * c.n_heads;
      batch.push_back({.rotations = rotations.back().get(),
                       .kv = &caches[n],
                       .queries = s.query.data() + heads * c.layout.head_dim,
                       .row_scale = *scales.back(),
                       .out = results[n].row(heads * c.layout.head_dim),
                       .first_key = s.first_key,
                       .log_sum_exp = results[n].sums(heads, count * c.n_heads)});
    }
  }
  AttentionOptions options = c.options();
  options.products = products;
  attend<Element>(batch, c.n_heads, options);
  return results;
}

template <typename Element>
std::vector<Result> decoded(const Case& c) {
  const Sequence& s = c.sequences[0];
  std::vector<Result> results = {Result(c, s)};
  const KvTiles<Element> kv = cache_of<Element>(c, s);
  DecodeRotations rotations(s.drawn.rotary, s.n_tokens, AngleMode::kExact);
  rotations.stand_at(s.first_row, s.n_rows);
  std::vector<float> scales;
  for (int64_t i = s.first_row; i < s.first_row + s.n_rows; ++i)
    scales.push_back(static_cast<float>(row_scale(c, s, i, i + 1)));
  DecodeWorkspace workspace;
  decode<Element>({.rotations = &rotations,
                   .kv = &kv,
                   .queries = s.query.data(),
                   .row_scale = scales,
                   .out = results[0].row(0),
                   .first_key = s.first_key,
                   .log_sum_exp = results[0].sums(0, s.n_rows * c.n_heads)},
                  c.n_heads, c.options(), workspace);
  return results;
}

// ---- how far off they are

struct Bounds {
  double out = kBound;
  double log_sum_exp = kBound;
};

// What bfloat16 products may do, as attention_options_test.cc derives it.
Bounds bf16_bounds(const Case& c) {
  double logit = 0;
  double most = 0;
  const int64_t dim = c.layout.head_dim;
  const auto longest = [dim](const std::vector<float>& heads) {
    double square = 0;
    for (int64_t head = 0; head < std::ssize(heads); head += dim)
      square = std::max(square, std::inner_product(heads.begin() + head, heads.begin() + head + dim,
                                                   heads.begin() + head, 0.0));
    return std::sqrt(square);
  };
  for (const Sequence& s : c.sequences) {
    double scale = 0;
    for (int64_t i = s.first_row; i < s.first_row + s.n_rows; ++i)
      scale = std::max(scale, row_scale(c, s, i, s.n_tokens));
    const double amplitude = std::max(1.0, s.drawn.rotary.spectrum.at(1).amplitude);
    logit = std::max(logit, (0x1p-8 + 0x1p-17) * scale * amplitude * amplitude * longest(s.query) *
                                longest(s.key));
    for (const float value : s.value) most = std::max(most, std::abs(static_cast<double>(value)));
  }
  return {(std::exp(2 * logit + 0x1p-8) - 1) * most, logit + 0x1p-8};
}

void expect_margins(const std::vector<float>& values) {
  for (int64_t x = 0; x < kMargin; ++x) {
    ASSERT_EQ(values[static_cast<size_t>(x)], kUntouched) << "before the result";
    ASSERT_EQ(values[values.size() - 1 - static_cast<size_t>(x)], kUntouched) << "past the result";
  }
  for (size_t x = kMargin; x < values.size() - kMargin; ++x)
    ASSERT_FALSE(std::isnan(values[x]) || values[x] == kUntouched) << "element " << x - kMargin;
}

// Square errors of outputs, and how many.
struct Squares {
  double sum = 0;
  int64_t count = 0;

  double root() const { return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count)); }
};

void expect_rows(const Case& c, std::vector<Result> results,
                 const std::vector<ExpectedRow>& expected, const Bounds& bounds,
                 Squares* squares = nullptr) {
  for (const Result& result : results) {
    expect_margins(result.out);
    expect_margins(result.log_sum_exp);
  }
  for (const ExpectedRow& row : expected) {
    const int64_t at = row.row * c.n_heads + row.head;
    const float* got = results[row.sequence].row(at * c.layout.head_dim);
    const std::string place = "sequence " + std::to_string(row.sequence) + ", row " +
                              std::to_string(row.row) + ", head " + std::to_string(row.head);
    for (size_t x = 0; x < row.out.size(); ++x) {
      const double error = static_cast<double>(got[x]) - row.out[x];
      ASSERT_LE(std::abs(error), bounds.out) << place << ", coordinate " << x;
      if (squares != nullptr) *squares = {squares->sum + error * error, squares->count + 1};
    }
    const auto sum = static_cast<double>(results[row.sequence].sums(at, 1)[0]);
    if (std::isinf(row.log_sum_exp)) {
      ASSERT_EQ(sum, row.log_sum_exp) << place;
    } else {
      ASSERT_LE(std::abs(sum - row.log_sum_exp),
                bounds.log_sum_exp * std::max(1.0, std::abs(row.log_sum_exp)))
          << place;
    }
  }
}

// Cases are small: a team of threads would cost more than they do. A few have one all the same.
class RandomShapes : public testing::Test {
 protected:
  ~RandomShapes() override {
    for (const auto& [target, count] : cases_)
      std::printf("%lld on %s\n", static_cast<long long>(count), target.c_str());
    omp_set_num_threads(omp_get_num_procs());
    force_bf16_product_unit("");
  }

  static void set_threads(uint64_t seed) { omp_set_num_threads(seed % 32 == 0 ? 3 : 1); }

  // Every target has its turn in either place, so that all get as many cases.
  template <typename First, typename Second>
  void on_two_targets(uint64_t seed, const First& first, const Second& second) {
    const std::vector<std::string> targets = attention_targets();
    const size_t n = targets.size();
    on_target(targets[seed % n], first);
    on_target(targets[(seed + n / 2) % n], second);
  }

  template <typename Body>
  void on_target(const std::string& target, const Body& body) {
    SCOPED_TRACE(target);
    const ForcedTarget forced(target);
    body();
    ++cases_[target];
  }

  std::map<std::string, int64_t> cases_;  // by target
};

Case prefill_case(Dice& dice) {
  Case c = random_case(dice);
  const int64_t most = dice.one_of<int64_t>({20, 70, 70, 140, 330});
  for (int64_t s = 0, count = dice.one_in(5) ? dice.between(2, 3) : 1; s < count; ++s)
    c.sequences.push_back(random_sequence(dice, c, dice.between(1, most), most > 70 ? 20 : 70));
  draw_bias(dice, most, c);
  return c;
}

// Around the ends of blocks, as a rule.
Case decode_case(Dice& dice) {
  Case c = random_case(dice);
  const int64_t edge = dice.one_of<int64_t>({0, 0, 0, 64, 128, kDecodeBlock, 2 * kDecodeBlock});
  // Long ones have short heads: the reference takes its time.
  if (edge >= kDecodeBlock) c.layout = {c.layout.order, dice.between(4, 9), 4};
  const int64_t n_tokens =
      edge == 0 ? dice.between(1, 200) : edge + dice.between(-9, dice.coin() ? 9 : 60);
  c.sequences.push_back(random_sequence(dice, c, n_tokens, dice.coin() ? 1 : 8));
  draw_bias(dice, n_tokens, c);
  return c;
}

class RandomPrefill : public RandomShapes {
 protected:
  void check(uint64_t first_seed, int64_t count) {
    std::map<std::string, Squares> squares;
    check_random_cases(
        first_seed, count, prefill_case, [&](const Case& c, Dice& dice, uint64_t seed) {
          const std::vector<ExpectedRow> expected = reference_rows(dice, c, false);
          set_threads(seed);
          on_two_targets(
              seed, [&] { expect_rows(c, attended<float>(c, Products::kFloat), expected, {}); },
              [&] { expect_rows(c, attended<Bf16>(c, Products::kFloat), expected, {}); });
          for (const std::string& unit : bf16_product_units()) {
            SCOPED_TRACE(unit);
            force_bf16_product_unit(unit);
            expect_rows(c, attended<Bf16>(c, Products::kBf16), expected, bf16_bounds(c),
                        &squares[unit]);
          }
          force_bf16_product_unit("");
        });
    for (const auto& [unit, of_unit] : squares) EXPECT_LE(of_unit.root(), 0x1p-8) << unit;
  }
};

TEST_F(RandomPrefill, IsTheReferencePart1) { check(100000, 2000); }
TEST_F(RandomPrefill, IsTheReferencePart2) { check(200000, 2000); }
TEST_F(RandomPrefill, IsTheReferencePart3) { check(300000, 2000); }

class RandomDecode : public RandomShapes {
 protected:
  void check(uint64_t first_seed, int64_t count) {
    check_random_cases(first_seed, count, decode_case,
                       [&](const Case& c, Dice& dice, uint64_t seed) {
                         const std::vector<ExpectedRow> expected = reference_rows(dice, c, true);
                         set_threads(seed);
                         on_two_targets(
                             seed, [&] { expect_rows(c, decoded<float>(c), expected, {}); },
                             [&] { expect_rows(c, decoded<Bf16>(c), expected, {}); });
                       });
  }
};

TEST_F(RandomDecode, IsTheReferencePart1) { check(400000, 2000); }
TEST_F(RandomDecode, IsTheReferencePart2) { check(500000, 2000); }

}  // namespace
}  // namespace ropewalk
