#include "cli/perplexity_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/text_layout.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/study/perplexity.h"

namespace ropewalk {
namespace {

constexpr double kNoModel = 1e4;  // a perplexity above it is a fault of the set-up

struct Options {
  ModelOptions model;
  SchemeOptions scheme;
  TokenInput tokens;
  int64_t window = 0;
  int64_t stride = 0;       // 0: not given
  int64_t most_tokens = 0;  // 0: all
  bool bos_once = false;
  bool json = false;
};

std::vector<PerplexityOptions> definitions(const Options& options, std::optional<int32_t> bos) {
  std::vector<PerplexityOptions> all;
  for (const PerplexityRule rule : {PerplexityRule::kSecondHalf, PerplexityRule::kWholeChunks})
    all.push_back({.rule = rule, .window = options.window, .bos = bos});
  if (options.stride > 0) {
    all.push_back({.rule = PerplexityRule::kStrided,
                   .window = options.window,
                   .stride = options.stride,
                   .bos = bos});
  }
  return all;
}

const char* name_of(PerplexityRule rule) {
  switch (rule) {
    case PerplexityRule::kStrided:
      return "strided";
    case PerplexityRule::kSecondHalf:
      return "second_half";
    case PerplexityRule::kWholeChunks:
      break;
  }
  return "whole_chunks";
}

// Runs no window twice: definitions share windows.
class OnePassEach : public Scorer {
 public:
  explicit OnePassEach(const Scorer& scorer) : scorer_(scorer) {}

  int64_t vocabulary() const override { return scorer_.vocabulary(); }
  std::vector<double> losses(std::span<const int32_t> ids,
                             const Progress& progress) const override {
    std::vector<double>& known = known_[{ids.begin(), ids.end()}];
    if (known.empty()) known = scorer_.losses(ids, progress);
    return known;
  }
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override {
    return scorer_.ask(text, questions, progress);
  }

