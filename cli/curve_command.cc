#include "cli/curve_command.h"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/estimate_json.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/curve.h"

namespace ropewalk {
namespace {

constexpr int64_t kBuckets = 8;

struct Options {
  ModelOptions model;
  TextOptions text;
  int64_t length = 0;
  std::vector<std::string> schemes = {"declared"};
  std::string angles = "exact";
  bool json = false;
};

struct Curve {
  std::string scheme;
  Estimate mean;
  std::vector<Bucket> buckets;
};

// All of them first: a mistake in the last shows before the first has run.
std::vector<Positions> all_positions(const Options& options, const ModelConfig& config) {
  const AngleMode angles = options.angles == "float32" ? AngleMode::kFloat32 : AngleMode::kExact;
  std::vector<Positions> positions;
  for (const std::string& scheme : options.schemes) {
    positions.push_back(make_positions(config, {{.scheme = scheme}}, angles));
  }
  return positions;
}

std::vector<Curve> measure(const Options& options, const Model& model, const StudyText& text,
                           const std::vector<Positions>& positions) {
  std::vector<Curve> curves;
  ProgressLine line("curve");
  const auto passes = static_cast<double>(positions.size() * text.windows.size());
  double done = 0;
  for (size_t s = 0; s < positions.size(); ++s) {
    std::vector<std::vector<double>> losses;
    for (const Window& window : text.windows) {
      losses.push_back(model.losses(window.ids, positions[s],
                                    [&](double share) { line.update((done + share) / passes); }));
      ++done;
    }
    curves.push_back({parse_scheme(options.schemes[s]).text(), mean_loss(losses),
                      loss_curve(losses, trained_length(model.config()), kBuckets)});
  }
  return curves;
}

void print_json(const Options& options, const Model& model, const StudyText& text,
                const std::vector<Curve>& curves) {
  nlohmann::ordered_json out;
  out["model"] = options.model.path;
  out["trained_length"] = trained_length(model.config());
  out["length"] = options.length;
  out["windows"] = text.windows.size();
  out["bos"] = text.bos;
  out["left_over_tokens"] = text.dropped_tokens;
  out["curves"] = nlohmann::ordered_json::array();
  for (const Curve& curve : curves) {
    nlohmann::ordered_json row = {{"scheme", curve.scheme}, {"loss", estimate_json(curve.mean)}};
    row["buckets"] = nlohmann::ordered_json::array();
    for (const Bucket& bucket : curve.buckets) {
      row["buckets"].push_back(
          {{"first", bucket.first}, {"last", bucket.last}, {"loss", estimate_json(bucket.loss)}});
    }
    out["curves"].push_back(row);
  }
  fmt::print("{}\n", dump_json(out, 1));
}

void print_table(const Model& model, const StudyText& text, const std::vector<Curve>& curves) {
  const int64_t trained = trained_length(model.config());
  fmt::print("{}\ntrained length {}; nats per token, with 95 % intervals over windows\n",
             text.describe(), trained);
  for (const Curve& curve : curves) {
    fmt::print("\n{}\n{:>18}  {:>9}  {:>19}  {:>8}\n", curve.scheme, "predicting from", "mean loss",
               "interval", "tokens");
    for (const Bucket& bucket : curve.buckets) {
      const auto& interval = bucket.loss.interval;
      const std::string range =
          interval ? fmt::format("{:.4f} to {:.4f}", interval->low, interval->high) : "one window";
      fmt::print("{:>8} - {:>7}  {:>9.4f}  {:>19}  {:>8}{}\n", bucket.first, bucket.last,
                 bucket.loss.mean, range, bucket.loss.count,
                 trained > 0 && bucket.first >= trained ? "  beyond the trained length" : "");
    }
    fmt::print("{:>18}  {:>9.4f}  perplexity {:.4f}\n", "all", curve.mean.mean,
               std::exp(curve.mean.mean));
  }
}

void run(Options options) {
  options.schemes = distinct_schemes(options.schemes);
  ModelFile file = options.model.open_decoder();
  const StudyText text = read_study_text(options.text, file, options.length);
  const std::vector<Positions> positions = all_positions(options, file.config);
  const Precision precision = options.model.chosen_precision();
  for (const Positions& own : positions) {
    fit_into_memory(file, MemoryRun::losses(precision, text.longest_window(), &own),
                    "a shorter --length");
  }
  const Model model(std::move(file), precision);
  const std::vector<Curve> curves = measure(options, model, text, positions);
  if (options.json) return print_json(options, model, text, curves);
  print_table(model, text, curves);
}

}  // namespace

void add_curve_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("curve", "Mean loss by position, under one scheme or several");
  options->model.add_to(*command);
  options->text.add_to(*command);
  command->add_option("--length", options->length, "Tokens of a window")
      ->required()
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command->add_option("--scheme", options->schemes, "Schemes to compare; see docs/schemes.md")
      ->capture_default_str();
  command
      ->add_option("--angles", options->angles,
                   "float32 reproduces what ggml and transformers compute; for comparing only")
      ->check(CLI::IsMember({"exact", "float32"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
