// What `ropewalk bands` tells of a model, from one short pass over a text: the bias curve, what the
// pairs are used for, and whether fast pairs are needed far away.
#ifndef ROPEWALK_STUDY_BANDS_H_
#define ROPEWALK_STUDY_BANDS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/engine/model.h"
#include "ropewalk/study/band_usage.h"
#include "ropewalk/study/bias_curve.h"
#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

// First tokens of a window that count in no mean and no group.
inline constexpr int64_t kSkippedTokens = 1;

// Pairs by own_band(), those that do not turn, and the coordinates that pass through.
inline constexpr size_t kPairKinds = kDistanceBands + 2;

// Over all heads that rotate.
struct ModelGroup {
  double attention = 0;  // mean share of a query's
  int64_t n_scores = 0;  // of one head
  // Of what tells the group's keys apart, by the pairs' own bands; heads weigh by their attention
  // on the group. Sums to 1, or is all 0 where nothing was looked at.
  std::array<double, kPairKinds> shares{};
  // Of that, the part of pairs that have turned all the way round before the band begins. Of bands
  // only.
  double finished_share = 0;
  std::vector<double>
      pair_shares;  // (n_pairs + 1), where all layers have equal spectra; else empty
  // B(d) less the measured mean score, over the same distances: mean and largest size over heads.
  // Of bands only.
  std::optional<double> mean_miss, worst_miss;
};

// What pairs are used for.
struct UsageReport {
  int64_t n_queries = 0;                      // that it is of
  bool has_places = false;                    // whether sentences and chapters are known
  std::vector<HeadUsage> usage;               // (n_layers * n_heads)
  std::vector<std::vector<double>> inv_freq;  // (n_layers, n_pairs)
  std::array<ModelGroup, kDistanceBands> bands;
  std::array<ModelGroup, kRelations> relations;
};

struct BandsOptions {
  int64_t target_length = 0;
  UsageOptions usage = {.skipped_keys = kSkippedTokens};
};

struct BandsReport : UsageReport {
  BiasReport bias;
  std::vector<std::string> proposed;
  int64_t calibration_tokens = 0;          // that the means are of
  std::optional<Estimate> declared_loss;   // nats per token
  std::optional<Estimate> full_turn_loss;  // with every pair silent past its first turn
};

// The bias report alone, from the first tokens of the windows: some 2048 of them, for more change
// nothing, and never more of one window than the trained length.
//   windows  of any length, at least one
//   progress  of each window's pass
// Throws Error where no layer rotates.
BiasReport measure_bias(const Model& model, const std::vector<Window>& windows,
                        int64_t target_length, const Progress& progress = {});

// What measuring the usage asks of the model: queries and keys are looked at in one pass.
//   tokens    of the longest window
//   declared  must outlive the result
MemoryRun usage_run(Precision precision, int64_t tokens, const Positions& declared);

// The usage alone, from one pass over each window: no mean_miss and worst_miss. The rest as for
// measure_bands().
UsageReport measure_usage(const Model& model, const std::vector<Window>& windows,
                          const UsageOptions& options = {.skipped_keys = kSkippedTokens},
                          const Progress& progress = {});

// All of it. The same whatever the thread count.
//   windows  each of at most the trained length
// Throws Error where no layer rotates, or where the model declares no true distances.
BandsReport measure_bands(const Model& model, const std::vector<Window>& windows,
                          const BandsOptions& options, const Progress& progress = {});

// The verdict in sentences: what the curve predicts, and whether fast pairs are needed far away.
std::vector<std::string> bands_verdict(const BandsReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_BANDS_H_
