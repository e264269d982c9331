#include "ropewalk/kernels/rotate.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/testing/random_cases.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

double value_of(float element) { return element; }
double value_of(Bf16 element) { return to_float(element); }
double value_of(F16 element) { return to_float(element); }
void set(float value, float& element) { element = value; }
void set(float value, Bf16& element) { element = to_bf16(value); }
void set(float value, F16& element) { element = to_f16(value); }

// What rounding once to the element may take from a value, beside what float arithmetic takes.
double rounding(float, double) { return 0; }
double rounding(Bf16, double value) { return 0x1p-8 * std::abs(value) + 0x1p-126; }
double rounding(F16, double value) { return 0x1p-11 * std::abs(value) + 0x1p-25; }

// A call of random shape: everything that rotate() takes, with the memory it lies in.
template <typename Element>
struct Case {
  PairLayout layout;
  Spectrum spectrum;
  int64_t n_axes = 1;
  std::vector<DoubleDouble> positions;  // (rows, n_axes) of the table
  std::vector<int64_t> rows;
  bool backwards = false;
  bool apart = false;
  std::vector<HeadsView<Element>> from;  // data unset: offsets below
  std::vector<HeadsView<Element>> to;
  std::vector<int64_t> from_offset;
  std::vector<int64_t> to_offset;
  std::vector<Element> in;
  std::vector<Element> out;

  std::string text() const {
    std::string text = layout.strip() + (backwards ? ", backwards" : "") +
                       (apart ? ", apart" : ", in place") + ", axes " + std::to_string(n_axes) +
                       ", rows of a table given " + std::to_string(rows.size()) + ", amplitude " +
                       std::to_string(spectrum.amplitude);
    for (size_t tensor = 0; tensor < from.size(); ++tensor)
      text += "\n  from " + text_of(from[tensor], from_offset[tensor]) + " to " +
              text_of(to[tensor], to_offset[tensor]);
    return text;
  }

 private:
  static std::string text_of(const HeadsView<Element>& view, int64_t offset) {
    return std::to_string(view.n_batches) + " x " + std::to_string(view.n_tokens) + " x " +
           std::to_string(view.n_heads) + " by strides " + std::to_string(view.batch_stride) + " " +
           std::to_string(view.token_stride) + " " + std::to_string(view.head_stride) + " at " +
           std::to_string(offset);
  }
};

class Shapes {
 public:
  explicit Shapes(Dice& dice) : dice_(dice) {}

  int64_t between(int64_t least, int64_t most) { return dice_.between(least, most); }
  bool coin() { return dice_.coin(); }

  PairLayout layout() {
    const int64_t usual[] = {32, 64, 80, 96, 128, 256};
    const int64_t dim = between(0, 3) == 0 ? usual[between(0, 5)] : between(2, 90);
    const int64_t rotary = coin() ? dim / 2 * 2 : 2 * between(1, dim / 2);
    return {coin() ? PairOrder::kHalf : PairOrder::kInterleaved, dim, rotary};
  }

  // [batch, seq, heads, dim] or [batch, heads, seq, dim], with gaps.
  template <typename Element>
  HeadsView<Element> view(int64_t batches, int64_t tokens, int64_t heads, int64_t dim,
                          int64_t& size) {
    const auto gap = [&] { return between(0, 2) == 0 ? between(1, 20) : 0; };
    HeadsView<Element> made;
    made.n_batches = batches;
    made.n_tokens = tokens;
    made.n_heads = heads;
    if (coin()) {
      made.head_stride = dim + gap();
      made.token_stride = heads * made.head_stride + gap();
      made.batch_stride = tokens * made.token_stride + gap();
    } else {
      made.token_stride = dim + gap();
      made.head_stride = tokens * made.token_stride + gap();
      made.batch_stride = heads * made.head_stride + gap();
    }
    size = batches * made.batch_stride;
    return made;
  }

