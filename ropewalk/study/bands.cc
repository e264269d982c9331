#include "ropewalk/study/bands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/part_of_progress.h"

namespace ropewalk {
namespace {

constexpr int64_t kCalibrationTokens = 2048;
constexpr double kFree = 0.01;  // nats per token: a loss that nobody would notice

int64_t required_trained_length(const Model& model) {
  const int64_t trained = trained_length(model.config());
  if (trained > 0) return trained;
  throw Error("bands", "needs layers that rotate, and a trained length",
              model.config().architecture);
}

// Where the tokens stand; nothing where the model has no tokenizer. Control tokens are no text.
std::vector<TextPlace> places_of(const Model& model, const std::vector<int32_t>& ids) {
  if (!model.has_tokenizer()) return {};
  const Tokenizer& tokenizer = model.tokenizer();
  std::vector<std::string> pieces = tokenizer.pieces(ids);
  for (size_t t = 0; t < ids.size(); ++t) {
    if (tokenizer.type(ids[t]) == TokenType::kControl) pieces[t].clear();
  }
  return text_places(pieces);
}

std::vector<double> inv_freq_of(const Rotary& rotary, int64_t length) {
  return rotary.spectrum.at(length).inv_freq();
}

bool rotates(const std::vector<double>& inv_freq) {
  return std::ranges::any_of(inv_freq, [](double f) { return f != 0; });
}

// First distance of a band.
double band_start(size_t band) { return std::pow(10.0, static_cast<double>(band)); }

// Adds up the heads of one group.
class GroupSum {
 public:
  explicit GroupSum(std::optional<size_t> band) : band_(band) {}

  void add(const GroupUsage& usage, const std::vector<double>& inv_freq) {
    ++n_heads_;
    group_.n_scores = std::max(group_.n_scores, usage.n_scores);
    group_.attention += usage.attention;
    if (!first_inv_freq_) first_inv_freq_ = &inv_freq;
    alike_ = alike_ && *first_inv_freq_ == inv_freq;
    pair_shares_.resize(std::max(pair_shares_.size(), usage.pairs.size()));
    for (size_t c = 0; c < usage.pairs.size(); ++c) {
      const double share = usage.attention * usage.pairs[c].share;
      pair_shares_[c] += share;
      total_ += share;
      const bool passed = c == inv_freq.size();
      group_.shares[passed ? kPairKinds - 1 : own_band(inv_freq[c])] += share;
      if (!passed && band_ && turned_before(inv_freq[c])) group_.finished_share += share;
    }
  }

  ModelGroup finished() {
    group_.attention /= std::max<double>(1, static_cast<double>(n_heads_));
    if (total_ > 0) {
      for (double& share : group_.shares) share /= total_;
      for (double& share : pair_shares_) share /= total_;
      group_.finished_share /= total_;
    }
    if (alike_) group_.pair_shares = pair_shares_;
    return group_;
  }

 private:
  bool turned_before(double inv_freq) const {
    return band_start(*band_) * std::abs(inv_freq) >= 2 * std::numbers::pi;
  }

