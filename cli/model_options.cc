#include "cli/model_options.h"

#include <fmt/ranges.h>
#include <omp.h>
#include <unistd.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/messages.h"
#include "cli/option_checks.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/whole_file.h"
#include "ropewalk/engine/arch/families.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

LayerScheme read_layer_scheme(const std::string& text) {
  const char* const rule = "must read FIRST:LAST=SCHEME";
  const size_t colon = text.find(':');
  const size_t equals = text.find('=');
  if (colon == std::string::npos || equals == std::string::npos || colon > equals) {
    throw Error("--layer-scheme", rule, text);
  }
  LayerScheme change{.scheme = text.substr(equals + 1)};
  const auto read = [&](size_t from, size_t to, size_t& out) {
    const auto result = std::from_chars(text.data() + from, text.data() + to, out);
    if (result.ec != std::errc() || result.ptr != text.data() + to)
      throw Error("--layer-scheme", rule, text);
  };
  read(0, colon, change.first);
  read(colon + 1, equals, change.last);
  return change;
}

}  // namespace

void ModelOptions::add_to(CLI::App& command) {
  command.add_option("MODEL", path, "A GGUF file, or a Hugging Face directory")
      ->required()
      ->check(names_file());
  command.add_option("--precision", precision, "Of weights, products and cache")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command
      .add_option(
          "--weights", weights,
          "packed: in memory; streamed: in the file, a layer packed at a time; auto: streamed "
          "where packed ones do not fit. The answer does not depend on it")
      ->check(CLI::IsMember({"auto", "packed", "streamed"}))
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads; the answer does not depend on it")
      ->check(CLI::Range(1, 1024));
}

ModelFile ModelOptions::open() const {
  if (threads > 0) omp_set_num_threads(threads);
  ModelFile file = open_model(path);
  if (weights == "packed") file.holding = Holding::kPacked;
  if (weights == "streamed") {
    if (EncoderModel::takes(file))
      throw Error("--weights", "must be auto or packed for an encoder", weights);
    file.holding = Holding::kStreamed;
  }
  return file;
}

ModelFile ModelOptions::open_decoder() const {
  ModelFile file = open();
  describe_model(file.config, file.keys, file.tensors->name());
  return file;
}

Precision ModelOptions::chosen_precision() const {
  return precision == "bf16" ? Precision::kBf16 : Precision::kF32;
}

void fit_into_memory(ModelFile& file, const MemoryRun& run, const std::string& shorten,
                     const std::optional<AvailableMemory>& available) {
  const bool streamed = file.streams();
  fit_memory(file, run, shorten, available);
  if (file.streams() && !streamed) tell_streamed(*available);
}

void tell_streamed(const AvailableMemory& available) {
  complain(
      fmt::format("the weights do not fit into the {} that are left ({}): they are streamed from "
                  "the file in every pass",
                  bytes_text(available.bytes), available.source));
}

void SchemeOptions::add_to(CLI::App& command) {
  command
      .add_option("--scheme", scheme,
                  "part[+part...], part = name[,key=value...]; see docs/schemes.md")
      ->capture_default_str();
  command.add_option("--layer-scheme", layer_schemes,
                     "FIRST:LAST=SCHEME: another scheme on these layers (from 0, both included), "
                     "laid on the first; repeatable");
  command
      .add_option("--angles", angles,
                  "float32 reproduces what ggml and transformers compute; for comparing only")
      ->check(CLI::IsMember({"exact", "float32"}))
      ->capture_default_str();
}

Positions SchemeOptions::positions(const ModelConfig& config) const {
  std::vector<LayerScheme> changes = {{.scheme = scheme}};
  for (const std::string& text : layer_schemes) changes.push_back(read_layer_scheme(text));
  return make_positions(config, changes,
                        angles == "float32" ? AngleMode::kFloat32 : AngleMode::kExact);
}

std::string SchemeOptions::text() const {
  std::string all = scheme;
  for (const std::string& change : layer_schemes) all += ", layers " + change;
  return all;
}

std::string read_text(const std::string& path) {
  return path == "-" ? read_whole_stream(STDIN_FILENO, "standard input", kMostTextBytes)
                     : read_whole_file(path, kMostTextBytes);
}

std::vector<int32_t> read_ids(const std::string& path) {
  const nlohmann::ordered_json json =
      path == "-" ? parse_json(read_text(path), "standard input") : load_json(path);
  if (!json.is_array()) throw Error(path, "must be a JSON array of token ids", json.type_name());
  std::vector<int32_t> ids;
  ids.reserve(json.size());
  for (const auto& id : json) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 ||
        id.get<int64_t>() > std::numeric_limits<int32_t>::max()) {
      throw Error(path + ", entry " + std::to_string(ids.size()), "must be a token id",
                  id.dump().substr(0, 40));
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

void TokenInput::add_to(CLI::App& command) {
  CLI::Option_group* input = command.add_option_group("input");
  input
      ->add_option("--text", text,
                   "A text file, tokenized as the model's file says; - is standard input")
      ->check(names_file());
  input
      ->add_option("--ids", ids,
                   "A JSON array of token ids, taken as they are: no BOS is added; - is standard "
                   "input")
      ->check(names_file());
  input->require_option(1);
}

std::vector<int32_t> TokenInput::read(const ModelFile& model) const {
  return ids.empty() ? tokenizer_of(model).encode(read_text(text)) : read_ids(ids);
}

std::string json_list(std::span<const int32_t> ids) {
  return fmt::format("[{}]", fmt::join(ids, ", "));
}

}  // namespace ropewalk
