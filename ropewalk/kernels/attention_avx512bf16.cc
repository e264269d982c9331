// The bfloat16 kernel of attention. Written with intrinsics because the Highway that is installed
// (1.0.3) has no bfloat16 dot product of the hardware's. Everything compiled for AVX-512 here has
// internal linkage: no other file can be handed a copy of it.
//
// Scores: queries and keys are rotated in float32 and rounded once; a rotated pair is two
// neighbours in the depth of the product. Weights are rounded once, and their total is taken after
// that, so that they sum to 1 as they are used. All sums are float32.
#include "ropewalk/kernels/attention_avx512bf16.h"

#if defined(__x86_64__)

// GCC 12 warns of its own headers' undefined vectors (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <vector>

#include "ropewalk/kernels/attention_pass.h"

// What the code between BEGIN and END is compiled for.
#define ROPEWALK_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define ROPEWALK_COMPILE_FOR(target_list) \
  ROPEWALK_PRAGMA(clang attribute push(__attribute__((target(target_list))), apply_to = function))
#define ROPEWALK_END_AVX512BF16 ROPEWALK_PRAGMA(clang attribute pop)
#else
#define ROPEWALK_COMPILE_FOR(target_list) \
  ROPEWALK_PRAGMA(GCC push_options) ROPEWALK_PRAGMA(GCC target target_list)
#define ROPEWALK_END_AVX512BF16 ROPEWALK_PRAGMA(GCC pop_options)
#endif
#define ROPEWALK_BEGIN_AVX512BF16 \
  ROPEWALK_COMPILE_FOR("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,avx2,f16c")

namespace ropewalk {
namespace {

// c (rows, columns) = or += a (rows, depth) b (depth, columns), where each number of a and b is a
// pair of bfloat16 numbers, and pairs multiply as their inner product.
struct PairProduct {
  const uint32_t* a;
  int64_t a_stride;
  const uint32_t* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  int64_t rows;
  int64_t columns;  // a multiple of 16, <= 64
  int64_t depth;
  bool fresh;  // what is in c does not count
};

constexpr int64_t kMostDepthPadding = 16;  // pairs that a unit may read, unused, past the depth

ROPEWALK_BEGIN_AVX512BF16

// ---- products by VDPBF16PS

template <int R, int V>
void multiply_panel(const PairProduct& p, int64_t column) {
  __m512 sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      sum[r][v] =
          p.fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(p.c + r * p.c_stride + column + v * 16);
    }
  }
  const uint32_t* const a = p.a;
  const uint32_t* b = p.b + column;
  const int64_t a_stride = p.a_stride;
  for (int64_t k = 0; k < p.depth; ++k, b += p.b_stride) {
    __m512bh row[V];
    for (int v = 0; v < V; ++v) row[v] = (__m512bh)_mm512_loadu_si512(b + v * 16);
    for (int r = 0; r < R; ++r) {
      const auto factor = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[r * a_stride + k]));
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], factor, row[v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) _mm512_storeu_ps(p.c + r * p.c_stride + column + v * 16, sum[r][v]);
  }
}

template <int R>
void multiply_rows(const PairProduct& p) {
  int64_t x = 0;
  for (; x + 64 <= p.columns; x += 64) multiply_panel<R, 4>(p, x);
  for (; x < p.columns; x += 16) multiply_panel<R, 1>(p, x);
}

struct DotUnit {
  static constexpr int64_t kPanelRows = 6;  // by four vectors: 24 of 32 registers
  static constexpr int64_t kColumnsAtOnce = 64;
  static constexpr bool kGoesOn = true;

  static void start() {}
  static void stop() {}

  static void multiply(const PairProduct& p) {
    constexpr std::array kByRows = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                    multiply_rows<4>, multiply_rows<5>, multiply_rows<6>};
    kByRows[static_cast<size_t>(p.rows - 1)](p);
  }
};

ROPEWALK_END_AVX512BF16

// ---- products by AMX, sixteen rows by sixteen numbers to a tile

#define ROPEWALK_AMX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))