  template <typename Element>
  Case<Element> next() {
    Case<Element> made;
    made.layout = layout();
    const int64_t n_pairs = made.layout.n_pairs();
    made.spectrum = rope_spectrum(std::exp(static_cast<double>(between(3, 20))),
                                  made.layout.rotary_dim, n_pairs);
    if (coin()) made.spectrum.amplitude = 1.25;
    // Proportional: the last pairs stand still.
    if (dice_.one_in(5)) {
      for (int64_t pair = between(0, n_pairs); pair < n_pairs; ++pair)
        made.spectrum.turns_per_token[static_cast<size_t>(pair)] = 0.0;
    }
    if (dice_.one_in(4)) {
      made.n_axes = between(2, 4);
      for (int64_t pair = 0; pair < n_pairs; ++pair)
        made.spectrum.axis.push_back(static_cast<uint8_t>(between(0, made.n_axes - 1)));
    }
    const int64_t batches = between(1, 3);
    const int64_t tokens = between(1, 5);
    const int64_t n_rows = tokens + between(0, 3);
    const bool fractions = dice_.one_in(4);
    for (int64_t r = 0; r < n_rows * made.n_axes; ++r) {
      const auto whole = static_cast<double>(between(0, 1 << 20));
      made.positions.push_back(fractions ? DoubleDouble(whole) + dice_.real(0, 1) : whole);
    }
    const int64_t given[] = {0, 1, tokens, batches * tokens};
    for (int64_t r = 0, count = given[between(0, 3)]; r < count; ++r) {
      made.rows.push_back(between(0, n_rows - 1));
    }
    made.backwards = coin();
    made.apart = coin();
    int64_t in_size = between(0, 3);
    int64_t out_size = between(0, 3);
    for (int64_t tensor = 0, count = between(1, 2); tensor < count; ++tensor) {
      const int64_t heads = between(1, 6);
      int64_t size = 0;
      made.from_offset.push_back(in_size);
      made.from.push_back(view<Element>(batches, tokens, heads, made.layout.head_dim, size));
      in_size += size;
      made.to_offset.push_back(out_size);
      made.to.push_back(view<Element>(batches, tokens, heads, made.layout.head_dim, size));
      out_size += size;
    }
    made.in.resize(static_cast<size_t>(in_size));
    made.out.resize(static_cast<size_t>(out_size));
    for (Element& element : made.in) set(dice_.normal(), element);
    for (Element& element : made.out) set(-77, element);
    return made;
  }

 private:
  Dice& dice_;
};

template <typename Element>
int64_t table_row(const Case<Element>& c, int64_t batch, int64_t token) {
  const int64_t tokens = c.from[0].n_tokens;
  const int64_t given = std::ssize(c.rows);
  if (given == 0) return token;
  if (given == c.from[0].n_batches * tokens) return c.rows[batch * tokens + token];
  return given == tokens ? c.rows[token] : c.rows[0];
}

// A head turned, each pair by the position of its axis.
std::vector<double> turned_head(const PairLayout& layout, const Spectrum& spectrum,
                                std::span<const DoubleDouble> position,
                                const std::vector<double>& head) {
  std::vector<double> turned = reference_rotate(layout, spectrum, position[0], head);
  for (size_t axis = 1; axis < position.size(); ++axis) {
    const std::vector<double> other = reference_rotate(layout, spectrum, position[axis], head);
    for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
      if (spectrum.axis[static_cast<size_t>(pair)] != axis) continue;
      turned[layout.first(pair)] = other[layout.first(pair)];
      turned[layout.second(pair)] = other[layout.second(pair)];
    }
  }
  return turned;
}

// What must lie in `out` (or `in`, in place), and how far from it a value may be; what is no head's
// stays as it was.
template <typename Element>
struct Wanted {
  std::vector<double> value;
  std::vector<double> bound;
};

