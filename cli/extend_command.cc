#include "cli/extend_command.h"

#include <fmt/core.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bands_tables.h"
#include "cli/bias_table.h"
#include "cli/extend_passages.h"
#include "cli/extend_report.h"
#include "cli/messages.h"
#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/race_display.h"
#include "cli/result_file.h"
#include "cli/study_options.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/identity.h"
#include "ropewalk/study/race.h"
#include "ropewalk/study/ranks.h"
#include "ropewalk/study/recommend.h"
#include "ropewalk/study/record.h"
#include "ropewalk/study/results.h"
#include "ropewalk/study/shared_study.h"

namespace ropewalk {
namespace {

constexpr size_t kUsageTokens = 2048;  // that pair usage is told from, at most
constexpr const char* kShorter = "a shorter --to";

struct Options {
  ModelOptions model;
  TextOptions text;
  int64_t target = 0;
  std::vector<std::string> schemes;
  size_t copy_windows = 4;
  std::optional<size_t> held_out;  // windows; nothing: as many as hold_out() takes by itself
  std::string study;
  std::string output;
  std::string engine;            // empty: the one that reads the model's format
  std::optional<double> budget;  // seconds
  std::optional<size_t> search;  // settings; nothing: what the budget has time for
  bool force = false;
  bool json = false;
};

std::filesystem::path temporary_folder() {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) {
    throw Error("TMPDIR", "must be a folder that is there where HOME is none", failed.message(),
                "name a file with --study");
  }
  return folder;
}

// Where a study goes that was not given a name: one file for each thing measured.
std::string default_study(const StudyIdentity& identity) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  // The XDG specification has relative paths ignored.
  const std::filesystem::path base = cache != nullptr && std::filesystem::path(cache).is_absolute()
                                         ? std::filesystem::path(cache)
                                     : home != nullptr && std::filesystem::path(home).is_absolute()
                                         ? std::filesystem::path(home) / ".cache"
                                         : temporary_folder();
  const std::filesystem::path folder = base / "ropewalk" / "studies";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(folder.string(), "cannot be made", failed.message(), "name a file with --study");
  return (folder / (identity_digest(identity).substr(0, 24) + ".db")).string();
}

std::vector<std::string> candidates(const Options& options, int64_t trained) {
  if (options.schemes.empty()) return candidate_schemes(trained, options.target);
  std::vector<std::string> chosen = options.schemes;
  // What every table shows, so that nobody mistakes forgetting for reading.
  chosen.push_back("window,size=" + std::to_string(std::max<int64_t>(1, trained / 2)));
  chosen.push_back("sinks,count=4,size=" + std::to_string(std::max<int64_t>(1, trained / 2 - 4)));
  return chosen;
}

// Settings that are searched for past the grid, at most.
size_t most_searched(const Options& options) {
  const bool by_default = options.budget && options.schemes.empty();
  return options.search.value_or(by_default ? std::numeric_limits<size_t>::max() : 0);
}

// The engine to judge for, and the refusal of what could not be written, before anything long is run.
TargetEngine choose_engine(const Options& options) {
  const bool directory = model_format(options.model.path) == ModelFormat::kHuggingFace;
  if (options.engine.empty())
    return directory ? TargetEngine::kTransformers : TargetEngine::kLlamaCpp;
  const TargetEngine engine = parse_target_engine(options.engine);
  if (!options.output.empty() && directory == (engine == TargetEngine::kLlamaCpp)) {
    throw Error("--for",
                directory ? "a Hugging Face directory can be written for vllm or transformers"
                          : "a GGUF file can be written for llama.cpp",
                options.engine);
  }
  return engine;
}

// No input may be overwritten.
void check_files(const Options& options) {
  if (options.output.empty()) return;
  std::vector<std::string> inputs = options.text.texts;
  inputs.insert(inputs.end(), options.text.ids.begin(), options.text.ids.end());
  inputs.push_back(options.model.path);
  inputs.push_back(options.study);
  refuse_inputs("-o", options.output, inputs);
  check_output(options.model.path, options.output,
               options.force ? Replace::kModels : Replace::kOwn);
}

void check_lengths(const Options& options, int64_t trained, const StudyText& text) {
  if (options.target <= trained) {
    throw Error(
        "--to",
        fmt::format(
            "must be beyond the trained length of {}: within it nothing needs to be changed",
            trained),
        std::to_string(options.target));
  }
  const int64_t longest = text.longest_window();
  if (longest <= trained + 1) {
    throw Error(
        "--text",
        fmt::format("must have a document of more than {} tokens, to tell what happens beyond them",
                    trained + 1),
        std::to_string(longest), "give a longer text");
  }
}