// All eight tiles alike. Bytes 16 and on: the bytes of a row, two bytes to a tile; 48 and on: rows.
constexpr std::array<uint8_t, 64> tile_shapes() {
  std::array<uint8_t, 64> shapes = {};
  shapes[0] = 1;  // the palette
  for (size_t tile = 0; tile < 8; ++tile) {
    shapes[16 + 2 * tile] = 64;
    shapes[48 + tile] = 16;
  }
  return shapes;
}
alignas(64) constexpr std::array<uint8_t, 64> kShapes = tile_shapes();

struct TileUnit {
  static constexpr int64_t kPanelRows = 32;  // two tiles, by two of the columns
  static constexpr int64_t kColumnsAtOnce = 16;
  static constexpr bool kGoesOn = false;  // sixteen pairs of the depth are summed on their own

  ROPEWALK_AMX static void start() { _tile_loadconfig(kShapes.data()); }

  ROPEWALK_AMX static void stop() { _tile_release(); }

  // Works on whole panels, whatever p.rows says, and reads up to kMostDepthPadding pairs of b past
  // the depth, which must be finite.
  ROPEWALK_AMX static void multiply(const PairProduct& p) {
    alignas(64) std::array<uint32_t, kPanelRows * 16> rest;  // of a, zeros beyond the depth
    const int64_t whole = p.depth / 16 * 16;
    if (whole < p.depth) {
      const auto mask = static_cast<__mmask16>((1U << (p.depth - whole)) - 1);
      for (int64_t r = 0; r < kPanelRows; ++r) {
        _mm512_store_si512(rest.data() + r * 16,
                           _mm512_maskz_loadu_epi32(mask, p.a + r * p.a_stride + whole));
      }
    }
    // GCC's tile loads do not say that they read memory.
    asm volatile("" : : "r"(rest.data()) : "memory");
    int64_t x = 0;
    for (; x + 32 <= p.columns; x += 32) multiply_two(p, x, whole, rest.data());
    if (x < p.columns) multiply_one(p, x, whole, rest.data());
  }

 private:
  static size_t bytes(int64_t numbers) { return static_cast<size_t>(numbers) * 4; }

  ROPEWALK_AMX static void multiply_two(const PairProduct& p, int64_t x, int64_t whole,
                                        const uint32_t* rest) {
    float* const c = p.c + x;
    float* const below = c + 16 * p.c_stride;
    if (p.fresh) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    } else {
      _tile_loadd(0, c, bytes(p.c_stride));
      _tile_loadd(1, c + 16, bytes(p.c_stride));
      _tile_loadd(2, below, bytes(p.c_stride));
      _tile_loadd(3, below + 16, bytes(p.c_stride));
    }
    for (int64_t k = 0; k < p.depth; k += 16) {
      const uint32_t* const a = k < whole ? p.a + k : rest;
      const int64_t a_stride = k < whole ? p.a_stride : 16;
      const uint32_t* const b = p.b + k * p.b_stride + x;
      _tile_loadd(6, b, bytes(p.b_stride));
      _tile_loadd(4, a, bytes(a_stride));
      _tile_loadd(7, b + 16, bytes(p.b_stride));
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(5, a + 16 * a_stride, bytes(a_stride));
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, bytes(p.c_stride));
    _tile_stored(1, c + 16, bytes(p.c_stride));
    _tile_stored(2, below, bytes(p.c_stride));
    _tile_stored(3, below + 16, bytes(p.c_stride));
  }

  ROPEWALK_AMX static void multiply_one(const PairProduct& p, int64_t x, int64_t whole,
                                        const uint32_t* rest) {
    float* const c = p.c + x;
    float* const below = c + 16 * p.c_stride;
    if (p.fresh) {
      _tile_zero(0);
      _tile_zero(2);
    } else {
      _tile_loadd(0, c, bytes(p.c_stride));
      _tile_loadd(2, below, bytes(p.c_stride));
    }
    for (int64_t k = 0; k < p.depth; k += 16) {
      const uint32_t* const a = k < whole ? p.a + k : rest;
      const int64_t a_stride = k < whole ? p.a_stride : 16;
      _tile_loadd(6, p.b + k * p.b_stride + x, bytes(p.b_stride));
      _tile_loadd(4, a, bytes(a_stride));
      _tile_loadd(5, a + 16 * a_stride, bytes(a_stride));
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(2, 5, 6);
    }
    _tile_stored(0, c, bytes(p.c_stride));
    _tile_stored(2, below, bytes(p.c_stride));
  }
};