template <typename Element>
Wanted<Element> wanted(const Case<Element>& c) {
  Wanted<Element> made;
  for (const Element element : c.apart ? c.out : c.in) made.value.push_back(value_of(element));
  made.bound.resize(made.value.size());
  Spectrum spectrum = c.spectrum;
  if (c.backwards) {
    for (DoubleDouble& turns : spectrum.turns_per_token) turns = -turns;
  }
  for (size_t tensor = 0; tensor < c.from.size(); ++tensor) {
    const HeadsView<Element>& from = c.from[tensor];
    const HeadsView<Element>& to = c.apart ? c.to[tensor] : from;
    for (int64_t b = 0; b < from.n_batches; ++b) {
      for (int64_t t = 0; t < from.n_tokens; ++t) {
        const auto position =
            std::span(c.positions).subspan(table_row(c, b, t) * c.n_axes, c.n_axes);
        for (int64_t h = 0; h < from.n_heads; ++h) {
          const int64_t in = c.from_offset[tensor] + b * from.batch_stride + t * from.token_stride +
                             h * from.head_stride;
          const int64_t out = (c.apart ? c.to_offset : c.from_offset)[tensor] +
                              b * to.batch_stride + t * to.token_stride + h * to.head_stride;
          std::vector<double> head;
          for (int64_t x = 0; x < c.layout.head_dim; ++x) head.push_back(value_of(c.in[in + x]));
          const std::vector<double> turned = turned_head(c.layout, spectrum, position, head);
          for (int64_t x = 0; x < c.layout.head_dim; ++x) made.value[out + x] = turned[x];
          for (int64_t pair = 0; pair < c.layout.n_pairs(); ++pair) {
            const int64_t x = c.layout.first(pair);
            const int64_t y = c.layout.second(pair);
            const double error =
                0x1p-22 * c.spectrum.amplitude * (std::abs(head[x]) + std::abs(head[y]));
            made.bound[out + x] = error + rounding(Element(), std::abs(turned[x]) + error);
            made.bound[out + y] = error + rounding(Element(), std::abs(turned[y]) + error);
          }
        }
      }
    }
  }
  return made;
}

template <typename Element>
std::vector<Element> turned(const Case<Element>& c) {
  const auto table = rotation_rows<float>(c.spectrum, RowPositions::axes(c.positions, c.n_axes),
                                          TableAmplitude::kApplied);
  std::vector<Element> in = c.in;
  std::vector<Element> out = c.out;
  std::vector<RotatedHeads<Element>> tensors;
  for (size_t tensor = 0; tensor < c.from.size(); ++tensor) {
    HeadsView<Element> from = c.from[tensor];
    from.data = in.data() + c.from_offset[tensor];
    RotatedHeads<Element> heads = in_place(from);
    if (c.apart) {
      heads.to = c.to[tensor];
      heads.to.data = out.data() + c.to_offset[tensor];
    }
    tensors.push_back(heads);
  }
  rotate<Element>({c.layout, table, c.rows, c.backwards}, tensors);
  if (c.apart) {
    EXPECT_EQ(std::memcmp(in.data(), c.in.data(), in.size() * sizeof(Element)), 0);
  }
  return c.apart ? out : in;
}

template <typename Element>
void expect_reference_on_random_shapes(uint64_t first_seed, int64_t count) {
  const auto draw = [](Dice& dice) { return Shapes(dice).next<Element>(); };
  check_random_cases(first_seed, count, draw, [](const Case<Element>& c, Dice&, uint64_t) {
    const Wanted<Element> reference = wanted(c);
    on_every_target([&] {
      const std::vector<Element> got = turned(c);
      for (size_t x = 0; x < got.size(); ++x) {
        ASSERT_LE(std::abs(value_of(got[x]) - reference.value[x]), reference.bound[x])
            << "element " << x;
      }
    });
  });
}

// 10 000 shapes and strides, each on every SIMD target.
TEST(Rotate, FloatIsTheReferenceOnEveryTarget) {
  expect_reference_on_random_shapes<float>(1000000, 4000);
}
TEST(Rotate, Bf16IsTheReferenceOnEveryTarget) {
  expect_reference_on_random_shapes<Bf16>(2000000, 3000);
}
TEST(Rotate, F16IsTheReferenceOnEveryTarget) {
  expect_reference_on_random_shapes<F16>(3000000, 3000);
}