// Asked for before anything is read, when no rank has taken any of it yet.
std::optional<AvailableMemory> memory_of_a_rank(const std::optional<Ranks>& ranks) {
  std::optional<AvailableMemory> memory = available_memory();
  if (memory && ranks) {
    memory->bytes /= ranks->local_size;
    memory->source += fmt::format(", shared by {} ranks", ranks->local_size);
  }
  return memory;
}

// Where the user has not said how many threads there shall be.
void share_cores(const Options& options, const std::optional<Ranks>& ranks) {
  if (!ranks || options.model.threads > 0 || std::getenv("OMP_NUM_THREADS") != nullptr) return;
  omp_set_num_threads(threads_of_a_rank(*ranks, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                                        omp_get_num_procs()));
}

// That pair usage is told from.
size_t usage_tokens(const StudyText& text, int64_t trained) {
  return std::min({text.windows.front().ids.size(), static_cast<size_t>(trained), kUsageTokens});
}

// What the bias curve will propose is not known by now; maps take no more than those that are.
void check_memory(const Options& options, ModelFile& file, const StudyText& text,
                  const std::optional<AvailableMemory>& memory) {
  const Precision precision = options.model.chosen_precision();
  const int64_t trained = trained_length(file.config);
  const int64_t prompt = passage_prompt(text, trained, options.target);
  const Positions declared = make_positions(file.config, {});
  const auto looked_at = static_cast<int64_t>(usage_tokens(text, trained));
  fit_into_memory(file, usage_run(precision, looked_at, declared), kShorter, memory);
  for (const std::string& scheme : candidates(options, trained)) {
    const Positions positions = make_positions(file.config, {{.scheme = scheme}});
    fit_into_memory(file, MemoryRun::losses(precision, text.longest_window(), &positions), kShorter,
                    memory);
    if (prompt < 1 || !has_tokenizer(file)) continue;
    fit_into_memory(file,
                    MemoryRun::generation(precision, prompt, prompt + kShownTokens, positions),
                    kShorter, memory);
  }
}

void write_winner(const Options& options, const ExtendReport& report,
                  std::optional<WriteReport>& written) {
  if (options.output.empty()) return;
  const std::optional<size_t> best = report.recommendation.index_of(Role::kBestPortable);
  if (!best) {
    throw Error("-o", "needs a portable winner", "none runs in " + to_string(report.engine),
                "nothing was written");
  }
  const std::string& scheme = report.candidates[*best].scheme;
  written = write_model({.model = options.model.path,
                         .scheme = scheme,
                         .engine = report.engine,
                         .target_length = options.target,
                         .output = options.output,
                         .force = options.force});
}

RacePlan plan_of(const Options& options, const StudyText& text, int64_t trained) {
  return whole_plan(text.windows.size(), options.copy_windows, options.schemes.empty(),
                    hold_out(text.windows, trained, options.held_out));
}

// What the race leaves out counts as if it had never been there.
void apply_plan(const Options& options, const RacePlan& plan, const StudyText& text,
                StudyFacts& facts) {
  for (WindowFacts& window : facts.windows) {
    window.left_out = true;
    window.held_out = false;
    window.repeats.clear();
  }
  const auto take = [&](const std::vector<size_t>& windows, size_t copies, bool held_out) {
    for (size_t k = 0; k < windows.size(); ++k) {
      WindowFacts& window = facts.windows[windows[k]];
      window.left_out = false;
      window.held_out = held_out;
      if (k < copies)
        window.repeats = make_copy_test(text.windows[windows[k]], facts.trained_length).repeats;
    }
  };
  take(plan.windows, plan.copy_windows, false);
  take(plan.held_out, plan.held_out_copies(), true);
  facts.left_out = left_out(plan, plan_of(options, text, facts.trained_length));
}

StudyFacts describe_study(const Options& options, const Model& model, const StudyText& text,
                          TargetEngine engine) {
  StudyFacts facts{.model = file_name(options.model.path),
                   .description = describe_model(model.config()),
                   .trained_length = trained_length(model.config()),
                   .target_length = options.target,
                   .engine = to_string(engine),
                   .precision = options.model.precision,
                   .text = text.describe(),
                   .threads = omp_get_max_threads(),
                   .started = utc_now()};
  for (const Window& window : text.windows) {
    facts.windows.push_back({.document = file_name(text.documents[window.document].name),
                             .first = window.first,
                             .tokens = static_cast<int64_t>(window.ids.size()),
                             .repeats = {}});
  }
  apply_plan(options, plan_of(options, text, facts.trained_length), text, facts);
  return facts;
}

