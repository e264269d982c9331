// Band usage: what each pair adds to the scores at each distance, and how far it decides which key
// is attended to. Measured at sampled queries of a text.
//
// A logit is the sum of what its pairs add, S = sum over c of s_c, so what makes the keys of a run
// of distances differ can be told apart exactly: cov(s_c, S) sums to var(S). A pair that adds the
// same everywhere moves all of the run, and tells nothing within it.
#ifndef ROPEWALK_STUDY_BAND_USAGE_H_
#define ROPEWALK_STUDY_BAND_USAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/engine/decoder.h"
#include "ropewalk/engine/positions.h"
#include "ropewalk/study/text_units.h"

namespace ropewalk {

// Runs of distances: 1-9, 10-99, 100-999, 1000-9999, 10000 and more.
inline constexpr size_t kDistanceBands = 5;
size_t distance_band(int64_t d);  // d >= 1

// The band in which a pair tells distances apart best: that of one radian, 1 / inv_freq tokens, and
// 1-9 where that is less; kDistanceBands for a pair that does not turn.
size_t own_band(double inv_freq);

// Means over the sampled queries, each weighing by the attention that it gives the group's keys.
struct PairUsage {
  double mean = 0;      // of s_c over the group's keys
  double variance = 0;  // of s_c across the keys
  double share = 0;     // cov(s_c, S) / var(S): these sum to 1
  double pull = 0;      // s_c where attention goes less its mean: what speaks for the attended keys
};

// The keys of one run of distances, or of one relation, as one head sees them.
struct GroupUsage {
  double attention = 0;          // mean share of a query's attention, over all sampled queries
  int64_t n_scores = 0;          // pairs of a sampled query and a key
  double score = 0;              // mean of S, all scores alike
  double variance = 0;           // var(S) across keys, weighed as above
  std::vector<PairUsage> pairs;  // (n_pairs + 1): the last is the coordinates that pass through
};

struct HeadUsage {
  int64_t layer = 0;
  int64_t head = 0;
  double own_attention = 0;    // on the query's own key
  double first_attention = 0;  // on the skipped first keys
  std::array<GroupUsage, kDistanceBands> bands;
  std::array<GroupUsage, kRelations> relations;  // all empty where places are not known
};

struct UsageOptions {
  int64_t queries = 64;  // sampled of each sequence; all where there are fewer
  uint64_t seed = 1;
  int64_t skipped_keys = 1;  // first keys, which are in no group: they draw attention whatever
                             // the text says
};

// Gathers it over any number of sequences.
class BandUsage {
 public:
  //   positions  those of the passes; must outlive it. Throws Error where they are not those of true
  //              distances: pairs then have no distance of their own.
  BandUsage(const ModelShape& shape, const Positions& positions, const UsageOptions& options);

  // Bytes that are held beside a pass over n_tokens: tables of angles by distance.
  static int64_t angle_bytes(const Positions& positions, int64_t n_tokens);

  // The next sequence, before its pass: its length, and where its tokens stand or nothing.
  //   places  (n_tokens), or empty
  void begin(int64_t n_tokens, std::span<const TextPlace> places);

  // A layer of a pass over the whole sequence. The same sums whatever the thread count.
  void add(const LayerView& view);

  int64_t n_queries() const { return n_queries_; }
  // How often each distance from 1 on was looked at, where nothing hides keys; (longest sequence).
  const std::vector<int64_t>& distance_counts() const { return distance_counts_; }
  // (n_layers * n_heads)
  std::vector<HeadUsage> usage() const;

 private:
  // Sums over the keys of a group and the queries that see them.
  struct PairSums {
    double mean = 0, variance = 0, covariance = 0, pull = 0;
  };
  struct GroupSums {
    double attention = 0;
    int64_t n_scores = 0;
    double score = 0;
    double variance = 0;
    std::vector<PairSums> pairs;
  };
  struct HeadSums {
    double own = 0, first = 0;
    std::array<GroupSums, kDistanceBands> bands;
    std::array<GroupSums, kRelations> relations;
  };
  // cos and sin by distance, each (n_distances, n_pairs).
  struct Angles {
    std::vector<float> cos, sin;
  };
  class HeadPass;

  static GroupUsage finished(const GroupSums& sums, int64_t n_queries);

  ModelShape shape_;
  const Positions& positions_;
  UsageOptions options_;
  int64_t n_queries_ = 0;
  std::vector<int64_t> distance_counts_;
  std::vector<HeadSums> sums_;
  // Of the sequence at hand.
  int64_t n_tokens_ = 0;
  std::span<const TextPlace> places_;
  std::vector<int64_t> rows_;
  std::vector<Angles> angles_;  // (n_schemes)
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_BAND_USAGE_H_
