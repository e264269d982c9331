#include "cli/extend_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "cli/calibration_report.h"
#include "cli/progress.h"
#include "cli/report_text.h"
#include "cli/search_outcome.h"
#include "cli/terminal_text.h"
#include "cli/text_layout.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

std::string number(const std::optional<Estimate>& estimate) {
  return estimate ? fmt::format("{:.3f}", estimate->mean) : "-";
}

std::string signed_number(const std::optional<Estimate>& estimate) {
  return estimate ? fmt::format("{:+.3f}", estimate->mean) : "-";
}

std::string interval(const std::optional<Estimate>& estimate) {
  if (!estimate || !estimate->interval) return "";
  return fmt::format("{:.3f}..{:.3f}", estimate->interval->low, estimate->interval->high);
}

constexpr size_t kShownFinds = 5;  // rows of what was searched for, beside those that are named

// All of the grid; of what the search tried by the dozen its first finalists, and those that are
// named.
std::vector<const Candidate*> shown_candidates(const ExtendReport& report) {
  std::set<size_t> named;
  for (const Winner& winner : report.recommendation.winners) {
    for (const std::optional<size_t>& one :
         {std::optional(winner.index), winner.lowest, winner.next})
      if (one) named.insert(*one);
  }
  for (const SearchOutcome::Pair& pair : search_outcome(report.candidates).lowest) {
    if (pair.found != nullptr)
      named.insert(static_cast<size_t>(pair.found - report.candidates.data()));
  }
  std::vector<const Candidate*> shown;
  size_t finds = 0;
  for (size_t k = 0; k < report.candidates.size(); ++k) {
    const Candidate& candidate = report.candidates[k];
    const bool is_low = !candidate.found_by.empty() && candidate.finalist && finds++ < kShownFinds;
    if (candidate.found_by.empty() || is_low || named.contains(k)) shown.push_back(&candidate);
  }
  return shown;
}

std::string table(const ExtendReport& report) {
  const std::vector<const Candidate*> shown = shown_candidates(report);
  size_t width = 6;
  for (const Candidate* candidate : shown)
    width = std::max(width, without_lists(candidate->scheme).size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>14}  {:>8}  {:>8}  {:>8}  {:>7}  {:>9}  {}\n",
                  "scheme", width, "inside", "cost", "beyond", "95 %", "held out", "copy in",
                  "copy out", "windows", "tokens/s", "runs in");
  bool rule = false;
  for (const Candidate* row : shown) {
    const Candidate& candidate = *row;
    if (!candidate.finalist && !rule) text += "-- fell out of the race --\n";
    rule = rule || !candidate.finalist;
    const std::string runs_in =
        candidate.portability.portable ? to_string(report.engine) : "Ropewalk";
    text += fmt::format(
        "{:<{}}  {:>8}  {:>8}  {:>8}  {:>14}  {:>8}  {:>8}  {:>8}  {:>7}  {:>9.0f}  {}{}{}\n",
        without_lists(candidate.scheme), width, number(candidate.inside),
        signed_number(candidate.inside_cost), number(candidate.beyond), interval(candidate.beyond),
        number(candidate.held_out.beyond), signed_number(candidate.copy_inside),
        signed_number(candidate.copy_beyond), candidate.windows,
        static_cast<double>(candidate.tokens) / std::max(candidate.seconds, 1e-9), runs_in,
        candidate.truncates ? ", forgets far text" : "",
        candidate.found_by.empty() ? "" : "; search: " + candidate.found_by);
  }
  if (shown.size() < report.candidates.size()) {
    text += fmt::format(
        "-- and {} more that the search tried; all of them: ropewalk report {} --csv FOLDER --\n",
        report.candidates.size() - shown.size(), terminal_text(report.run.study));
  }
  return text;
}

