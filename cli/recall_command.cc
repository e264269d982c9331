#include "cli/recall_command.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/recall_report.h"
#include "cli/recall_tables.h"
#include "cli/study_addition.h"
#include "cli/study_options.h"
#include "cli/terminal_text.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/known_scorers.h"
#include "ropewalk/study/stored_scorer.h"

namespace ropewalk {
namespace {

constexpr const char* kShorter = "a shorter --to";

struct Options {
  ModelOptions model;
  std::vector<std::string> texts;
  int64_t target = 0;
  std::vector<int64_t> lengths;  // empty: from half the trained length up to the target, doubling
  std::vector<double> depths = {0, 25, 50, 75, 100};
  std::vector<std::string> tasks = {"passkey", "needles", "latest", "order", "copy"};
  std::vector<std::string> schemes = {"declared"};
  int64_t trials = 4;
  uint64_t seed = 1;
  size_t copy_windows = 4;
  std::string study;
  std::string into;
  bool json = false;
};

std::vector<int64_t> lengths_of(const Options& options, int64_t trained) {
  std::vector<int64_t> lengths = options.lengths;
  if (lengths.empty()) {
    const int64_t first = trained > 1 ? trained / 2 : options.target;
    for (int64_t length = first; length < options.target; length *= 2) lengths.push_back(length);
  }
  lengths.push_back(options.target);
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.back() > options.target) {
    throw Error("--lengths", fmt::format("must be at most --to, {}", options.target),
                std::to_string(lengths.back()));
  }
  return lengths;
}

RecallPlan plan_of(const Options& options, int64_t trained) {
  RecallPlan plan{.tasks = {},
                  .lengths = lengths_of(options, trained),
                  .depths = {},
                  .trials = options.trials,
                  .seed = options.seed};
  for (const RecallTask task : kRecallTasks) {
    if (std::ranges::count(options.tasks, to_string(task)) > 0) plan.tasks.push_back(task);
  }
  for (const double depth : options.depths) plan.depths.push_back(depth / 100);
  std::ranges::sort(plan.depths);
  plan.depths.erase(std::unique(plan.depths.begin(), plan.depths.end()), plan.depths.end());
  return plan;
}

// What is asked of every scheme.
struct Work {
  std::vector<Haystack> haystacks;
  std::vector<CopyTest> by_distance;
  std::vector<CopyTest> by_position;

  double tokens() const {
    double all = 0;
    for (const Haystack& haystack : haystacks) all += static_cast<double>(haystack.text.size());
    return all + tokens_of_copies(by_distance) + tokens_of_copies(by_position);
  }
  static double tokens_of_copies(const std::vector<CopyTest>& tests) {
    double all = 0;
    for (const CopyTest& test : tests) all += 2 * static_cast<double>(test.repeated.size());
    return all;
  }
};

Work plan_work(const Options& options, const ModelFile& file,
               const std::vector<Document>& documents, const RecallPlan& plan) {
  const Tokenizer& tokenizer = tokenizer_of(file);
  Work work{.haystacks = make_haystacks(tokenizer, documents, plan)};
  if (std::ranges::count(options.tasks, "copy") == 0) return work;
  const WindowSet set =
      cut_windows(documents, tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt, options.target);
  const std::vector<Window> windows = spread(set.windows, options.copy_windows);
  const int64_t trained = trained_length(file.config);
  work.by_distance = make_copy_tests(windows, trained, CopyAxis::kDistance);
  work.by_position = make_copy_tests(windows, trained, CopyAxis::kPosition);
  return work;
}

void refuse_nothing(const Options& options, const Work& work) {
  const auto is_run = [](const Haystack& haystack) { return haystack.not_run.empty(); };
  if (std::ranges::any_of(work.haystacks, is_run) || !work.by_distance.empty() ||
      !work.by_position.empty())
    return;
  const std::string why =
      work.haystacks.empty() ? "no window has room for a copy" : work.haystacks.back().not_run;
  throw Error("--to", "must leave room for something to measure",
              fmt::format("{}: {}", options.target, why), "ask for more tokens, or other --tasks");
}

void check_memory(const Options& options, ModelFile& file,
                  const std::vector<Positions>& positions) {
  const Precision precision = options.model.chosen_precision();
  for (const Positions& own : positions) {
    fit_into_memory(file, MemoryRun::losses(precision, options.target, &own), kShorter);
    const bool in_parts = first_stale_row(own, Model::kPartRows, options.target) > 0;
    const int64_t rows = in_parts ? std::min(Model::kPartRows, options.target) : options.target;
    fit_into_memory(file, MemoryRun::generation(precision, rows, options.target, own), kShorter);
  }
}

// On the shortest prompts, before the model is asked.
RecallSelfTest self_test(const Tokenizer& tokenizer, const std::vector<Haystack>& haystacks) {
  int64_t shortest = INT64_MAX;
  for (const Haystack& haystack : haystacks) {
    if (haystack.not_run.empty()) shortest = std::min(shortest, haystack.length);
  }
  std::vector<Haystack> few;
  std::ranges::copy_if(haystacks, std::back_inserter(few), [&](const Haystack& haystack) {
    return haystack.not_run.empty() && haystack.length == shortest;
  });
  const auto vocabulary = static_cast<int64_t>(tokenizer.size());
  constexpr double kCertainty = 0.9;
  constexpr double kRounding = 1e-9;
  RecallSelfTest test;
  for (const RecallCell& cell :
       measure_recall(CopyingScorer(vocabulary, kCertainty), tokenizer, few)) {
    ++test.cells;
    if (cell.task != RecallTask::kOrder && cell.found.mean < 1) ++test.copier_missed;
  }
  for (const RecallCell& cell : measure_recall(UniformScorer(vocabulary), tokenizer, few)) {
    if (std::abs(cell.found.mean - cell.chance) > kRounding) ++test.uniform_missed;
  }
  return test;
}

// The share of all that has been done, over all schemes.
class Shares {
 public:
  explicit Shares(double tokens) : tokens_(tokens) {}