ROPEWALK_BEGIN_AVX512BF16

// ---- rotating, packing, softmax

// Two vectors of float32, rounded, as pairs (x of lane l, y of lane l).
__m512i rounded_pairs(__m512 x, __m512 y) {
  const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(y, x);
  const __m512i evens = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(halves));
  const __m512i odds = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(halves, 1));
  return _mm512_or_si512(evens, _mm512_slli_epi32(odds, 16));
}

struct Turn {
  __m512 cos;
  __m512 sin;
};

Turn after(const Turn& a, const Turn& b) {
  return {_mm512_fnmadd_ps(a.sin, b.sin, _mm512_mul_ps(a.cos, b.cos)),
          _mm512_fmadd_ps(a.sin, b.cos, _mm512_mul_ps(a.cos, b.sin))};
}

__m512i turned(__m512 x, __m512 y, const Turn& turn) {
  return rounded_pairs(_mm512_fnmadd_ps(y, turn.sin, _mm512_mul_ps(x, turn.cos)),
                       _mm512_fmadd_ps(x, turn.sin, _mm512_mul_ps(y, turn.cos)));
}

__m512 load_bf16(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

struct Square {
  __m512i rows[16];
};

void transpose(Square& square) {
  __m512i* const rows = square.rows;
  __m512i other[16];
  for (size_t r = 0; r < 16; r += 2) {
    other[r] = _mm512_unpacklo_epi32(rows[r], rows[r + 1]);
    other[r + 1] = _mm512_unpackhi_epi32(rows[r], rows[r + 1]);
  }
  for (size_t r = 0; r < 16; r += 4) {
    for (size_t h = 0; h < 2; ++h) {
      rows[r + 2 * h] = _mm512_unpacklo_epi64(other[r + h], other[r + h + 2]);
      rows[r + 2 * h + 1] = _mm512_unpackhi_epi64(other[r + h], other[r + h + 2]);
    }
  }
  // Each vector now holds, in its quarters q, four rows of column 4 q + (its place among four).
  for (size_t r = 0; r < 4; ++r) {
    const __m512i low02 = _mm512_shuffle_i32x4(rows[r], rows[r + 4], 0x88);
    const __m512i low13 = _mm512_shuffle_i32x4(rows[r], rows[r + 4], 0xDD);
    const __m512i high02 = _mm512_shuffle_i32x4(rows[r + 8], rows[r + 12], 0x88);
    const __m512i high13 = _mm512_shuffle_i32x4(rows[r + 8], rows[r + 12], 0xDD);
    other[r] = _mm512_shuffle_i32x4(low02, high02, 0x88);
    other[r + 4] = _mm512_shuffle_i32x4(low13, high13, 0x88);
    other[r + 8] = _mm512_shuffle_i32x4(low02, high02, 0xDD);
    other[r + 12] = _mm512_shuffle_i32x4(low13, high13, 0xDD);
  }
  std::copy_n(other, 16, rows);
}

// 2^x for -126 <= x <= 0 within 3e-6 of itself, which a bfloat16 number (2^-9) does not feel; 1 at 0
// and 0 below -127, minus infinity included. The minimax polynomial of degree 4 of 2^f on
// [-1/2, 1/2] with 1 at 0.
__m512 exp2_of_weight(__m512 x) {
  const __m512 rounder = _mm512_set1_ps(0x1.8p23F);
  const __m512 bounded = _mm512_max_ps(_mm512_set1_ps(-127.0F), x);  // a NaN stays
  const __m512 shifted = _mm512_add_ps(bounded, rounder);
  const __m512 f = _mm512_sub_ps(bounded, _mm512_sub_ps(shifted, rounder));
  __m512 sum = _mm512_set1_ps(9.582853e-3F);
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(5.5906426e-2F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(2.4024099e-1F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(6.931242e-1F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(1.0F));
  const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(sum), exponent));
}

// Within 2e-6 of tanh.
__m512 tanh_of(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 twice = _mm512_set1_ps(-2 * std::numbers::log2e_v<float>);
  const __m512 fallen = exp2_of_weight(_mm512_mul_ps(_mm512_abs_ps(x), twice));
  const __m512 size = _mm512_div_ps(_mm512_sub_ps(one, fallen), _mm512_add_ps(one, fallen));
  const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN));
  return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(size), sign));
}