// Position 0: x' is x times the amplitude, so each rounding can be foretold.
template <typename Element>
void expect_rounded_once() {
  const float amplitudes[] = {1.0f,         1 + 0x1p-8f, 1 + 0x3p-8f, 1 + 0x1p-11f,
                              1 + 0x3p-11f, 1.1f,        3e-6f};
  for (const float amplitude : amplitudes) {
    Spectrum spectrum = rope_spectrum(1e4, 64, 32);
    spectrum.amplitude = amplitude;
    const auto table =
        rotation_rows<float>(spectrum, RowPositions::range(0, 1), TableAmplitude::kApplied);
    for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
      for (uint32_t first = 0; first < 0x10000; first += 64) {
        std::vector<Element> head(64);
        for (uint32_t x = 0; x < 64; ++x) head[x].bits = static_cast<uint16_t>(first + x);
        std::vector<Element> got = head;
        rotate<Element>({{order, 64, 64}, table},
                        {in_place(HeadsView<Element>{got.data(), 1, 1, 1, 64, 64, 64})});
        for (size_t x = 0; x < 64; ++x) {
          const float value = to_float(head[x]) * amplitude;
          const float partner = to_float(head[order == PairOrder::kHalf ? (x + 32) % 64 : x ^ 1u]);
          if (!std::isfinite(partner)) continue;  // NaN, by infinity times 0
          Element exact;
          set(value, exact);
          if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(to_float(got[x])));
          } else if (std::abs(value) < 0x1p-126f) {
            EXPECT_LE(std::abs(to_float(got[x])), 0x1p-126f);
          } else {
            ASSERT_EQ(to_float(got[x]), to_float(exact)) << to_float(head[x]) << " " << amplitude;
          }
        }
      }
    }
  }
}

TEST(Rotate, SixteenBitsAreRoundedOnceToNearestEven) {
  on_every_target([] {
    expect_rounded_once<Bf16>();
    expect_rounded_once<F16>();
  });
}

// Large enough for threads, and for results that go past the caches.
template <typename Element>
void expect_same_bits_on_threads(PairOrder order, bool apart) {
  constexpr int64_t kTokens = 700, kHeads = 32, kDim = 128;
  const auto table =
      rotation_rows<float>(rope_spectrum(1e4, kDim, kDim / 2), RowPositions::range(5, kTokens),
                           TableAmplitude::kApplied);
  AlignedBuffer<Element> in(kTokens * kHeads * kDim);
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  for (size_t x = 0; x < in.size(); ++x) set(normal(generator), in[x]);
  const auto view = [&](auto* data, int64_t tokens) {
    return HeadsView<std::remove_pointer_t<decltype(data)>>{data,          1,   tokens, kHeads, 0,
                                                            kHeads * kDim, kDim};
  };
  std::vector<std::vector<Element>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    AlignedBuffer<Element> out(in.size());
    if (!apart) std::copy_n(in.data(), in.size(), out.data());
    const RotatedHeads<Element> heads =
        apart ? RotatedHeads<Element>{view(static_cast<const Element*>(in.data()), kTokens),
                                      view(out.data(), kTokens)}
              : in_place(view(out.data(), kTokens));
    rotate<Element>({{order, kDim, kDim}, table}, {heads});
    results.emplace_back(out.data(), out.data() + out.size());
  }
  omp_set_num_threads(omp_get_num_procs());
  // Token by token, which no thread shares.
  AlignedBuffer<Element> lone(in.size());
  for (int64_t t = 0; t < kTokens; ++t) {
    const int64_t at = t * kHeads * kDim;
    const std::vector<int64_t> row = {t};
    rotate<Element>(
        {{order, kDim, kDim}, table, row},
        {{view(static_cast<const Element*>(in.data()) + at, 1), view(lone.data() + at, 1)}});
  }
  results.emplace_back(lone.data(), lone.data() + lone.size());
  for (const std::vector<Element>& result : results) {
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(Element)), 0);
  }
}

TEST(Rotate, AnyNumberOfThreadsGivesTheSameBits) {
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    for (const bool apart : {false, true}) {
      expect_same_bits_on_threads<float>(order, apart);
      expect_same_bits_on_threads<Bf16>(order, apart);
      expect_same_bits_on_threads<F16>(order, apart);
    }
  }
}

std::vector<float> some_heads(size_t size) {
  std::mt19937 generator(11);
  std::normal_distribution<float> normal;
  std::vector<float> heads(size);
  for (float& value : heads) value = normal(generator);
  return heads;
}

double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t x = 0; x < a.size(); ++x)
    worst = std::max(worst, std::abs(static_cast<double>(a[x]) - static_cast<double>(b[x])));
  return worst;
}