std::string how_to_run(const ExtendReport& report) {
  if (!report.written) return "";
  const std::string output = terminal_text(report.written->output);
  std::string text = fmt::format("\nWritten: {} ({})\n", output, report.written->how);
  for (const KeyChange& change : report.written->keys) {
    text +=
        fmt::format("  {} = {}{}\n", change.key, change.after.empty() ? "removed" : change.after,
                    change.before.empty() ? "" : " (was " + change.before + ")");
  }
  if (report.engine == TargetEngine::kLlamaCpp) {
    text += fmt::format("Run it: llama-cli -m {} -c {} -p \"...\"\n", output, report.target_length);
  } else if (report.engine == TargetEngine::kVllm) {
    text += fmt::format("Run it: vllm serve {} --max-model-len {}\n", output, report.target_length);
  } else {
    text += fmt::format("Run it: AutoModelForCausalLM.from_pretrained with {}\n", output);
  }
  return text;
}

Json mean_of(const std::optional<Estimate>& estimate) {
  return estimate ? Json(estimate->mean) : Json(nullptr);
}

Json interval_of(const std::optional<Estimate>& estimate) {
  if (!estimate || !estimate->interval) return nullptr;
  return {estimate->interval->low, estimate->interval->high};
}

Json shape_json(const std::optional<CurveShape>& shape) {
  if (!shape) return nullptr;
  return {{"shape", to_string(shape->past)},
          {"from", shape->from},
          {"rise", shape->rise},
          {"over_declared", shape->over_declared ? Json(*shape->over_declared) : Json(nullptr)},
          {"remark", remark(*shape)}};
}

Json held_out_json(const HeldOut& held_out) {
  if (!held_out.beyond) return nullptr;
  return {{"windows", held_out.tallies.beyond.size()},
          {"beyond", mean_of(held_out.beyond)},
          {"inside_cost", mean_of(held_out.inside_cost)},
          {"copy_beyond", mean_of(held_out.copy_beyond)},
          {"intervals",
           {{"beyond", interval_of(held_out.beyond)},
            {"inside_cost", interval_of(held_out.inside_cost)},
            {"copy_beyond", interval_of(held_out.copy_beyond)}}}};
}

Json candidate_json(const Candidate& candidate) {
  Json out;
  out["scheme"] = candidate.scheme;
  out["portable"] = candidate.portability.portable;
  out["how"] =
      candidate.portability.portable ? candidate.portability.how : candidate.portability.why_not;
  out["truncates"] = candidate.truncates;
  out["finalist"] = candidate.finalist;
  out["found_by_search"] = candidate.found_by.empty() ? Json(nullptr) : Json(candidate.found_by);
  out["windows"] = candidate.windows;
  out["inside"] = mean_of(candidate.inside);
  out["beyond"] = mean_of(candidate.beyond);
  out["inside_cost"] = mean_of(candidate.inside_cost);
  out["copy_inside"] = mean_of(candidate.copy_inside);
  out["copy_beyond"] = mean_of(candidate.copy_beyond);
  out["intervals"] = {{"inside", interval_of(candidate.inside)},
                      {"beyond", interval_of(candidate.beyond)},
                      {"inside_cost", interval_of(candidate.inside_cost)},
                      {"copy_inside", interval_of(candidate.copy_inside)},
                      {"copy_beyond", interval_of(candidate.copy_beyond)}};
  out["held_out"] = held_out_json(candidate.held_out);
  out["past_trained_length"] = shape_json(candidate.shape);
  return out;
}

Json scheme_of(const ExtendReport& report, const std::optional<size_t>& index) {
  return index ? Json(report.candidates[*index].scheme) : Json(nullptr);
}

Json winner_json(const ExtendReport& report, const Winner& winner) {
  Json lines = Json::array();
  for (const auto& [engine, line] : running_lines(report.candidates[winner.index]))
    lines.push_back({{"engine", engine}, {"line", line}});
  return {{"as", to_string(winner.role)},
          {"scheme", report.candidates[winner.index].scheme},
          {"smaller_change_than", scheme_of(report, winner.lowest)},
          {"next_best", scheme_of(report, winner.next)},
          {"lead", mean_of(winner.lead)},
          {"lead_interval", interval_of(winner.lead)},
          {"held_out_lead", mean_of(winner.held_out_lead)},
          {"held_out_lead_interval", interval_of(winner.held_out_lead)},
          {"grid_best", scheme_of(report, winner.grid)},
          {"held_out_grid_lead", mean_of(winner.held_out_grid_lead)},
          {"held_out_grid_lead_interval", interval_of(winner.held_out_grid_lead)},
          {"doubts", winner.doubts},
          {"run_with", lines}};
}