// By canonical name.
std::map<std::string, SchemeFacts> describe_schemes(const Model& model, const RaceOptions& race) {
  std::map<std::string, SchemeFacts> schemes;
  std::vector<std::string> names = race.candidates;
  names.insert(names.end(), race.proposed.begin(), race.proposed.end());
  names.push_back("declared");
  for (const std::string& name : names) {
    SchemeFacts facts = scheme_facts(model.config(), race.format, name, race.target_length);
    schemes[facts.scheme] = std::move(facts);
  }
  return schemes;
}

// What proposes candidates chooses, too.
std::vector<Window> choosing_windows(const Options& options, const StudyText& text,
                                     int64_t trained) {
  std::vector<Window> windows;
  for (const size_t w : plan_of(options, text, trained).windows) windows.push_back(text.windows[w]);
  return windows;
}

// What lets the study be reported without model and text.
void put_facts(StudyStore& store, const StudyFacts& facts,
               const std::map<std::string, SchemeFacts>& schemes, const std::string& outcome = {}) {
  std::map<std::string, std::string> records = {{kFactsRecord, to_json(facts)}};
  for (const auto& [name, scheme] : schemes) records[kSchemeRecords + name] = to_json(scheme);
  if (!outcome.empty()) records[kOutcomeRecord] = outcome;
  store.put_records(records);
}

void put_bias(StudyStore& store, const BiasReport& bias) {
  if (const auto table = bias_table(bias)) put_tables(store, {*table});
}

// What pairs are used for inside the trained length, for the report; once in a study.
void put_usage(StudyStore& store, const Model& model, const StudyText& text) {
  if (store.record(std::string(kTableRecords) + kPairUsageTable)) return;
  Window window = text.windows.front();
  window.ids.resize(usage_tokens(text, trained_length(model.config())));
  const std::string label = fmt::format("what pairs are used for in {} tokens", window.ids.size());
  if (!ProgressLine::is_terminal()) tell(label + "\n");
  ProgressLine line(label);
  put_tables(store, usage_tables(measure_usage(model, {window}, {.skipped_keys = kSkippedTokens},
                                               [&](double share) { line.update(share); })));
}

// Without what is told while it runs.
RaceOptions race_options(const Options& options, TargetEngine engine, const StudyText& text,
                         const ExtendReport& report) {
  const bool named = !options.schemes.empty();
  return {.target_length = options.target,
          .engine = engine,
          .format = model_format(options.model.path),
          .candidates = candidates(options, report.trained_length),
          .proposed = named ? std::vector<std::string>() : report.proposed(),
          .held_out = hold_out(text.windows, report.trained_length, options.held_out),
          .copy_windows = options.copy_windows,
          .halve = !named,
          .budget = options.budget,
          .search = most_searched(options)};
}

RunFacts run_facts(std::chrono::steady_clock::time_point start, const std::string& study,
                   const std::optional<Ranks>& ranks) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {
      .study = study,
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
      .ranks = ranks ? ranks->size : 1,
      .threads = omp_get_max_threads(),
      .peak_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024};
}

