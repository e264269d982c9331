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
  static constexpr bool kGoesOn = false;     // sixteen pairs of the depth are summed on their own

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

uint32_t rounded_pair(float x, float y) {
  const auto rounded = (__m128i)_mm_cvtneps_pbh(_mm_setr_ps(x, y, 0, 0));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(rounded));
}

__m512 load_bf16(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
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
        group_(block.group()),
        rows_(block.rows()),
        padded_rows_((rows_ + kPanelRows - 1) / kPanelRows * kPanelRows) {
    AttentionWorkspace& memory = *block.workspace;
    turned_ = memory.take<uint32_t>(padded_rows_ * width_ *
                                    static_cast<int64_t>(block.walk->families().size()));
    query_ = memory.take<float>(std::min(kChunk, block.tokens()) * group_ * head_dim_);
    key_ = memory.take<uint32_t>(width_ * kTile);
    value_ = memory.take<uint32_t>(kKeysTogether / 2 * (value_stride_ + kTile));
    scores_ = memory.take<float>(padded_rows_ * kKeysTogether);
    sums_ = memory.take<float>(padded_rows_ * value_stride_);
    largest_ = memory.take<float>(rows_);
    total_ = memory.take<float>(rows_);
    scale_ = memory.take<float>(block.tokens());
  }

  float* scores(int64_t row) const { return scores_ + row * kKeysTogether; }

  void begin() {
    Unit::start();
    std::fill_n(sums_, padded_rows_ * value_stride_, 0.0F);
    std::fill_n(largest_, rows_, -std::numeric_limits<float>::infinity());
    std::fill_n(total_, rows_, 0.0F);
    std::fill_n(key_, width_ * kTile, 0U);
    for (int64_t t = 0; t < block_.tokens(); ++t) scale_[t] = block_.query_scale(t);
  }

  void turn_queries(size_t family) {
    const std::vector<HeardPair>& pairs = block_.walk->families()[family].pairs;
    uint32_t* const turned = turned_of(family);
    std::fill_n(turned, padded_rows_ * width_, 0U);
    for (int64_t r = 0; r < rows_; ++r) {
      const float* from = query_of_token(r / group_) + r % group_ * head_dim_ + layout_.rotary_dim;
      const float scale = scale_[r / group_];
      uint32_t* to = turned + r * width_;
      for (int64_t x = 0; x < passing_; x += 2)
        *to++ = rounded_pair(from[x] * scale, x + 1 < passing_ ? from[x + 1] * scale : 0);
    }
    // Some tokens at a time, so that their rows stay near, and pair by pair, because the tables hold
    // the rows of one pair side by side.
    for (int64_t begin = 0; begin < block_.tokens(); begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, block_.tokens());
      for (int64_t t = begin; t < end; ++t) {
        std::copy_n(query_of_token(t), group_ * head_dim_,
                    query_ + (t - begin) * group_ * head_dim_);
      }
      uint32_t* to = turned + passing_pairs_;
      for (const HeardPair& pair : pairs) turn_pair(pair, begin, end, to++);
    }
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
      for (int64_t k = 0; k < in_table; k += 16) {
        const __m512 x = load_bf16(x_row + k);
        const __m512 y = load_bf16(y_row + k);
        const __m512 cos = _mm512_loadu_ps(pair.key_cos + j0 + k);
        const __m512 sin = _mm512_loadu_ps(pair.key_sin + j0 + k);
        const __m512 turned_x = _mm512_fnmadd_ps(y, sin, _mm512_mul_ps(x, cos));
        const __m512 turned_y = _mm512_fmadd_ps(x, sin, _mm512_mul_ps(y, cos));
        _mm512_storeu_si512(to + k, rounded_pairs(turned_x, turned_y));
      }
    }
  }

  void score(size_t family, int64_t row, int64_t rows, int64_t from_pair, int64_t to_pair,
             float* out, int64_t stride) const {
    const int64_t from = from_pair == 0 ? 0 : passing_pairs_ + from_pair;
    Unit::multiply({.a = turned_of(family) + row * width_ + from,
                    .a_stride = width_,
                    .b = key_ + from * kTile,
                    .b_stride = kTile,
                    .c = out,
                    .c_stride = stride,
                    .rows = rows,
                    .columns = kTile,
                    .depth = passing_pairs_ + to_pair - from,
                    .fresh = from == 0});
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
      block_.write_row(r, sums_ + r * value_stride_, total_[r], largest_[r]);
    Unit::stop();
  }

 private:
  static constexpr int64_t kChunk = 16;  // tokens

  // The heads of a token that share the keys, one after the other.
  const float* query_of_token(int64_t t) const {
    return block_.queries +
           ((block_.row_begin + t) * block_.n_heads + block_.kv_head * group_) * head_dim_;
  }
  uint32_t* turned_of(size_t family) const {
    return turned_ + static_cast<int64_t>(family) * padded_rows_ * width_;
  }

  // Tokens [begin, end) of the block, whose heads are in query_.
  void turn_pair(const HeardPair& pair, int64_t begin, int64_t end, uint32_t* to) const {
    const int64_t first = layout_.first(pair.pair);
    const int64_t second = layout_.second(pair.pair);
    for (int64_t t = begin; t < end; ++t) {
      const float cos = pair.query_cos[block_.row_begin + t] * scale_[t];
      const float sin = pair.query_sin[block_.row_begin + t] * scale_[t];
      const float* query = query_ + (t - begin) * group_ * head_dim_;
      for (int64_t g = 0; g < group_; ++g, query += head_dim_) {
        const float x = query[first];
        const float y = query[second];
        to[(t * group_ + g) * width_] = rounded_pair(x * cos - y * sin, y * cos + x * sin);
      }
    }
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
                    .a_stride = kKeysTogether,
                    .b = value_ + x * kKeysTogether / 2 + tile * kTile / 2 * kTile,
                    .b_stride = kTile,
                    .c = sums_ + row * value_stride_ + x,
                    .c_stride = value_stride_,
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
    float* sums = sums_ + r * value_stride_;
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
  const int64_t group_;
  const int64_t rows_;
  const int64_t padded_rows_;  // whole panels
  uint32_t* turned_;  // (families, padded_rows, width): pairs of a family's order, scaled, rotated
  float* query_;      // (kChunk, group, head_dim)
  uint32_t* key_;     // (width, kTile)
  uint32_t* value_;   // (columns of kTile, kKeysTogether / 2, kTile)
  float* scores_;     // (padded_rows, kKeysTogether)
  float* sums_;       // (padded_rows, value_stride)
  float* largest_;    // (rows)
  float* total_;      // (rows)
  float* scale_;      // (tokens)
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