// Keys turned once are turned on: by a shift, to another spectrum, to both, and back to what they were.
TEST(Rotate, TurnedKeysAreTurnedOn) {
  constexpr int64_t kTokens = 40, kHeads = 2, kDim = 64;
  const PairLayout layout{PairOrder::kHalf, kDim, kDim};
  const Spectrum before = rope_spectrum(1e4, kDim, kDim / 2);
  Spectrum after = rope_spectrum(5e5, kDim, kDim / 2);
  after.amplitude = 1.25;
  const std::vector<float> raw = some_heads(kTokens * kHeads * kDim);
  const auto rotated = [&](std::vector<float> heads, const RotationRows<float>& table,
                           std::vector<int64_t> rows = {}, bool backwards = false) {
    rotate<float>(
        {layout, table, rows, backwards},
        {in_place(HeadsView<float>{heads.data(), 1, kTokens, kHeads, 0, kHeads * kDim, kDim})});
    return heads;
  };
  const auto at = [&](const Spectrum& spectrum, int64_t first, int64_t count) {
    return rotation_rows<float>(spectrum, RowPositions::range(first, count),
                                TableAmplitude::kApplied);
  };
  const std::vector<float> keys = rotated(raw, at(before, 100000, kTokens));

  const std::vector<float> shifted = rotated(raw, at(before, 100000 - 4096, kTokens));
  EXPECT_LT(worst_difference(rotated(keys, at(before, -4096, 1), {0}), shifted), 4e-6);

  const std::vector<float> other = rotated(raw, at(after, 100000, kTokens));
  const Spectrum step = re_rotation_spectrum(before, after);
  EXPECT_LT(worst_difference(rotated(keys, at(step, 100000, kTokens)), other), 4e-6);

  const std::vector<float> both = rotated(raw, at(after, 64, kTokens));
  const auto general =
      re_rotation_rows<float>(before, RowPositions::range(100000, kTokens), after,
                              RowPositions::range(64, kTokens), TableAmplitude::kApplied);
  EXPECT_LT(worst_difference(rotated(keys, general), both), 4e-6);

  const auto undone =
      rotation_rows<float>(after, RowPositions::range(64, kTokens), TableAmplitude::kUndone);
  EXPECT_LT(worst_difference(rotated(both, undone, {}, true), raw), 4e-6);
}

TEST(Rotate, FaultsAreToldAtTheEdge) {
  const auto table = rotation_rows<float>(rope_spectrum(1e4, 8, 4), RowPositions::range(0, 3),
                                          TableAmplitude::kApplied);
  const PairLayout layout{PairOrder::kHalf, 8, 8};
  std::vector<float> data(100);
  const HeadsView<float> heads{data.data(), 1, 3, 2, 48, 16, 8};
  EXPECT_NO_THROW(rotate<float>({layout, table}, {in_place(heads)}));
  EXPECT_NO_THROW(rotate<float>({layout, table}, {}));
  EXPECT_THROW(rotate<float>({{PairOrder::kHalf, 8, 7}, table}, {in_place(heads)}), Error);
  EXPECT_THROW(rotate<float>({{PairOrder::kHalf, 8, 6}, table}, {in_place(heads)}), Error);
  const auto fault = [&](auto change) {
    RotatedHeads<float> tensor = in_place(heads);
    change(tensor);
    EXPECT_THROW(rotate<float>({layout, table}, {in_place(heads), tensor}), Error);
  };
  fault([](auto& tensor) { tensor.to.token_stride = 20; });
  fault([](auto& tensor) { tensor.to.n_heads = 1; });
  fault([](auto& tensor) { tensor.to.data = nullptr; });
  fault([](auto& tensor) { tensor.from.n_tokens = tensor.to.n_tokens = 2; });
  fault([](auto& tensor) { tensor.from.n_heads = tensor.to.n_heads = -1; });
  for (const std::vector<int64_t>& rows :
       std::vector<std::vector<int64_t>>{{0, 1}, {0, 1, 3}, {0, -1, 2}, {0, 1, 2, 0, 1, 2}}) {
    EXPECT_THROW(rotate<float>({layout, table, rows}, {in_place(heads)}), Error);
  }
  HeadsView<float> longer = heads;
  longer.n_tokens = 4;
  EXPECT_THROW(rotate<float>({layout, table}, {in_place(longer)}), Error);
}

}  // namespace
}  // namespace ropewalk