// Scores are kept as powers of two.
template <typename Unit>
class Bf16Kernel {
 public:
  static constexpr int64_t kPanelRows = Unit::kPanelRows;
  static constexpr bool kGoesOn = Unit::kGoesOn;
  static constexpr int64_t kKeysAtOnce = Unit::kColumnsAtOnce;

  explicit Bf16Kernel(const AttentionBlock<Bf16>& block)
      : block_(block),
        rotations_(*block.rotations),
        kv_(*block.kv),
        layout_(rotations_.layout()),
        head_dim_(kv_.head_dim()),
        passing_(head_dim_ - layout_.rotary_dim),
        passing_pairs_((passing_ + 1) / 2),
        width_(passing_pairs_ + layout_.n_pairs() + kMostDepthPadding),
        value_stride_(kv_.value_stride()),
        sum_stride_(odd_lines(value_stride_)),
        group_(block.group()),
        rows_(block.rows()),
        padded_rows_((rows_ + kPadding - 1) / kPadding * kPadding) {
    AttentionWorkspace& memory = *block.workspace;
    turned_ = memory.take<uint32_t>(padded_rows_ * width_ *
                                    static_cast<int64_t>(block.walk->families().size()));
    query_ = memory.take<float>(padded_rows_ * head_dim_);
    key_ = memory.take<uint32_t>(width_ * kTile);
    value_ = memory.take<uint32_t>(kKeysTogether / 2 * (value_stride_ + kTile));
    scores_ = memory.take<float>(padded_rows_ * kScoreStride);
    sums_ = memory.take<float>(padded_rows_ * sum_stride_);
    largest_ = memory.take<float>(rows_);
    total_ = memory.take<float>(rows_);
    tokens_ = memory.take<RowsOfTokens>(padded_rows_ / 16);
  }

  float* scores(int64_t row) const { return scores_ + row * kScoreStride; }

  void begin() {
    Unit::start();
    std::fill_n(sums_, padded_rows_ * sum_stride_, 0.0F);
    std::fill_n(largest_, rows_, -std::numeric_limits<float>::infinity());
    std::fill_n(total_, rows_, 0.0F);
    std::fill_n(key_, width_ * kTile, 0U);
    for (int64_t row = 0; row < padded_rows_; row += 16) {
      take_queries(row);
      tokens_[row / 16] = tokens_of_rows(row);
    }
  }

  // Sixteen pairs of kTurnedRows rows at a time: their entries lie side by side in the tables, and
  // those of the next sixteen pairs come nearer meanwhile.
  void turn_queries(size_t family) {
    const std::vector<HeardPair>& pairs = block_.walk->families()[family].pairs;
    const int64_t columns = passing_pairs_ + std::ssize(pairs);
    uint32_t* const turned = turned_of(family);
    std::array<Square, kTurnedRows / 16> squares;  // by pair, then by row
    for (int64_t row = 0; row < padded_rows_; row += kTurnedRows) {
      const int64_t end = std::min(row + kTurnedRows, padded_rows_);
      for (int64_t begin = 0; begin < columns; begin += 16) {
        fetch_entries(pairs, begin + 16, row);
        for (int64_t c = begin; c < begin + 16; ++c) {
          for (int64_t r = row; r < end; r += 16)
            squares[(r - row) / 16].rows[c - begin] = turned_column(pairs, c, r);
        }
        for (int64_t r = row; r < end; ++r) {
          Square& square = squares[(r - row) / 16];
          if (r % 16 == 0) transpose(square);
          _mm512_storeu_si512(turned + r * width_ + begin, square.rows[r % 16]);
        }
      }
    }
  }

  static bool reads_rows(const WalkFamily& family, int64_t pair) {
    return !family.key_stands[pair] && family.pairs[pair].key_steady.anchor_cos == nullptr;
  }