 private:
  const Scorer& scorer_;
  mutable std::map<std::vector<int32_t>, std::vector<double>> known_;
};

nlohmann::ordered_json to_json(const Perplexity& one) {
  nlohmann::ordered_json out = {{"rule", name_of(one.options.rule)},
                                {"definition", one.definition()},
                                {"window", one.options.window},
                                {"stride", nullptr},
                                {"windows", one.windows},
                                {"scored", one.scored},
                                {"mean_context", one.mean_context()},
                                {"nats_per_token", one.nats_per_token()},
                                {"perplexity", one.perplexity()},
                                {"bytes", nullptr},
                                {"bits_per_byte", nullptr},
                                {"words", nullptr},
                                {"word_perplexity", nullptr},
                                {"bos_inside_windows", one.stray_bos}};
  if (one.options.rule == PerplexityRule::kStrided) out["stride"] = one.options.stride;
  if (one.bits_per_byte()) {
    out["bytes"] = one.bytes;
    out["bits_per_byte"] = *one.bits_per_byte();
  }
  if (one.word_perplexity()) {
    out["words"] = one.words;
    out["word_perplexity"] = *one.word_perplexity();
  }
  return out;
}

void print_table(const std::vector<Perplexity>& all) {
  for (const Perplexity& one : all) {
    fmt::print("\n{}", paragraph(one.definition(), "", 2));
    fmt::print("  perplexity {:.4f}, {:.5f} nats per token, over {} scored tokens in {} windows\n",
               one.perplexity(), one.nats_per_token(), one.scored, one.windows);
    fmt::print("  {:.1f} tokens of context on average", one.mean_context());
    if (one.bits_per_byte())
      fmt::print("; {:.4f} bits per byte over {} bytes", *one.bits_per_byte(), one.bytes);
    if (one.word_perplexity())
      fmt::print("; {:.4g} per word over {} words", *one.word_perplexity(), one.words);
    fmt::print("\n");
    if (one.stray_bos > 0)
      fmt::print("  warning: BOS stands inside windows as well, {} times\n", one.stray_bos);
    if (one.perplexity() > kNoModel)
      fmt::print("  warning: above {:.0f}: a wrong tokenizer, no BOS, or a scheme that broke it\n",
                 kNoModel);
  }
}

std::string first_token(const Options& options, const Model& model, std::optional<int32_t> bos,
                        std::span<const int32_t> ids) {
  const auto spelled = [&](int32_t id) {
    return model.has_tokenizer() ? fmt::format("id {}, \"{}\"", id, model.tokenizer().piece(id))
                                 : fmt::format("id {}", id);
  };
  if (bos) return "BOS (" + spelled(*bos) + "), in place of each window's first token";
  return std::string(options.bos_once ? "BOS at the text's start alone" : "no BOS") +
         "; the text starts with " + spelled(ids.front());
}

void run(const Options& options) {
  if (options.stride > options.window) {
    throw Error("--stride", fmt::format("must be at most --window, {}", options.window),
                std::to_string(options.stride), "a larger one would leave tokens out");
  }
  ModelFile file = options.model.open_decoder();
  const Positions positions = options.scheme.positions(file.config);
  std::vector<int32_t> ids = options.tokens.read(file);
  if (options.most_tokens > 0 && std::ssize(ids) > options.most_tokens)
    ids.resize(static_cast<size_t>(options.most_tokens));
  const bool adds_bos = options.tokens.ids.empty() && tokenizer_of(file).adds_bos();
  const std::optional<int32_t> bos =
      adds_bos && !options.bos_once ? tokenizer_of(file).bos() : std::nullopt;
  const Precision precision = options.model.chosen_precision();
  fit_into_memory(
      file, MemoryRun::losses(precision, std::min(options.window, std::ssize(ids)), &positions),
      "a shorter --window");
  const Model model(std::move(file), precision);
  const std::vector<std::string> pieces =
      model.has_tokenizer() ? model.tokenizer().pieces(ids) : std::vector<std::string>();
  const ModelScorer scorer(model, positions);
  const OnePassEach once(scorer);
  std::vector<Perplexity> all;
  for (const PerplexityOptions& own : definitions(options, bos)) {
    // A text too short for chunks may do for strides.
    if (own.rule != PerplexityRule::kStrided && options.stride > 0 &&
        std::ssize(ids) < options.window)
      continue;
    ProgressLine line("perplexity");
    all.push_back(measure_perplexity(once, ids, own, pieces,
                                     [&](double share) { line.update(share, name_of(own.rule)); }));
  }
  if (!options.json) {
    fmt::print("{} tokens, sha256 {}; scheme {}; trained length {}\n{}\n", ids.size(),
               all.front().digest.substr(0, 16), options.scheme.text(),
               trained_length(model.config()), first_token(options, model, bos, ids));
    return print_table(all);
  }
  nlohmann::ordered_json out = {{"model", options.model.path},
                                {"scheme", options.scheme.text()},
                                {"trained_length", trained_length(model.config())},
                                {"tokens", ids.size()},
                                {"tokens_sha256", all.front().digest},
                                {"bos", nullptr},
                                {"first_token", ids.front()}};
  if (bos) out["bos"] = *bos;
  out["results"] = nlohmann::ordered_json::array();
  for (const Perplexity& one : all) out["results"].push_back(to_json(one));
  fmt::print("{}\n", dump_json(out, 1));
}

}  // namespace

void add_perplexity_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "perplexity", "Perplexity as llama.cpp and Hugging Face define it, each labelled");
  options->model.add_to(*command);
  options->scheme.add_to(*command);
  options->tokens.add_to(*command);
  command->add_option("--window", options->window, "Tokens of a window")
      ->required()
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command
      ->add_option("--stride", options->stride,
                   "Tokens between windows of the strided definition; without it the chunks alone")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  command->add_option("--tokens", options->most_tokens, "Of the text, from its start: at most")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 40));
  command->add_flag("--bos-once", options->bos_once,
                    "BOS before the text alone, not in every window: Hugging Face's guide");
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
