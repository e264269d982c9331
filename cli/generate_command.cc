#include "cli/generate_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/memory_estimate.h"

namespace ropewalk {
namespace {

// How far the largest logit lies above the next; 0 where the two are equal.
float top_gap(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  float second = best;
  for (const float logit : logits) {
    second = std::max(second, std::min(best, logit));
    best = std::max(best, logit);
  }
  return best - second;
}

struct Options {
  ModelOptions model;
  SchemeOptions scheme;
  std::string prompt;
  int64_t count = 64;
  bool json = false;
};

void run(const Options& options) {
  ModelFile file = options.model.open_decoder();
  std::vector<int32_t> ids = tokenizer_of(file).encode(options.prompt);
  if (ids.empty()) throw Error("--prompt", "must give at least one token", "none");
  const size_t n_prompt = ids.size();
  const int64_t capacity = static_cast<int64_t>(n_prompt) + options.count;
  const Positions positions = options.scheme.positions(file.config);
  const Precision precision = options.model.chosen_precision();
  fit_into_memory(
      file, MemoryRun::generation(precision, static_cast<int64_t>(n_prompt), capacity, positions),
      "a shorter --prompt or a smaller --count");
  const Model model(std::move(file), precision);
  const Tokenizer& tokenizer = model.tokenizer();
  Sequence sequence(model, positions, capacity);
  std::vector<int32_t> next = ids;
  std::vector<float> gaps;  // (tokens added)
  if (!options.json) fmt::print("{}", tokenizer.decode(ids));
  for (int64_t n = 0; n < options.count; ++n) {
    const std::span<const float> logits = sequence.append(next);
    const int32_t chosen = greedy_choice(logits);
    if (tokenizer.eos() == chosen || tokenizer.bos() == chosen) break;
    ids.push_back(chosen);
    gaps.push_back(top_gap(logits));
    next = {chosen};
    if (options.json) continue;
    fmt::print("{}", tokenizer.piece(chosen));
    std::fflush(stdout);
  }
  if (!options.json) return fmt::print("\n");

  fmt::print("{{\"tokens\": {}, \"prompt_tokens\": {}, \"gaps\": [", json_list(ids), n_prompt);
  for (size_t n = 0; n < gaps.size(); ++n) fmt::print("{}{:.6g}", n == 0 ? "" : ", ", gaps[n]);
  fmt::print("]}}\n");
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "generate", "Continue a prompt, always with the likeliest token, under any scheme");
  options->model.add_to(*command);
  options->scheme.add_to(*command);
  command->add_option("-p,--prompt", options->prompt, "The text to continue")->required();
  command->add_option("-n,--count", options->count, "Most tokens to add")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 24))
      ->capture_default_str();
  command->add_flag(
      "--json", options->json,
      "{\"tokens\": [...], \"prompt_tokens\": N, \"gaps\": [...]}, gaps[n]: the best logit less "
      "the second at added token n");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