  void pack_keys(size_t family, int64_t n_pairs, int64_t tile) {
    const Bf16* keys = kv_.keys(block_.kv_head, tile);
    const int64_t j0 = tile * kTile;
    uint32_t* to = key_;
    for (int64_t x = 0; x < passing_; x += 2, to += kTile)
      pack_passing(keys + (layout_.rotary_dim + x) * kTile, x + 1 < passing_, to);
    // Tables end with the last row; what lies past it is hidden, so it may keep any finite value.
    const int64_t end = rotations_.first_row() + rotations_.n_rows();
    const int64_t in_table = std::min(kTile, (end - j0 + 15) / 16 * 16);
    const WalkFamily& own = block_.walk->families()[family];
    for (int64_t p = 0; p < n_pairs; ++p, to += kTile) {
      const HeardPair& pair = own.pairs[p];
      const Bf16* x_row = keys + layout_.first(pair.pair) * kTile;
      const Bf16* y_row = keys + layout_.second(pair.pair) * kTile;
      if (own.key_stands[p]) {
        for (int64_t k = 0; k < kTile; k += 16)
          _mm512_storeu_si512(to + k, pairs_of(x_row + k, y_row + k));
        continue;
      }
      if (const SteadyRows& steady = pair.key_steady; steady.anchor_cos != nullptr) {
        const Turn anchor = {_mm512_set1_ps(steady.anchor_cos[tile]),
                             _mm512_set1_ps(steady.anchor_sin[tile])};
        for (int64_t k = 0; k < kTile; k += 16) {
          const Turn turn = after(
              anchor, {_mm512_loadu_ps(steady.step_cos + k), _mm512_loadu_ps(steady.step_sin + k)});
          _mm512_storeu_si512(to + k, turned(load_bf16(x_row + k), load_bf16(y_row + k), turn));
        }
        continue;
      }
      for (int64_t k = 0; k < in_table; k += 16) {
        const Turn turn = {_mm512_loadu_ps(pair.key_cos + j0 + k),
                           _mm512_loadu_ps(pair.key_sin + j0 + k)};
        _mm512_storeu_si512(to + k, turned(load_bf16(x_row + k), load_bf16(y_row + k), turn));
      }
    }
  }

  void score(size_t family, int64_t row, int64_t rows, const KeyInterval& keys, int64_t from_pair,
             int64_t to_pair, float* out, int64_t stride) const {
    const int64_t from = from_pair == 0 ? 0 : passing_pairs_ + from_pair;
    Unit::multiply({.a = turned_of(family) + row * width_ + from,
                    .a_stride = width_,
                    .b = key_ + from * kTile + keys.first,
                    .b_stride = kTile,
                    .c = out + keys.first,
                    .c_stride = stride,
                    .rows = rows,
                    .columns = keys.last - keys.first,
                    .depth = passing_pairs_ + to_pair - from,
                    .fresh = from == 0});
  }

  void choose(int64_t row, int64_t rows, int64_t t, const float* cut,
              const KeyInterval* keys) const {
    for (int64_t r = 0; r < rows; ++r, cut += kTile) {
      float* const to = scores(row + r) + t * kTile;
      for (int64_t k = keys[r].first / 16 * 16; k < keys[r].last; k += 16) {
        const int64_t first = std::max<int64_t>(keys[r].first - k, 0);
        const int64_t last = std::min<int64_t>(keys[r].last - k, 16);
        const auto mask = static_cast<__mmask16>((0xFFFFU << first) & (0xFFFFU >> (16 - last)));
        _mm512_mask_storeu_ps(to + k, mask, _mm512_loadu_ps(cut + k));
      }
    }
  }

  // Plans with pairs of tokens that go by distance are not given to this kernel.
  void pack_keys_by_distance(int64_t /*tile*/) {}
  void score_by_distance(int64_t /*row*/, int64_t /*rows*/, int64_t /*tile*/, float* /*out*/,
                         int64_t /*stride*/) const {}

