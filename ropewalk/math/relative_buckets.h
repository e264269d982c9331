// Which learned row the distance of two tokens selects.
#ifndef ROPEWALK_MATH_RELATIVE_BUCKETS_H_
#define ROPEWALK_MATH_RELATIVE_BUCKETS_H_

#include <cstdint>

namespace ropewalk {

// T5's buckets of r = j - i: exact for small distances, logarithmic up to max_distance, one for all
// beyond. Source: Raffel et al. 2020, arXiv 1910.10683.
struct T5Buckets {
  int64_t n_buckets = 32;  // >= 2; an odd one's last bucket is never used where bidirectional
  int64_t max_distance =
      128;  // > exact buckets: n_buckets / 2, or n_buckets / 4 where bidirectional
  bool bidirectional = false;  // the upper half of the buckets is for keys after the query

  // From 0 to n_buckets - 1. The boundaries are those of exact arithmetic.
  int64_t bucket(int64_t relative_position) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const T5Buckets& buckets);

// DeBERTa's buckets of r = i - j: exact up to n_buckets / 2 = mid, then
//   sign(r) * (ceil(ln(|r| / mid) / ln((max_distance - 1) / mid) * (mid - 1)) + mid)
// Source: He et al. 2020, arXiv 2006.03654; the logarithm is that of DeBERTa-v2's code.
struct DebertaBuckets {
  int64_t n_buckets = 256;     // >= 4, even
  int64_t max_distance = 512;  // > n_buckets / 2 + 1

  // The boundaries are those of exact arithmetic.
  int64_t bucket(int64_t relative_position) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const DebertaBuckets& buckets);

// Row of a table of 2 * limit + 1 learned rows: clip(j - i, -limit, limit) + limit. Source: Shaw,
// Uszkoreit, Vaswani 2018, arXiv 1803.02155.
struct ClippedDistance {
  int64_t limit = 16;  // >= 1

  int64_t n_rows() const { return 2 * limit + 1; }
  int64_t row(int64_t relative_position) const;
};

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_RELATIVE_BUCKETS_H_
