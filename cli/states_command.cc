#include "cli/states_command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/result_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/encoder_memory.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/formats/npy.h"
#include "ropewalk/kernels/vector_ops.h"

namespace ropewalk {
namespace {

struct Options {
  ModelOptions model;
  SchemeOptions scheme;
  TokenInput tokens;
  std::vector<int64_t> logits_at;
  std::string npy;
  bool json = false;
};

std::span<const float> row_of(const States& states, int64_t token) {
  return {states.values.data() + token * states.hidden, static_cast<size_t>(states.hidden)};
}

void print_json(std::span<const int32_t> tokens, const States& states) {
  fmt::print("{{\"tokens\": {}, \"states\": [", json_list(tokens));
  for (int64_t t = 0; t < states.n; ++t) {
    const std::span<const float> row = row_of(states, t);
    fmt::print("{}[", t == 0 ? "" : ",\n");
    for (size_t x = 0; x < row.size(); ++x) fmt::print("{}{:.9g}", x == 0 ? "" : ", ", row[x]);
    fmt::print("]");
  }
  fmt::print("]}}\n");
}

// One line a token: how long its state is, and how it begins.
void print_table(std::span<const int32_t> tokens, const States& states) {
  constexpr size_t kShown = 4;
  fmt::print("{:>8}  {:>8}  {:>12}  {}\n", "position", "id", "length", "state");
  for (int64_t t = 0; t < states.n; ++t) {
    const std::span<const float> row = row_of(states, t);
    double squares = 0;
    for (const float value : row)
      squares += static_cast<double>(value) * static_cast<double>(value);
    fmt::print("{:>8}  {:>8}  {:>12.6g} ", t, tokens[static_cast<size_t>(t)], std::sqrt(squares));
    for (const float value : row.first(std::min(kShown, row.size())))
      fmt::print(" {:>11.5g}", value);
    fmt::print("{}\n", row.size() > kShown ? " ..." : "");
  }
}

//   values  of all rows, as many each
void save(const std::string& path, std::span<const float> values, size_t rows) {
  const std::vector<double> wide(values.begin(), values.end());
  write_npy(path, wide, {rows, values.size() / rows});
}

// ---- what a masked-LM head makes of states

struct Logits {
  std::span<const int64_t> at;  // positions
  std::vector<float> values;    // (positions, vocabulary)

  std::span<const float> row(size_t index) const {
    const size_t width = values.size() / at.size();
    return std::span(values).subspan(index * width, width);
  }
};

void print_json(std::span<const int32_t> tokens, const Logits& logits) {
  fmt::print("{{\"tokens\": {}, \"at\": [{}], \"logits\": [", json_list(tokens),
             fmt::join(logits.at, ", "));
  for (size_t k = 0; k < logits.at.size(); ++k)
    fmt::print("{}[{:.9g}]", k == 0 ? "" : ",\n", fmt::join(logits.row(k), ", "));
  fmt::print("]}}\n");
}

// The likeliest ids of each position.
void print_table(const Logits& logits) {
  constexpr size_t kShown = 5;
  fmt::print("{:>8}  {:>8}  {:>12}  {:>12}\n", "position", "id", "logit", "probability");
  for (size_t k = 0; k < logits.at.size(); ++k) {
    const std::span<const float> row = logits.row(k);
    SumOfExp sum;
    sum.add(row);
    std::vector<size_t> ids(row.size());
    std::iota(ids.begin(), ids.end(), size_t{0});
    const size_t shown = std::min(kShown, ids.size());
    std::ranges::partial_sort(ids, ids.begin() + static_cast<ptrdiff_t>(shown),
                              [&](size_t a, size_t b) { return row[a] > row[b]; });
    for (const size_t id : std::span(ids).first(shown)) {
      const auto logit = static_cast<double>(row[id]);
      fmt::print("{:>8}  {:>8}  {:>12.6g}  {:>12.6g}\n", logits.at[k], id, logit,
                 std::exp(logit - sum.log()));
    }
  }
}

// Of what is made of states: logits, and what a file of numbers is written from, twice in float64.
int64_t bytes_behind(const Options& options, const ModelFile& file, int64_t tokens) {
  const ModelShape& shape = file.config.shape;
  const bool logits = !options.logits_at.empty();
  const int64_t numbers =
      logits ? std::ssize(options.logits_at) * shape.vocabulary : tokens * shape.hidden;
  return numbers * ((logits ? 4 : 0) + (options.npy.empty() ? 0 : 16));
}

void run(const Options& options) {
  if (!options.npy.empty()) {
    check_result("--npy", options.npy, kNpyBeginning,
                 {options.model.path, options.tokens.text, options.tokens.ids});
  }
  ModelFile file = options.model.open();
  if (!EncoderModel::takes(file)) {
    // Says what is run at all, where it is no decoder either.
    describe_model(file.config, file.keys, file.tensors->name());
    throw Error(file.tensors->name(),
                "must be of an encoder: " + known_encoders(file.keys.is_gguf()),
                file.config.architecture, "of a decoder `ropewalk losses` gives losses");
  }
  const std::vector<int32_t> ids = options.tokens.read(file);
  const Positions positions = options.scheme.positions(file.config);
  const EncoderRun memory{.precision = options.model.chosen_precision(),
                          .tokens = std::ssize(ids),
                          .behind = bytes_behind(options, file, std::ssize(ids)),
                          .positions = positions};
  if (!ids.empty()) refuse_too_large(file, memory, "a shorter text");
  const auto head = options.logits_at.empty() ? WithMaskedHead::kNo : WithMaskedHead::kYes;
  const EncoderModel model(std::move(file), options.model.chosen_precision(), head);
  States states;
  {
    ProgressLine line("states");
    states = model.states(ids, positions, [&](double done) { line.update(done); });
  }
  if (head == WithMaskedHead::kYes) {
    const Logits logits{options.logits_at, model.masked_logits(states, options.logits_at)};
    if (!options.npy.empty()) save(options.npy, logits.values, logits.at.size());
    if (options.json) return print_json(ids, logits);
    if (options.npy.empty()) print_table(logits);
    return;
  }
  if (!options.npy.empty()) {
    const auto rows = static_cast<size_t>(states.n);
    const std::span<const float> all(states.values.data(),
                                     rows * static_cast<size_t>(states.hidden));
    save(options.npy, all, rows);
  }
  if (options.json) return print_json(ids, states);
  if (!options.npy.empty()) return;
  print_table(ids, states);
}

}  // namespace

void add_states_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "states", "Final states of every token of a text, of an encoder (BERT, ModernBERT, T5, ...)");
  options->model.add_to(*command);
  options->scheme.add_to(*command);
  options->tokens.add_to(*command);
  command
      ->add_option("--logits-at", options->logits_at,
                   "Of directories of BERT, RoBERTa and ModernBERT with a masked-LM head: what "
                   "that gives at these positions, from 0 on, in place of states: 3,7")
      ->delimiter(',');
  command
      ->add_option("--npy", options->npy,
                   "Write them there, (tokens, width), as NumPy reads them; with --logits-at "
                   "(positions, vocabulary)")
      ->check(names_output());
  command->add_flag("--json", options->json,
                    "{\"tokens\": [...], \"states\": [[...], ...]}, a row for each token; with "
                    "--logits-at {\"tokens\", \"at\": [...], \"logits\": [[...], ...]}");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