  // Values of 64 coordinates side by side, two keys to a number: (columns of 64,
  // kKeysTogether / 2, 64).
  void pack_values(int64_t tile) {
    const Bf16* from = kv_.values(block_.kv_head, tile);
    uint32_t* to = value_ + tile % kTilesTogether * kTile / 2 * kTile;
    for (int64_t x = 0; x < value_stride_; x += kTile, to += kKeysTogether / 2 * kTile) {
      const int64_t columns = std::min(kTile, value_stride_ - x);
      for (int64_t key = 0; key < kTile; key += 2) {
        const Bf16* row = from + key * value_stride_ + x;
        for (int64_t c = 0; c < columns; c += 16) {
          _mm512_storeu_si512(to + key / 2 * kTile + c, pairs_of(row + c, row + value_stride_ + c));
        }
      }
    }
  }

  void weigh(int64_t row, int64_t rows, uint8_t tiles, int64_t first_key) {
    for (int64_t r = row; r < row + rows; ++r) {
      if (block_.softcap != 0 || block_.bias != nullptr) adjust_row(r, tiles, first_key);
      weigh_row(r, tiles);
    }
  }

  void add_values(const uint8_t* seen) {
    for (int64_t t = 0; t < kTilesTogether; t += 2) {
      for (int64_t x = 0; x < value_stride_; x += kTile) {
        for (int64_t row = 0; row < rows_; row += kPanelRows) {
          const int tiles = seen[row / kPanelRows] >> t & 3;
          if (tiles != 0) add_product(row, t + (tiles == 2 ? 1 : 0), tiles == 3 ? 2 : 1, x);
        }
      }
    }
  }

  void finish() {
    for (int64_t r = 0; r < rows_; ++r)
      block_.write_row(r, sums_ + r * sum_stride_, total_[r], largest_[r]);
    Unit::stop();
  }

 private:
  static constexpr int64_t kPadding = 32;  // whole vectors of rows; whole panels of TileUnit

  const float* query_of_row(int64_t r) const {
    return block_.queries + block_.head_row_of(r) * head_dim_;
  }
  float* coordinate(int64_t x) const { return query_ + x * padded_rows_; }
  uint32_t* turned_of(size_t family) const {
    return turned_ + static_cast<int64_t>(family) * padded_rows_ * width_;
  }

  // Sixteen rows of queries, scaled; zeros past the last.
  void take_queries(int64_t row) {
    alignas(64) std::array<float, 16> scale = {};
    for (int64_t r = row; r < std::min(row + 16, rows_); ++r)
      scale[r - row] = block_.query_scale(r / group_);
    for (int64_t x = 0; x < head_dim_; x += 16) {
      const auto mask = static_cast<__mmask16>((1U << std::min<int64_t>(16, head_dim_ - x)) - 1);
      Square part;
      for (int64_t r = 0; r < 16; ++r) {
        part.rows[r] = row + r >= rows_ ? _mm512_setzero_si512()
                                        : _mm512_maskz_loadu_epi32(mask, query_of_row(row + r) + x);
      }
      transpose(part);
      for (int64_t c = 0; c < std::min<int64_t>(16, head_dim_ - x); ++c) {
        _mm512_store_ps(coordinate(x + c) + row, _mm512_mul_ps(_mm512_castsi512_ps(part.rows[c]),
                                                               _mm512_load_ps(scale.data())));
      }
    }
  }

  // Sixteen rows' tokens, and which of them each row takes.
  struct RowsOfTokens {
    int64_t first;  // counted from the pass's first row
    __mmask16 mask;
    __m512i places;
  };

  RowsOfTokens tokens_of_rows(int64_t row) const {
    const int64_t first = row / group_;
    const int64_t count = std::clamp<int64_t>(block_.tokens() - first, 0, 16);
    alignas(64) std::array<int32_t, 16> places;
    for (int64_t r = 0; r < 16; ++r) places[r] = static_cast<int32_t>((row + r) / group_ - first);
    return {block_.row_begin + first, static_cast<__mmask16>((1U << count) - 1),
            _mm512_load_si512(places.data())};
  }

  Turn turn_of(const HeardPair& pair, const RowsOfTokens& rows) const {
    if (pair.query_steady.anchor_cos != nullptr) return steady_turn(pair.query_steady, rows);
    return {_mm512_maskz_loadu_ps(rows.mask, pair.query_cos + rows.first),
            _mm512_maskz_loadu_ps(rows.mask, pair.query_sin + rows.first)};
  }

