#include "cli/extend_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>

#include "cli/option_checks.h"
#include "cli/result_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

void ExtendOptions::add_to(CLI::App& command) {
  model.add_to(command);
  text.add_to(command);
  command.add_option("--to", target, "Tokens the model shall read")
      ->required()
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  command
      .add_option(
          "--for", engine,
          "The engine that shall run the result: by default llama.cpp for GGUF, else transformers")
      ->check(CLI::IsMember({"llama.cpp", "vllm", "transformers"}));
  command.add_option("--scheme", schemes,
                     "Candidates, each run in full; without it the registry's own, raced. "
                     "declared, a window and sinks are always there");
  command
      .add_option("--held-out", held_out,
                  "Windows that take no part in choosing and tell of what was chosen: by default "
                  "a quarter of those that reach beyond the trained length, at least one of two")
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("--copy-windows", copy_windows, "Most windows of the copy test")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--budget", budget,
                  "Time for all passes together, as 90s, 20m or 2h: fewer windows, then fewer "
                  "candidates")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::PositiveNumber);
  command
      .add_option("--search", search,
                  "Most settings to search for past the grid once the race is over; 0: none. By "
                  "default what --budget has time for, and none without one or with --scheme")
      ->check(CLI::Range(0, 1 << 20));
  command
      .add_option("--study", study,
                  "SQLite file that keeps every finished pass; without it, one in the cache folder")
      ->check(names_output());
  command
      .add_option("-o,--output", output, "Write the best portable setting into a new model file")
      ->check(names_output());
  command.add_flag("--force", force,
                   "Replace any model that -o names; else only one written from MODEL before");
  command.add_flag("--json", json,
                   "One JSON object; all that may differ between equal runs stands under \"run\"");
}

TargetEngine ExtendOptions::target_engine() const {
  const bool directory = model_format(model.path) == ModelFormat::kHuggingFace;
  if (engine.empty()) return directory ? TargetEngine::kTransformers : TargetEngine::kLlamaCpp;
  const TargetEngine target_engine = parse_target_engine(engine);
  if (!output.empty() && directory == (target_engine == TargetEngine::kLlamaCpp)) {
    throw Error("--for",
                directory ? "a Hugging Face directory can be written for vllm or transformers"
                          : "a GGUF file can be written for llama.cpp",
                engine);
  }
  return target_engine;
}

void ExtendOptions::check_files() const {
  if (output.empty()) return;
  std::vector<std::string> inputs = text.texts;
  inputs.insert(inputs.end(), text.ids.begin(), text.ids.end());
  inputs.push_back(model.path);
  inputs.push_back(study);
  refuse_inputs("-o", output, inputs);
  check_output(model.path, output, force ? Replace::kModels : Replace::kOwn);
}

void ExtendOptions::check_lengths(int64_t trained, const StudyText& given) const {
  if (target <= trained) {
    throw Error(
        "--to",
        fmt::format(
            "must be beyond the trained length of {}: within it nothing needs to be changed",
            trained),
        std::to_string(target));
  }
  const int64_t longest = given.longest_window();
  if (longest <= trained + 1) {
    throw Error(
        "--text",
        fmt::format("must have a document of more than {} tokens, to tell what happens beyond them",
                    trained + 1),
        std::to_string(longest), "give a longer text");
  }
  plan(given, trained);
}

std::vector<std::string> ExtendOptions::candidates(int64_t trained) const {
  if (schemes.empty()) return candidate_schemes(trained, target);
  std::vector<std::string> chosen = schemes;
  // What every table shows, so that nobody mistakes forgetting for reading.
  chosen.push_back("window,size=" + std::to_string(std::max<int64_t>(1, trained / 2)));
  chosen.push_back("sinks,count=4,size=" + std::to_string(std::max<int64_t>(1, trained / 2 - 4)));
  return chosen;
}

size_t ExtendOptions::most_searched() const {
  const bool by_default = budget && schemes.empty();
  return search.value_or(by_default ? std::numeric_limits<size_t>::max() : 0);
}

RacePlan ExtendOptions::plan(const StudyText& given, int64_t trained) const {
  return whole_plan(given.windows.size(), copy_windows, schemes.empty(),
                    hold_out(given.windows, trained, held_out));
}

}  // namespace ropewalk