  // Of a part that takes so many tokens; it is done when the next begins.
  Progress part(double tokens, std::string label) {
    const double before = done_;
    done_ += tokens;
    return [this, before, tokens, label = std::move(label)](double share) {
      line_.update((before + share * tokens) / tokens_, label);
    };
  }

 private:
  double tokens_;
  double done_ = 0;
  ProgressLine line_ = ProgressLine("recall");
};

SchemeRecall measure(const Scorer& scorer, const Tokenizer& tokenizer, const Work& work,
                     const std::string& scheme, Shares& shares) {
  SchemeRecall found{.scheme = scheme};
  double text_tokens = 0;
  for (const Haystack& haystack : work.haystacks)
    text_tokens += static_cast<double>(haystack.text.size());
  found.cells = measure_recall(scorer, tokenizer, work.haystacks,
                               shares.part(text_tokens, scheme + ", questions"));
  found.by_distance = measure_copy_curve(
      scorer, work.by_distance, CopyAxis::kDistance,
      shares.part(Work::tokens_of_copies(work.by_distance), scheme + ", copies by distance"));
  found.by_position = measure_copy_curve(
      scorer, work.by_position, CopyAxis::kPosition,
      shares.part(Work::tokens_of_copies(work.by_position), scheme + ", copies by position"));
  return found;
}

void measure_all(const Options& options, const Model& model,
                 const std::vector<Positions>& positions, const Work& work, RecallReport& report) {
  std::optional<StudyStore> store;
  if (!options.study.empty()) {
    store.emplace(options.study, recall_identity(options.model.path, options.model.precision));
    report.run.study = options.study;
  }
  Shares shares(work.tokens() * static_cast<double>(positions.size()));
  for (size_t s = 0; s < positions.size(); ++s) {
    const std::string scheme = parse_scheme(options.schemes[s]).text();
    const ModelScorer scorer(model, positions[s]);
    if (!store) {
      report.schemes.push_back(measure(scorer, model.tokenizer(), work, scheme, shares));
      continue;
    }
    const StoredScorer stored(scorer, *store, scheme);
    report.schemes.push_back(measure(stored, model.tokenizer(), work, scheme, shares));
    report.run.from_study += stored.found();
  }
}

void run(Options options) {
  options.schemes = distinct_schemes(options.schemes);
  const auto start = std::chrono::steady_clock::now();
  ModelFile file = options.model.open_decoder();
  const int64_t trained = trained_length(file.config);
  std::vector<Positions> positions;
  for (const std::string& scheme : options.schemes)
    positions.push_back(make_positions(file.config, {{.scheme = scheme}}));
  const RecallPlan plan = plan_of(options, trained);
  const std::vector<Document> documents = read_documents(options.texts, file);
  check_memory(options, file, positions);
  std::optional<StudyAddition> addition;
  if (!options.into.empty())
    addition.emplace(options.into, options.model.path, options.model.precision);
  const Work work = plan_work(options, file, documents, plan);
  refuse_nothing(options, work);
  const Model model(std::move(file), options.model.chosen_precision());

  size_t tokens = 0;
  for (const Document& document : documents) tokens += document.ids.size();
  RecallReport report{
      .model = options.model.path,
      .trained_length = trained,
      .target_length = options.target,
      .text = fmt::format("{} document{} of {} tokens; {}", documents.size(),
                          documents.size() == 1 ? "" : "s", tokens,
                          model.tokenizer().adds_bos() ? "BOS before every prompt" : "no BOS"),
      .plan = plan,
      .copies = std::ranges::count(options.tasks, "copy") > 0,
      .copy_windows = work.by_distance.size(),
      .copy_distance =
          work.by_position.empty() ? 0 : work.by_position.front().repeats.front().distance,
      .self_test = self_test(model.tokenizer(), work.haystacks)};
  measure_all(options, model, positions, work, report);
  if (addition) addition->add(recall_tables(report));
  report.run.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.run.threads = omp_get_max_threads();
  fmt::print("{}", options.json ? to_json(report) : terminal_lines(to_text(report)));
}

}  // namespace

void add_recall_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "recall", "Whether a model finds what it has read, by length, depth and distance");
  options->model.add_to(*command);
  command->add_option("--text", options->texts, "Text files; each is one document")
      ->required()
      ->check(names_file());
  command->add_option("--to", options->target, "Tokens of the longest prompt")
      ->required()
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command
      ->add_option("--lengths", options->lengths,
                   "Tokens of the prompts beside --to; without it half the trained length, doubled")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command
      ->add_option("--depths", options->depths,
                   "Where needles lie, in percent of the text from its start")
      ->check(finite_number() & CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--tasks", options->tasks, "What is measured")
      ->check(CLI::IsMember({"passkey", "needles", "latest", "order", "copy"}))
      ->capture_default_str();
  command->add_option("--scheme", options->schemes, "Schemes to compare; see docs/schemes.md")
      ->capture_default_str();
  command
      ->add_option("--trials", options->trials, "Prompts of each kind, with other text and names")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of numbers, names and places")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--windows", options->copy_windows, "Most windows of the copy curves")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--study", options->study,
                   "SQLite file that keeps every finished pass, so that a killed run goes on")
      ->check(names_output());
  add_into_option(*command, options->into);
  command->add_flag("--json", options->json,
                    "One JSON object; all that may differ between equal runs stands under \"run\"");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