  // Sixteen tokens from any one on meet two anchors at most.
  Turn steady_turn(const SteadyRows& steady, const RowsOfTokens& rows) const {
    const int64_t token = rotations_.first_row() + rows.first;
    const int64_t anchor = token / kSteadyRows - rotations_.first_row() / kSteadyRows;
    const int64_t step = token % kSteadyRows;
    const int64_t left = kSteadyRows - step;  // until the next anchor
    const auto next = static_cast<__mmask16>(left >= 16 ? 0 : 0xFFFFU << left);
    const auto both = [&](const float* anchors) {
      return _mm512_mask_blend_ps(next, _mm512_set1_ps(anchors[anchor]),
                                  _mm512_set1_ps(anchors[anchor + 1]));
    };
    return after(
        {both(steady.anchor_cos), both(steady.anchor_sin)},
        {_mm512_loadu_ps(steady.step_cos + step), _mm512_loadu_ps(steady.step_sin + step)});
  }

  static constexpr int64_t kTurnedRows = 64;

  // The entries that columns [begin, begin + 16) of kTurnedRows rows take.
  void fetch_entries(const std::vector<HeardPair>& pairs, int64_t begin, int64_t row) const {
    const int64_t first = block_.row_begin + row / group_;
    const int64_t end = std::min(begin + 16 - passing_pairs_, std::ssize(pairs));
    for (int64_t p = std::max<int64_t>(begin - passing_pairs_, 0); p < end; ++p) {
      if (pairs[p].query_steady.anchor_cos != nullptr) continue;
      for (int64_t t = first; t < first + kTurnedRows / group_; t += 16) {
        __builtin_prefetch(pairs[p].query_cos + t);
        __builtin_prefetch(pairs[p].query_sin + t);
      }
    }
  }

  // One number of each of sixteen rows, from row r; zeros past the last pair.
  __m512i turned_column(const std::vector<HeardPair>& pairs, int64_t column, int64_t r) const {
    if (column < passing_pairs_) return passing_pair(column, r);
    const int64_t p = column - passing_pairs_;
    return p < std::ssize(pairs) ? turned_pair(pairs[p], r) : _mm512_setzero_si512();
  }

  // Coordinates 2 c and 2 c + 1 of those that pass through, of sixteen rows.
  __m512i passing_pair(int64_t c, int64_t row) const {
    const int64_t x = layout_.rotary_dim + 2 * c;
    const __m512 second =
        x + 1 < head_dim_ ? _mm512_load_ps(coordinate(x + 1) + row) : _mm512_setzero_ps();
    return rounded_pairs(_mm512_load_ps(coordinate(x) + row), second);
  }

  __m512i turned_pair(const HeardPair& pair, int64_t row) const {
    const RowsOfTokens& rows = tokens_[row / 16];
    const Turn turn = turn_of(pair, rows);
    return turned(_mm512_load_ps(coordinate(layout_.first(pair.pair)) + row),
                  _mm512_load_ps(coordinate(layout_.second(pair.pair)) + row),
                  {_mm512_permutexvar_ps(rows.places, turn.cos),
                   _mm512_permutexvar_ps(rows.places, turn.sin)});
  }

  // The weights of a row, rounded, two to a number, from the start of where its scores were.
  uint32_t* weights(int64_t row) const { return reinterpret_cast<uint32_t*>(scores(row)); }

  // Two rows of sixteen, zipped.
  static __m512i pairs_of(const Bf16* x, const Bf16* y) {
    const __m512i low =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    return _mm512_or_si512(low, _mm512_castps_si512(load_bf16(y)));
  }

  static void pack_passing(const Bf16* row, bool has_second, uint32_t* to) {
    for (int64_t k = 0; k < kTile; ++k)
      to[k] = row[k].bits | (has_second ? static_cast<uint32_t>(row[kTile + k].bits) << 16 : 0);
  }

