#include "cli/losses_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/encoder_memory.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/study/curve.h"

namespace ropewalk {
namespace {

struct Options {
  ModelOptions model;
  SchemeOptions scheme;
  TokenInput tokens;
  std::string encoder_ids;
  bool json = false;
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// JSON knows no infinity and no NaN.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

void print_json(std::span<const int32_t> tokens, std::span<const double> losses) {
  fmt::print("{{\"tokens\": {}, \"losses\": [", json_list(tokens));
  for (size_t t = 0; t < losses.size(); ++t)
    fmt::print("{}{}", t == 0 ? "" : ", ", json_number(losses[t]));
  fmt::print("]}}\n");
}

// One line per bucket of positions; none lies on both sides of the trained length.
void print_table(const std::vector<double>& losses, int64_t trained) {
  constexpr int64_t kBuckets = 8;
  fmt::print("{:>18}  {:>10}  {:>10}\n", "predicting from", "mean loss", "perplexity");
  for (const Bucket& bucket : loss_curve(std::span(&losses, 1), trained, kBuckets)) {
    fmt::print("{:>8} - {:>7}  {:>10.4f}  {:>10.3f}{}\n", bucket.first, bucket.last,
               bucket.loss.mean, std::exp(bucket.loss.mean),
               trained > 0 && bucket.first >= trained ? "  beyond the trained length" : "");
  }
}

std::vector<int32_t> read_tokens(const ModelFile& file, const Options& options) {
  const TokenInput& tokens = options.tokens;
  std::vector<int32_t> ids = tokens.read(file);
  if (ids.size() < 2) {
    throw Error(tokens.ids.empty() ? tokens.text : tokens.ids, "must give at least two tokens",
                std::to_string(ids.size()));
  }
  return ids;
}

struct Scored {
  std::vector<int32_t> ids;
  std::vector<double> losses;
  int64_t trained = 0;
  bool adds_bos = false;
};

Scored score(const Options& options) {
  ProgressLine line("losses");
  const auto progress = [&](double done) { line.update(done); };
  ModelFile file =
      options.encoder_ids.empty() ? options.model.open_decoder() : options.model.open();
  const Precision precision = options.model.chosen_precision();
  const Positions positions = options.scheme.positions(file.config);
  Scored scored{.ids = read_tokens(file, options),
                .losses = {},
                .trained = trained_length(file.config),
                .adds_bos = options.tokens.ids.empty() && tokenizer_of(file).adds_bos()};
  if (!options.encoder_ids.empty()) {
    const std::vector<int32_t> read = read_ids(options.encoder_ids);
    if (EncoderModel::takes(file) && has_decoder(file)) {
      const EncoderRun memory{.precision = precision,
                              .tokens = std::ssize(read),
                              .decoder_tokens = std::ssize(scored.ids),
                              .positions = positions};
      refuse_too_large(file, memory, "fewer tokens");
    }
    const EncoderModel model(std::move(file), precision);
    scored.losses = model.losses(read, scored.ids, positions, progress);
    return scored;
  }
  fit_into_memory(file,
                  MemoryRun::losses(precision, static_cast<int64_t>(scored.ids.size()), &positions),
                  "a shorter text");
  const Model model(std::move(file), precision);
  scored.losses = model.losses(scored.ids, positions, progress);
  return scored;
}

void run(const Options& options) {
  const auto [ids, losses, trained, adds_bos] = score(options);
  if (options.json) return print_json(ids, losses);

  fmt::print("{} tokens, {} scored in one pass; scheme {}; trained length {}\n", ids.size(),
             losses.size(), options.scheme.text(), trained);
  if (options.tokens.ids.empty())
    fmt::print("BOS: {}\n", adds_bos ? "one, before the text" : "none");
  print_table(losses, trained);
  fmt::print("mean loss {:.5f} nats per token, perplexity {:.4f}\n", mean(losses),
             std::exp(mean(losses)));
}

}  // namespace

void add_losses_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("losses", "Loss of every token of a text, in one pass, under any scheme");
  options->model.add_to(*command);
  options->scheme.add_to(*command);
  options->tokens.add_to(*command);
  command
      ->add_option("--encoder-ids", options->encoder_ids,
                   "Of a model with an encoder and a decoder (T5), which needs it: a JSON array of "
                   "the token ids "
                   "that its encoder reads, as `--ids` takes them; --ids or --text is what its "
                   "decoder reads")
      ->check(names_file());
  command->add_flag("--json", options->json,
                    "{\"tokens\": [...], \"losses\": [...]}, losses[t] = -ln p(tokens[t + 1])");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
