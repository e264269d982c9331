#include "cli/write_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/option_checks.h"
#include "cli/terminal_text.h"
#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::string scheme = "declared";
  std::string engine;  // empty: the one that reads the model's format
  std::string type = "same";
  std::string output;
  int64_t target_length = 0;
  bool force = false;
  bool undo = false;
  bool json = false;
};

WriteRequest request_of(const Options& options) {
  WriteRequest request{.model = options.model,
                       .scheme = options.scheme,
                       .target_length = options.target_length,
                       .output = options.output,
                       .force = options.force,
                       .undo = options.undo};
  if (!options.engine.empty()) {
    request.engine = parse_target_engine(options.engine);
  } else if (model_format(options.model) == ModelFormat::kHuggingFace) {
    request.engine = TargetEngine::kTransformers;
  }
  if (options.type != "same") {
    request.type = options.type == "f32" ? WriteType::kF32 : WriteType::kBf16;
  }
  return request;
}

std::string or_none(const std::string& text) { return text.empty() ? "(none)" : text; }

void print_text(const WriteRequest& request, const WriteReport& report) {
  fmt::print("{}\n", terminal_text(report.output));
  if (request.undo) {
    fmt::print("  as it was before the last write\n");
  } else {
    fmt::print("  scheme {}, for {}: {}\n", request.scheme, to_string(request.engine), report.how);
  }
  size_t width = 0;
  for (const KeyChange& change : report.keys) width = std::max(width, change.key.size());
  for (const KeyChange& change : report.keys) {
    fmt::print("  {:<{}}  {} -> {}\n", terminal_text(change.key), width,
               or_none(terminal_text(change.before)), or_none(terminal_text(change.after)));
  }
  for (const std::string& layers : report.layers) fmt::print("  {}\n", layers);
  for (const std::string& name : report.added)
    fmt::print("  tensor {} added\n", terminal_text(name));
  for (const std::string& name : report.removed)
    fmt::print("  tensor {} removed\n", terminal_text(name));
  if (!request.undo) {
    fmt::print("  frequencies as written differ from the scheme by at most {:.1e}\n",
               report.largest_difference);
  }
  if (!report.data_before.empty()) {
    fmt::print("  other tensor data, SHA-256\n    before {}\n    after  {}\n", report.data_before,
               report.data_after);
  } else if (!report.data_after.empty()) {
    fmt::print("  other tensor data, converted, SHA-256 {}\n", report.data_after);
  }
  fmt::print("  whole file, SHA-256\n    before {}\n    after  {}\n", report.original,
             report.written);
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", terminal_text(note));
  if (request.undo || request.engine != TargetEngine::kLlamaCpp) return;
  const std::string context =
      request.target_length == 0 ? "" : fmt::format(" -c {}", request.target_length);
  fmt::print("  llama.cpp: llama-cli -m {}{}\n", terminal_text(report.output), context);
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

void print_json(const WriteRequest& request, const WriteReport& report) {
  Json json = {{"output", report.output},
               {"undo", request.undo},
               {"scheme", request.undo ? Json() : Json(request.scheme)},
               {"engine", to_string(request.engine)},
               {"how", or_null(report.how)}};
  json["keys"] = Json::array();
  for (const KeyChange& change : report.keys) {
    json["keys"].push_back({{"key", change.key},
                            {"before", or_null(change.before)},
                            {"after", or_null(change.after)}});
  }
  json["layers"] = report.layers;
  json["tensors_added"] = report.added;
  json["tensors_removed"] = report.removed;
  json["largest_difference"] = report.largest_difference;
  json["data_sha256"] = {{"before", or_null(report.data_before)},
                         {"after", or_null(report.data_after)}};
  json["file_sha256"] = {{"before", report.original}, {"after", report.written}};
  json["notes"] = report.notes;
  fmt::print("{}\n", dump_json(json, 2));
}

void run(const Options& options) {
  const WriteRequest request = request_of(options);
  const WriteReport report = write_model(request);
  if (options.json) return print_json(request, report);
  print_text(request, report);
}

}  // namespace

void add_write_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("write", "A model file that declares a scheme, for an engine to run");
  command
      ->add_option("MODEL", options->model, "A GGUF file, a config.json, or a directory with one")
      ->required()
      ->check(names_file());
  CLI::Option* scheme =
      command->add_option("--scheme", options->scheme,
                          "part[+part...], part = name[,key=value...]; see docs/schemes.md");
  scheme->capture_default_str();
  CLI::Option* length = command
                            ->add_option("--to", options->target_length,
                                         "The new context length; as it is by default")
                            ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command
      ->add_option("--for", options->engine,
                   "The engine; llama.cpp for GGUF, transformers for config.json by default")
      ->check(CLI::IsMember({"llama.cpp", "vllm", "transformers"}));
  CLI::Option* type = command->add_option("--type", options->type, "What matrices are stored as")
                          ->check(CLI::IsMember({"same", "f32", "bf16"}))
                          ->capture_default_str();
  command->add_option("-o,--output", options->output, "The file to write, never the model itself")
      ->required()
      ->check(names_output());
  command->add_flag("--force", options->force,
                    "Replace any model that OUT names; else only one written from MODEL before");
  command->add_flag("--undo", options->undo, "Restore what the last write replaced")
      ->excludes(scheme)
      ->excludes(length)
      ->excludes(type);
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