const Candidate* find_candidate(const ExtendReport& report, const std::string& scheme) {
  const auto found = std::ranges::find(report.candidates, scheme, &Candidate::scheme);
  return found == report.candidates.end() ? nullptr : &*found;
}

// Declared's loss beyond on the windows that a candidate ran, which one that fell out has fewer of.
std::optional<Estimate> declared_beside(const Candidate& candidate, const Candidate& declared) {
  const size_t windows = std::min(candidate.tallies.beyond.size(), declared.tallies.beyond.size());
  return estimate(std::span(declared.tallies.beyond).first(windows));
}

// What the bias curve foretold, beside the losses past the trained length.
std::string bias_text(const ExtendReport& report) {
  const Candidate* const declared = find_candidate(report, "declared");
  if (!report.bias || report.bias->heads.empty() || declared == nullptr) return "";
  const BiasReport& bias = *report.bias;
  const auto told = [](const std::optional<int64_t>& d) {
    return d ? std::to_string(*d) : std::string("never");
  };
  std::string text = fmt::format(
      "Bias curve: collapse foretold from {} tokens on (median of {} heads: {}), lowest at {}; "
      "measured beyond:",
      told(bias.earliest_collapse), bias.heads.size(), told(bias.median_collapse), told(bias.cap));
  text += " declared " + number(declared->beyond);
  for (const std::string& scheme : report.proposed()) {
    const Candidate* const measured = find_candidate(report, scheme);
    if (measured == nullptr) continue;
    text += fmt::format(", {} {}", scheme, number(measured->beyond));
    if (measured->windows == declared->windows) continue;
    text += fmt::format(" (on {} of the windows, where declared has {})", measured->windows,
                        number(declared_beside(*measured, *declared)));
  }
  return text + ".\n";
}

Json bias_json(const ExtendReport& report) {
  if (!report.bias) return nullptr;
  const auto told = [](const std::optional<int64_t>& d) { return d ? Json(*d) : Json(nullptr); };
  Json out = {{"heads", report.bias->heads.size()},
              {"collapsing_heads", report.bias->collapsing},
              {"earliest_collapse", told(report.bias->earliest_collapse)},
              {"median_collapse", told(report.bias->median_collapse)},
              {"cap", told(report.bias->cap)},
              {"proposed", report.proposed()}};
  std::vector<std::string> schemes = report.proposed();
  schemes.push_back("declared");
  out["measured_beyond"] = Json::object();
  out["declared_on_the_same_windows"] = Json::object();
  const Candidate* const declared = find_candidate(report, "declared");
  for (const std::string& scheme : schemes) {
    const Candidate* const measured = find_candidate(report, scheme);
    if (measured == nullptr) continue;
    out["measured_beyond"][scheme] = mean_of(measured->beyond);
    if (declared == nullptr) continue;
    out["declared_on_the_same_windows"][scheme] = mean_of(declared_beside(*measured, *declared));
  }
  return out;
}

Json search_json(const ExtendReport& report) {
  const SearchOutcome outcome = search_outcome(report.candidates);
  Json out = {{"tried", outcome.tried}, {"fell_out", outcome.fell_out}};
  const auto lowest = [](const Candidate* candidate) {
    if (candidate == nullptr) return Json(nullptr);
    return Json{{"scheme", candidate->scheme}, {"rank", rank_value(*candidate)}};
  };
  for (const SearchOutcome::Pair& pair : outcome.lowest) {
    out[pair.portable ? "portable" : "other"] = {{"found", lowest(pair.found)},
                                                 {"grid", lowest(pair.grid)}};
  }
  return out;
}