  void add_product(int64_t row, int64_t tile, int64_t n_tiles, int64_t x) {
    Unit::multiply({.a = weights(row) + tile * kTile / 2,
                    .a_stride = kScoreStride,
                    .b = value_ + x * kKeysTogether / 2 + tile * kTile / 2 * kTile,
                    .b_stride = kTile,
                    .c = sums_ + row * sum_stride_ + x,
                    .c_stride = sum_stride_,
                    .rows = std::min(kPanelRows, rows_ - row),
                    .columns = std::min(kTile, value_stride_ - x),
                    .depth = n_tiles * kTile / 2,
                    .fresh = false});
  }

  // Cap, then bias; what is hidden stays so.
  void adjust_row(int64_t r, uint8_t tiles, int64_t first_key) {
    float* const row = scores(r);
    const __m512 hidden = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    const __m512 cap = _mm512_set1_ps(block_.softcap * std::numbers::log2e_v<float>);
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 16) {
        __m512 score = _mm512_loadu_ps(row + k);
        if (block_.softcap != 0) {
          const __mmask16 seen = _mm512_cmp_ps_mask(score, hidden, _CMP_NEQ_UQ);
          score = _mm512_mask_mul_ps(hidden, seen, cap, tanh_of(score));
        }
        if (block_.bias != nullptr)
          score = _mm512_add_ps(score, _mm512_loadu_ps(block_.bias_of(r, first_key) + k));
        _mm512_storeu_ps(row + k, score);
      }
    }
  }

  void weigh_row(int64_t r, uint8_t tiles) {
    float* const row = scores(r);
    __m512 peak = _mm512_set1_ps(largest_[r]);
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 16)
        peak = _mm512_max_ps(peak, _mm512_loadu_ps(row + k));
    }
    const float largest = _mm512_reduce_max_ps(peak);
    const bool sees_none = largest == -std::numeric_limits<float>::infinity();
    if (largest != largest_[r]) raise(r, largest);
    const __m512 shift = _mm512_set1_ps(sees_none ? 0 : largest);
    const auto ones = (__m512bh)_mm512_set1_epi32(0x3F803F80);
    __m512 total = _mm512_setzero_ps();
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 32) {
        const __m512 low = exp2_of_weight(_mm512_sub_ps(_mm512_loadu_ps(row + k), shift));
        const __m512 high = exp2_of_weight(_mm512_sub_ps(_mm512_loadu_ps(row + k + 16), shift));
        const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
        total = _mm512_dpbf16_ps(total, rounded, ones);
        _mm512_storeu_si512(weights(r) + k / 2, (__m512i)rounded);
      }
    }
    total_[r] += _mm512_reduce_add_ps(total);
  }

  // What the sums so far are worth under a new largest score.
  void raise(int64_t r, float largest) {
    const __m512 decay = exp2_of_weight(_mm512_set1_ps(largest_[r] - largest));
    largest_[r] = largest;
    total_[r] *= _mm512_cvtss_f32(decay);
    float* sums = sums_ + r * sum_stride_;
    for (int64_t x = 0; x < value_stride_; x += 16)
      _mm512_storeu_ps(sums + x, _mm512_mul_ps(_mm512_loadu_ps(sums + x), decay));
  }

  const AttentionBlock<Bf16>& block_;
  const Rotations& rotations_;
  const KvTiles<Bf16>& kv_;
  const PairLayout& layout_;
  const int64_t head_dim_;
  const int64_t passing_;        // coordinates that pass through
  const int64_t passing_pairs_;  // two by two
  const int64_t width_;          // pairs of a query, with room to read past them
  const int64_t value_stride_;
  const int64_t sum_stride_;
  const int64_t group_;
  const int64_t rows_;
  const int64_t padded_rows_;  // a multiple of kPadding
  uint32_t* turned_;  // (families, padded_rows, width): pairs of a family's order, scaled, rotated
  float* query_;      // (head_dim, padded_rows) scaled
  uint32_t* key_;     // (width, kTile)
  uint32_t* value_;   // (columns of kTile, kKeysTogether / 2, kTile)
  float* scores_;     // (padded_rows, kScoreStride)
  float* sums_;       // (padded_rows, sum_stride)
  float* largest_;    // (rows)
  float* total_;      // (rows)
  RowsOfTokens* tokens_;  // (padded_rows / 16)
};

ROPEWALK_END_AVX512BF16

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
