#include "cli/states_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/progress.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/formats/npy.h"

namespace ropewalk {
namespace {

struct Options {
  ModelOptions model;
  SchemeOptions scheme;
  TokenInput tokens;
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

void save(const std::string& path, const States& states) {
  const auto count = static_cast<ptrdiff_t>(states.n * states.hidden);
  const std::vector<double> values(states.values.data(), states.values.data() + count);
  write_npy(path, values, {static_cast<uint64_t>(states.n), static_cast<uint64_t>(states.hidden)});
}

void run(const Options& options) {
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
  const EncoderModel model(std::move(file), options.model.chosen_precision());
  States states;
  {
    ProgressLine line("states");
    states = model.states(ids, positions, [&](double done) { line.update(done); });
  }
  if (!options.npy.empty()) save(options.npy, states);
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
  command->add_option("--npy", options->npy,
                      "Write them there, (tokens, width), as NumPy reads them");
  command->add_flag("--json", options->json,
                    "{\"tokens\": [...], \"states\": [[...], ...]}, a row for each token");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
