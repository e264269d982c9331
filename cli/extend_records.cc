#include "cli/extend_records.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/bands_tables.h"
#include "cli/bias_table.h"
#include "cli/extend_report.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "ropewalk/study/copy_gain.h"

namespace ropewalk {
namespace {

constexpr size_t kUsageTokens = 2048;  // that pair usage is told from, at most

}  // namespace

StudyFacts describe_study(const ExtendOptions& options, const Model& model, const StudyText& text,
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
  apply_plan(options, options.plan(text, facts.trained_length), text, facts);
  return facts;
}

void apply_plan(const ExtendOptions& options, const RacePlan& plan, const StudyText& text,
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
  facts.left_out = left_out(plan, options.plan(text, facts.trained_length));
}

FactsByScheme describe_schemes(const Model& model, const RaceOptions& race) {
  FactsByScheme schemes;
  std::vector<std::string> names = race.candidates;
  names.insert(names.end(), race.proposed.begin(), race.proposed.end());
  names.push_back("declared");
  for (const std::string& name : names) {
    SchemeFacts facts = scheme_facts(model.config(), race.format, name, race.target_length);
    schemes[facts.scheme] = std::move(facts);
  }
  return schemes;
}

void put_facts(StudyStore& store, const StudyFacts& facts, const FactsByScheme& schemes,
               const std::string& outcome) {
  std::map<std::string, std::string> records = {{kFactsRecord, to_json(facts)}};
  for (const auto& [name, scheme] : schemes) records[kSchemeRecords + name] = to_json(scheme);
  if (!outcome.empty()) records[kOutcomeRecord] = outcome;
  store.put_records(records);
}

void put_bias(StudyStore& store, const BiasReport& bias) {
  if (const auto table = bias_table(bias)) put_tables(store, {*table});
}

size_t usage_tokens(const StudyText& text, int64_t trained) {
  return std::min({text.windows.front().ids.size(), static_cast<size_t>(trained), kUsageTokens});
}

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

}  // namespace ropewalk
