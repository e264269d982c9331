#include "cli/extend_command.h"

#include <fmt/core.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/extend_options.h"
#include "cli/extend_passages.h"
#include "cli/extend_records.h"
#include "cli/extend_report.h"
#include "cli/race_display.h"
#include "cli/terminal_text.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/identity.h"
#include "ropewalk/study/race.h"
#include "ropewalk/study/ranks.h"
#include "ropewalk/study/recommend.h"
#include "ropewalk/study/results.h"
#include "ropewalk/study/shared_study.h"

namespace ropewalk {
namespace {

constexpr const char* kShorter = "a shorter --to";

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
void share_cores(const ExtendOptions& options, const std::optional<Ranks>& ranks) {
  if (!ranks || options.model.threads > 0 || std::getenv("OMP_NUM_THREADS") != nullptr) return;
  omp_set_num_threads(threads_of_a_rank(*ranks, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                                        omp_get_num_procs()));
}

// What the bias curve will propose is not known by now; maps take no more than those that are. Of
// several ranks, each of which looks at its own machine, the first tells that it streams.
void check_memory(const ExtendOptions& options, ModelFile& file, const StudyText& text,
                  const std::optional<Ranks>& ranks, const std::optional<AvailableMemory>& memory) {
  const bool streamed = file.streams();
  const auto fit = [&](const MemoryRun& run) { fit_memory(file, run, kShorter, memory); };
  const Precision precision = options.model.chosen_precision();
  const int64_t trained = trained_length(file.config);
  const int64_t prompt = passage_prompt(text, trained, options.target);
  const Positions declared = make_positions(file.config, {});
  fit(usage_run(precision, static_cast<int64_t>(usage_tokens(text, trained)), declared));
  for (const std::string& scheme : options.candidates(trained)) {
    const Positions positions = make_positions(file.config, {{.scheme = scheme}});
    fit(MemoryRun::losses(precision, text.longest_window(), &positions));
    if (prompt < 1 || !has_tokenizer(file)) continue;
    fit(MemoryRun::generation(precision, prompt, prompt + kShownTokens, positions));
  }
  if (file.streams() && !streamed && (!ranks || ranks->rank == 0)) tell_streamed(*memory);
}

void write_winner(const ExtendOptions& options, const ExtendReport& report,
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

// Without what is told while it runs.
RaceOptions race_options(const ExtendOptions& options, TargetEngine engine, const RacePlan& plan,
                         const ExtendReport& report) {
  const bool named = !options.schemes.empty();
  return {.target_length = options.target,
          .engine = engine,
          .format = model_format(options.model.path),
          .candidates = options.candidates(report.trained_length),
          .proposed = named ? std::vector<std::string>() : report.proposed(),
          .held_out = plan.held_out,
          .copy_windows = options.copy_windows,
          .halve = !named,
          .budget = options.budget,
          .search = options.most_searched()};
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
Model open_checked(const ExtendOptions& options, const std::optional<Ranks>& ranks,
                   StudyText& text) {
  const std::optional<AvailableMemory> memory = memory_of_a_rank(ranks);
  share_cores(options, ranks);
  options.check_files();
  for (const std::string& scheme : options.schemes) parse_scheme(scheme);
  ModelFile file = options.model.open_decoder();
  for (const std::string& scheme : options.schemes) {
    make_positions(file.config, {{.scheme = scheme}});
  }
  text = read_study_text(options.text, file, options.target);
  options.check_lengths(trained_length(file.config), text);
  check_memory(options, file, text, ranks, memory);
  return Model(std::move(file), options.model.chosen_precision());
}

// One run, from the model's file to the answer.
class ExtendRun {
 public:
  explicit ExtendRun(const ExtendOptions& options)
      : options_(options),
        engine_(options.target_engine()),
        model_(open_checked(options, ranks_, text_)),
        report_{.model = options.model.path,
                .engine = engine_,
                .trained_length = trained_length(model_.config()),
                .target_length = options.target,
                .text = text_.describe()} {
    const RacePlan plan = options.plan(text_, report_.trained_length);
    if (report_.trained_length > 0)
      report_.bias = measure_bias(model_, choosing_windows(plan), options.target);
    facts_ = describe_study(options, model_, text_, engine_);
    race_ = race_options(options, engine_, plan, report_);
    race_.described = describe_schemes(model_, race_);
    schemes_ = race_.described;
  }

  void run() {
    const StudyIdentity identity = study_identity(options_.model.path, options_.model.precision,
                                                  text_.windows, options_.target);
    SharedStudy study(options_.study.empty() ? default_study(identity) : options_.study, identity,
                      ranks_, [this](StudyStore& store) {
                        put_facts(store, facts_, schemes_);
                        if (report_.bias) put_bias(store, *report_.bias);
                      });
    if (study.is_over()) return;
    measure(study);
    if (!study.await_hold()) return;
    answer(*study.held());
    study.finish();
    if (not_written_ != nullptr) std::rethrow_exception(not_written_);
  }

 private:
  // What proposes candidates chooses, too.
  std::vector<Window> choosing_windows(const RacePlan& plan) const {
    std::vector<Window> windows;
    for (const size_t w : plan.windows) windows.push_back(text_.windows[w]);
    return windows;
  }

  bool has_usage() const { return report_.bias && schemes_.at("declared").keeps_distances; }

  void measure(SharedStudy& study) {
    race_.on_plan = [&](const RacePlan& plan) {
      apply_plan(options_, plan, text_, facts_);
      if (study.held() != nullptr) put_facts(*study.held(), facts_, schemes_);
    };
    race_.on_candidate = [&](const SchemeFacts& found) {
      schemes_[found.scheme] = found;
      if (study.held() == nullptr) return;
      study.held()->put_records({{kSchemeRecords + found.scheme, to_json(found)}});
    };
    if (has_usage()) race_.tokens_besides = usage_tokens(text_, report_.trained_length);
    if (has_usage() && study.held() != nullptr) put_usage(*study.held(), model_, text_);
    RaceDisplay display;
    report_.candidates =
        run_race(model_, text_.windows, race_, study, [&](const RaceProgress& now) {
          if (study.held() != nullptr) display(now);
        });
  }

  void answer(StudyStore& store) {
    if (has_usage()) put_usage(store, model_, text_);
    const StudyScope scope = scope_of(facts_);
    report_.left_out = facts_.left_out;
    report_.held_out = static_cast<int64_t>(scope.held_out);
    report_.recommendation = recommend(report_.candidates, scope);
    report_.calibrations =
        calibrate(report_.candidates, scope, facts_.model, published_orderings());
    add_passages(model_, text_, report_);
    try {
      write_winner(options_, report_, report_.written);
    } catch (const Error&) {
      not_written_ =
          std::current_exception();  // told after the report, which it must not take away
    }
    report_.run = run_facts(start_, store.path(), ranks_);
    facts_.finished = utc_now();
    for (const Candidate& candidate : report_.candidates)
      schemes_.at(candidate.scheme).finalist = candidate.finalist;
    put_facts(store, facts_, schemes_, outcome_json(report_));
    fmt::print("{}", options_.json ? to_json(report_) : terminal_lines(to_text(report_)));
    std::fflush(stdout);
  }

  const ExtendOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::optional<Ranks> ranks_ = read_ranks(std::getenv);
  const TargetEngine engine_;
  StudyText text_;
  const Model model_;
  ExtendReport report_;
  StudyFacts facts_;
  RaceOptions race_;
  FactsByScheme schemes_;  // those that the search found, too
  std::exception_ptr not_written_;
};

}  // namespace

void add_extend_command(CLI::App& app) {
  auto options = std::make_shared<ExtendOptions>();
  CLI::App* command = app.add_subcommand(
      "extend",
      "Measure how to run a model past its trained length, recommend, and write the result");
  command->footer(
      "mpirun -n 4 --enable-recovery ropewalk extend ... measures one study with four processes, "
      "on one machine or on several that see the study's folder; the answer does not depend on it, "
      "and one that dies costs the pass it was running. See docs/extend.md");
  options->add_to(*command);
  command->callback([options] { ExtendRun(*options).run(); });
}

}  // namespace ropewalk