  std::optional<size_t> band_;
  ModelGroup group_;
  const std::vector<double>* first_inv_freq_ = nullptr;
  std::vector<double> pair_shares_;
  bool alike_ = true;
  double total_ = 0;
  int64_t n_heads_ = 0;
};

void sum_groups(UsageReport& report) {
  const auto summed = [&](std::optional<size_t> band, const auto& group_of) {
    GroupSum sum(band);
    for (const HeadUsage& head : report.usage) {
      const std::vector<double>& inv_freq = report.inv_freq[head.layer];
      if (rotates(inv_freq)) sum.add(group_of(head), inv_freq);
    }
    return sum.finished();
  };
  for (size_t band = 0; band < kDistanceBands; ++band)
    report.bands[band] =
        summed(band, [&](const HeadUsage& head) -> const GroupUsage& { return head.bands[band]; });
  for (size_t related = 0; related < kRelations; ++related)
    report.relations[related] = summed(
        {}, [&](const HeadUsage& head) -> const GroupUsage& { return head.relations[related]; });
}

// Passes over the windows.
//   also   sees the layers besides
//   step   the progress of the next pass
UsageReport usage_of_passes(const Model& model, const std::vector<Window>& windows,
                            const Positions& positions, BandUsage& usage, const LayerObserver& also,
                            const std::function<Progress()>& step) {
  UsageReport report;
  for (const Window& window : windows) {
    const std::vector<TextPlace> places = places_of(model, window.ids);
    report.has_places = !places.empty();
    usage.begin(static_cast<int64_t>(window.ids.size()), places);
    model.observe(
        window.ids, positions,
        [&](const LayerView& view) {
          if (also) also(view);
          usage.add(view);
        },
        step());
  }
  report.n_queries = usage.n_queries();
  report.usage = usage.usage();
  for (const size_t scheme : positions.layers) {
    report.inv_freq.push_back(
        inv_freq_of(positions.schemes[scheme], trained_length(model.config())));
  }
  sum_groups(report);
  return report;
}

// How far B(d) is from the measured mean scores, in every band.
void check_prediction(const std::vector<LayerMeans>& means, const Positions& positions,
                      const std::vector<int64_t>& counts, BandsReport& report) {
  std::vector<int64_t> distances;
  for (size_t d = 1; d < counts.size(); ++d) {
    if (counts[d] > 0) distances.push_back(static_cast<int64_t>(d));
  }
  if (distances.empty()) return;
  const auto n_heads = static_cast<int64_t>(means[0].q.size());
  std::array<double, kDistanceBands> sum{}, worst{};
  std::array<int64_t, kDistanceBands> heads{};
  for (size_t layer = 0; layer < means.size(); ++layer) {
    if (report.bias.layers[layer].kind != LayerBias::Kind::kOpen) continue;
    const Rotary& rotary = positions.schemes[positions.layers[layer]];
    if (report.bias.layers[layer].farthest < distances.back()) continue;
    const auto curves = bias_of_layer(means[layer], rotary, distances.back(), distances);
    for (int64_t head = 0; head < n_heads; ++head) {
      std::array<double, kDistanceBands> predicted{};
      for (size_t at = 0; at < distances.size(); ++at)
        predicted[distance_band(distances[at])] +=
            static_cast<double>(counts[distances[at]]) * curves[head][at];
      const HeadUsage& usage = report.usage[static_cast<int64_t>(layer) * n_heads + head];
      for (size_t band = 0; band < kDistanceBands; ++band) {
        const GroupUsage& group = usage.bands[band];
        if (group.n_scores == 0) continue;
        const double miss =
            std::abs(predicted[band] / static_cast<double>(group.n_scores) - group.score);
        sum[band] += miss;
        worst[band] = std::max(worst[band], miss);
        ++heads[band];
      }
    }
  }
  for (size_t band = 0; band < kDistanceBands; ++band) {
    if (heads[band] == 0) continue;
    report.bands[band].mean_miss = sum[band] / static_cast<double>(heads[band]);
    report.bands[band].worst_miss = worst[band];
  }
}

std::string tokens(const std::optional<int64_t>& d) { return d ? std::to_string(*d) : "never"; }

}  // namespace

BiasReport measure_bias(const Model& model, const std::vector<Window>& windows,
                        int64_t target_length, const Progress& progress) {
  const int64_t trained = required_trained_length(model);
  const Positions positions = make_positions(model.config(), {});
  HeadMeans means(model.config().shape, kSkippedTokens);
  int64_t left = kCalibrationTokens;
  for (const Window& window : windows) {
    const int64_t taken = std::min({left, trained, static_cast<int64_t>(window.ids.size())});
    if (taken <= kSkippedTokens) continue;
    model.observe(
        std::span(window.ids).first(static_cast<size_t>(taken)), positions,
        [&](const LayerView& view) { means.add(view); }, progress);
    left -= taken;
  }
  return bias_report(means.means(), positions, trained, target_length);
}

MemoryRun usage_run(Precision precision, int64_t tokens, const Positions& declared) {
  MemoryRun run = MemoryRun::losses(precision, tokens, &declared);
  run.rows = tokens;
  run.beside = BandUsage::angle_bytes(declared, tokens);
  return run;
}

UsageReport measure_usage(const Model& model, const std::vector<Window>& windows,
                          const UsageOptions& options, const Progress& progress) {
  required_trained_length(model);
  const Positions positions = make_positions(model.config(), {});
  BandUsage usage(model.config().shape, positions, options);
  double begun = 0;
  return usage_of_passes(model, windows, positions, usage, {}, [&] {
    return part_of_progress(progress, begun++, 1, static_cast<double>(windows.size()));
  });
}

BandsReport measure_bands(const Model& model, const std::vector<Window>& windows,
                          const BandsOptions& options, const Progress& progress) {
  const int64_t trained = required_trained_length(model);
  const ModelShape& shape = model.config().shape;
  const Positions positions = make_positions(model.config(), {});
  HeadMeans means(shape, options.usage.skipped_keys);
  BandUsage usage(shape, positions, options.usage);
  double begun = 0;
  const auto step = [&] {
    return part_of_progress(progress, begun++, 1, static_cast<double>(3 * windows.size()));
  };
  BandsReport report;
  static_cast<UsageReport&>(report) = usage_of_passes(
      model, windows, positions, usage, [&](const LayerView& view) { means.add(view); }, step);
  const auto losses = [&](const std::string& scheme) {
    const Positions under = make_positions(model.config(), {{.scheme = scheme}});
    std::vector<Tally> tallies;
    for (const Window& window : windows) {
      Tally& tally = tallies.emplace_back();
      for (const double loss : model.losses(window.ids, under, step())) tally.add(loss);
    }
    return estimate(tallies);
  };
  report.declared_loss = losses("declared");
  report.full_turn_loss = losses("full_turn");

  const std::vector<LayerMeans> gathered = means.means();
  report.bias = bias_report(gathered, positions, trained, options.target_length);
  report.proposed = proposed_schemes(report.bias);
  report.calibration_tokens = means.n_tokens();
  check_prediction(gathered, positions, usage.distance_counts(), report);
  return report;
}

namespace {

std::string foretold_collapse(const BiasReport& bias) {
  if (bias.heads.empty()) return "No layer that rotates meets a distance past the trained length.";
  if (bias.collapsing == 0) {
    return fmt::format("No head's bias curve rises above its trained maximum up to {} tokens.",
                       bias.target_length);
  }
  return fmt::format(
      "Read past the trained length as it is, the model is predicted to collapse: {} of {} heads "
      "turn to the farthest keys, the first at {} tokens, half of all heads by {}.",
      bias.collapsing, bias.heads.size(), tokens(bias.earliest_collapse),
      tokens(bias.median_collapse));
}

// Empty where nothing attends that far.
std::string share_of_finished_pairs(const std::array<ModelGroup, kDistanceBands>& bands) {
  double far = 0, finished = 0;
  for (size_t band = 1; band < kDistanceBands; ++band) {
    far += bands[band].attention;
    finished += bands[band].attention * bands[band].finished_share;
  }
  if (far == 0) return "";
  return fmt::format(
      "From 10 tokens on, pairs that have turned all the way round give {:.0f} % of what tells "
      "keys "
      "apart.",
      100 * finished / far);
}

// Empty where it was not measured.
std::string need_of_fast_pairs(const BandsReport& report) {
  if (!report.declared_loss || !report.full_turn_loss) return "";
  const double cost = report.full_turn_loss->mean - report.declared_loss->mean;
  return fmt::format(
      "Fast pairs are {}needed far away: with every pair silent past its first turn the loss "
      "inside the trained length changes by {:+.4f} nats per token ({:.4f}, {:.4f} as declared).",
      cost < kFree ? "not " : "", cost, report.full_turn_loss->mean, report.declared_loss->mean);
}

}  // namespace

std::vector<std::string> bands_verdict(const BandsReport& report) {
  std::vector<std::string> said = {foretold_collapse(report.bias)};
  if (!report.proposed.empty()) {
    said.push_back(
        fmt::format("To try: {}, which caps the pairs that did not finish a turn in "
                    "training at the lowest point of the curve.",
                    report.proposed.front()));
  }
  said.push_back(share_of_finished_pairs(report.bands));
  said.push_back(need_of_fast_pairs(report));
  std::erase(said, "");
  return said;
}

}  // namespace ropewalk