Json run_json(const ExtendReport& report) {
  Json out = {{"study", report.run.study},
              {"model_path", report.model},
              {"seconds", report.run.seconds},
              {"threads", report.run.threads},
              {"peak_bytes", report.run.peak_bytes}};
  if (report.run.ranks > 1) out["ranks"] = report.run.ranks;
  out["output"] = report.written ? Json(report.written->output) : Json(nullptr);
  out["candidates"] = Json::array();
  for (const Candidate& candidate : report.candidates) {
    out["candidates"].push_back({{"scheme", candidate.scheme},
                                 {"seconds", candidate.seconds},
                                 {"tokens_per_second", static_cast<double>(candidate.tokens) /
                                                           std::max(candidate.seconds, 1e-9)},
                                 {"resumed_cells", candidate.resumed_cells}});
  }
  return out;
}

Json whole_json(const ExtendReport& report) {
  Json out;
  out["model"] = file_name(report.model);
  out["trained_length"] = report.trained_length;
  out["target_length"] = report.target_length;
  out["engine"] = to_string(report.engine);
  out["text"] = report.text;
  out["left_out"] = report.left_out.empty() ? Json(nullptr) : Json(report.left_out);
  out["held_out_windows"] = report.held_out;
  out["candidates"] = Json::array();
  for (const Candidate& candidate : report.candidates)
    out["candidates"].push_back(candidate_json(candidate));
  out["search"] = search_json(report);
  const Recommendation& told = report.recommendation;
  out["best_portable"] = scheme_of(report, told.index_of(Role::kBestPortable));
  out["best_overall"] = scheme_of(report, told.index_of(Role::kBestOverall));
  out["best_untouched"] = scheme_of(report, told.index_of(Role::kBestUntouched));
  out["winners"] = Json::array();
  for (const Winner& winner : told.winners) out["winners"].push_back(winner_json(report, winner));
  out["why"] = told.why;
  out["bias_curve"] = bias_json(report);
  out["calibration"] = calibration_json(report.calibrations);
  out["prompt_tokens"] = report.prompt_tokens;
  out["passages"] = Json::array();
  for (const auto& [scheme, passage] : report.passages)
    out["passages"].push_back({{"scheme", scheme}, {"text", passage}});
  out["run"] = run_json(report);
  return out;
}

}  // namespace

std::string to_text(const ExtendReport& report) {
  std::string text =
      fmt::format("{}: trained at {} tokens, to be read at {}\n{}\n", terminal_text(report.model),
                  report.trained_length, report.target_length, report.text);
  text +=
      "inside, beyond: nats per token predicted from positions below and past the trained length; "
      "cost: inside less declared's; held out: beyond, on windows that took no part in choosing;\n"
      "copy in, copy out: nats gained per token where a passage repeats at a distance below and "
      "past it\n\n";
  text += table(report) + "\n";
  for (const std::string& sentence : report.recommendation.why)
    text += without_lists(sentence) + "\n";
  text += without_lists(search_text(report.candidates, to_string(report.engine)));
  text += bias_text(report);
  if (const std::string published = calibration_sentence(report.calibrations); !published.empty())
    text += published + "\n";
  text += "\n" + running_text(report.candidates, report.recommendation);
  if (!report.passages.empty())
    text +=
        fmt::format("\nWhat it goes on with after {} tokens of the text:\n", report.prompt_tokens);
  for (const auto& [scheme, passage] : report.passages)
    text += fmt::format("\n[{}]\n{}\n", scheme, passage);
  text += how_to_run(report);
  const std::string study = terminal_text(report.run.study);
  const std::string ranks =
      report.run.ranks > 1 ? fmt::format("{} ranks, each ", report.run.ranks) : "";
  text += fmt::format("\n{} with {}{} thread{}, at most {:.2f} GiB; every pass is kept in {}\n",
                      duration_text(report.run.seconds), ranks, report.run.threads,
                      report.run.threads == 1 ? "" : "s",
                      static_cast<double>(report.run.peak_bytes) / (1 << 30), study);
  text += fmt::format("As a page: ropewalk report {} -o report.html\n", study);
  return text;
}

std::string to_json(const ExtendReport& report) { return dump_json(whole_json(report), 1) + "\n"; }

std::string outcome_json(const ExtendReport& report) {
  Json out = whole_json(report);
  out["run"].erase("study");
  out["run"].erase("model_path");
  if (report.written) out["run"]["output"] = file_name(report.written->output);
  return dump_json(out);
}

// With or without a slash behind it.
std::string file_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace ropewalk