// Nothing that cannot be run may stop a study that others have run in for hours.
Model open_checked(const Options& options, const std::optional<Ranks>& ranks, StudyText& text) {
  const std::optional<AvailableMemory> memory = memory_of_a_rank(ranks);
  share_cores(options, ranks);
  check_files(options);
  for (const std::string& scheme : options.schemes) parse_scheme(scheme);
  ModelFile file = options.model.open_decoder();
  for (const std::string& scheme : options.schemes) {
    make_positions(file.config, {{.scheme = scheme}});
  }
  text = read_study_text(options.text, file, options.target);
  check_lengths(options, trained_length(file.config), text);
  check_memory(options, file, text, memory);
  return Model(std::move(file), options.model.chosen_precision());
}

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::optional<Ranks> ranks = read_ranks(std::getenv);
  const TargetEngine engine = choose_engine(options);
  StudyText text;
  const Model model = open_checked(options, ranks, text);

  const int64_t trained = trained_length(model.config());
  ExtendReport report{.model = options.model.path,
                      .engine = engine,
                      .trained_length = trained,
                      .target_length = options.target,
                      .text = text.describe()};
  if (trained > 0)
    report.bias = measure_bias(model, choosing_windows(options, text, trained), options.target);
  const StudyIdentity identity =
      study_identity(options.model.path, options.model.precision, text.windows, options.target);
  StudyFacts facts = describe_study(options, model, text, engine);
  RaceOptions race = race_options(options, engine, text, report);
  std::map<std::string, SchemeFacts> schemes = describe_schemes(model, race);
  SharedStudy study(options.study.empty() ? default_study(identity) : options.study, identity,
                    ranks, [&](StudyStore& store) {
                      put_facts(store, facts, schemes);
                      if (report.bias) put_bias(store, *report.bias);
                    });
  if (study.is_over()) return;
  race.on_plan = [&](const RacePlan& plan) {
    apply_plan(options, plan, text, facts);
    if (study.held() != nullptr) put_facts(*study.held(), facts, schemes);
  };
  race.on_candidate = [&](const SchemeFacts& found) {
    schemes[found.scheme] = found;
    if (study.held() == nullptr) return;
    study.held()->put_records({{kSchemeRecords + found.scheme, to_json(found)}});
  };
  const bool has_usage = report.bias && schemes.at("declared").keeps_distances;
  if (has_usage) race.tokens_besides = usage_tokens(text, trained);
  if (has_usage && study.held() != nullptr) put_usage(*study.held(), model, text);
  {
    RaceDisplay display;
    report.candidates = run_race(model, text.windows, race, study, [&](const RaceProgress& now) {
      if (study.held() != nullptr) display(now);
    });
  }
  if (!study.await_hold()) return;
  StudyStore& store = *study.held();
  if (has_usage) put_usage(store, model, text);
  report.left_out = facts.left_out;
  report.held_out = std::ranges::count(facts.windows, true, &WindowFacts::held_out);
  const StudyScope scope = scope_of(facts);
  report.recommendation = recommend(report.candidates, scope);
  report.calibrations = calibrate(report.candidates, scope, facts.model, published_orderings());
  add_passages(model, text, report);
  std::exception_ptr not_written;
  try {
    write_winner(options, report, report.written);
  } catch (const Error&) {
    not_written = std::current_exception();  // told after the report, which it must not take away
  }

  report.run = run_facts(start, store.path(), ranks);
  facts.finished = utc_now();
  for (const Candidate& candidate : report.candidates)
    schemes.at(candidate.scheme).finalist = candidate.finalist;
  put_facts(store, facts, schemes, outcome_json(report));
  fmt::print("{}", options.json ? to_json(report) : to_text(report));
  std::fflush(stdout);
  study.finish();
  if (not_written != nullptr) std::rethrow_exception(not_written);
}

}  // namespace

void add_extend_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "extend",
      "Measure how to run a model past its trained length, recommend, and write the result");
  command->footer(
      "mpirun -n 4 --enable-recovery ropewalk extend ... measures one study with four processes, "
      "on one machine or on several that see the study's folder; the answer does not depend on it, "
      "and one that dies costs the pass it was running. See docs/extend.md");
  options->model.add_to(*command);
  options->text.add_to(*command);
  command->add_option("--to", options->target, "Tokens the model shall read")
      ->required()
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command
      ->add_option(
          "--for", options->engine,
          "The engine that shall run the result: by default llama.cpp for GGUF, else transformers")
      ->check(CLI::IsMember({"llama.cpp", "vllm", "transformers"}));
  command->add_option("--scheme", options->schemes,
                      "Candidates, each run in full; without it the registry's own, raced. "
                      "declared, a window and sinks are always there");
  command
      ->add_option("--held-out", options->held_out,
                   "Windows that take no part in choosing and tell of what was chosen: by default "
                   "a quarter of those that reach beyond the trained length, at least one of two")
      ->check(CLI::Range(0, 1 << 20));
  command->add_option("--copy-windows", options->copy_windows, "Most windows of the copy test")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--budget", options->budget,
                   "Time for all passes together, as 90s, 20m or 2h: fewer windows, then fewer "
                   "candidates")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--search", options->search,
                   "Most settings to search for past the grid once the race is over; 0: none. By "
                   "default what --budget has time for, and none without one or with --scheme")
      ->check(CLI::Range(0, 1 << 20));
  command
      ->add_option(
          "--study", options->study,
          "SQLite file that keeps every finished pass; without it, one in the cache folder")
      ->check(names_output());
  command
      ->add_option("-o,--output", options->output,
                   "Write the best portable setting into a new model file")
      ->check(names_output());
  command->add_flag("--force", options->force,
                    "Replace any model that -o names; else only one written from MODEL before");
  command->add_flag("--json", options->json,
                    "One JSON object; all that may differ between equal runs stands under \"run\"");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
