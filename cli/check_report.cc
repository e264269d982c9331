#include "cli/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/declared_file.h"
#include "cli/model_parts.h"
#include "ropewalk/config/all_faults.h"
#include "ropewalk/config/engine_views.h"
#include "ropewalk/engine/encoder_memory.h"
#include "ropewalk/engine/encoder_model.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/safetensors.h"
#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {
namespace {

// A model that has learnt nothing loses ln(vocabulary) per token; one whose weights fit does much
// better on any text.
constexpr double kLeastGain = 0.5;
constexpr int64_t kWindow = 512;

// Means of fewer losses do not tell the two apart: single ones differ by several nats.
constexpr int64_t kLeastTokens = 32;

// Spread over the text: its first page alone may be a title and white space.
constexpr size_t kWindows = 8;

// The first value of a tensor that is no number, named.
void refuse_infinite(const TensorSource& source, const TensorInfo& info) {
  const uint64_t columns = row_length(info);
  const uint64_t rows = row_count(info);
  const uint64_t step = std::max<uint64_t>(1, (uint64_t{1} << 20) / std::max<uint64_t>(columns, 1));
  std::vector<float> values;
  for (uint64_t first = 0; first < rows; first += step) {
    const uint64_t count = std::min(step, rows - first);
    values.resize(count * columns);
    source.read_rows(info, first, count, values);
    for (size_t k = 0; k < values.size(); ++k) {
      if (std::isfinite(values[k])) continue;
      throw Error(
          info.name, "must hold finite numbers",
          fmt::format("{} in row {}, column {}", values[k], first + k / columns, k % columns),
          "the file is damaged: fetch or convert it anew");
    }
  }
}

// A part with its tensors is meant to be run, for which the others must be there; of a header that
// was saved alone they need not.
std::shared_ptr<const GgufFile> all_parts(std::shared_ptr<const GgufFile> file) {
  if (!file->is_part() || !file->has_data()) return with_other_parts(file);
  return std::make_shared<GgufFile>(GgufFile::open_all(file->name()));
}

class Checker {
 public:
  explicit Checker(const CheckOptions& options) : options_(options) {
    report_.path = positions_file(options.model.path);
    report_.text_given = !options.text.empty();
  }

  CheckReport check() {
    model_format(report_.path) == ModelFormat::kHuggingFace ? check_json() : check_gguf();
    if (tensors_ != nullptr) check_tensors();
    if (report_.faults.empty() && report_.obstacle.empty() && tensors_ != nullptr) run_model();
    refuse_unscored();
    return std::move(report_);
  }

 private:
  void fault(const Error& error) {
    report_.faults.push_back({.key = fault_key(error, report_.path),
                              .kind = error.kind(),
                              .rule = error.rule(),
                              .value = error.value(),
                              .mend = error.mend(),
                              .engines = engine_views_of(error)});
  }
  std::string obstacle_text(const Error& error) const {
    return fault_key(error, report_.path) + ": " + error.rule() +
           (error.value().empty() ? "" : ", got " + error.value());
  }
  // Runs `step`; its Error becomes a fault. Returns whether there was none.
  bool attempt(const std::function<void()>& step) {
    try {
      step();
      return true;
    } catch (const Error& error) {
      fault(error);
      return false;
    }
  }

  void check_json();
  void check_gguf();
  void note_unread_weights(const std::filesystem::path& folder);
  bool check_parts(const GgufFile& file);
  void note_trailing(const GgufFile& file);
  void refuse_cut(const GgufFile& file);
  void take(AllFaults found);
  void check_tensors();
  void run_model();
  bool foretell(ModelFile& file);
  void score(const Model& model);
  void refuse_unscored();

  const CheckOptions& options_;
  CheckReport report_;
  std::shared_ptr<const TensorSource> tensors_;
};

void Checker::check_json() {
  nlohmann::ordered_json document;
  if (!attempt([&] { document = load_json(report_.path); })) return;
  report_.format = "config.json";
  AllFaults found = find_hf_faults(document, report_.path);
  if (found.config) attempt([&] { add_tokenizer_length(report_.path, *found.config); });
  const bool reads = found.faults.empty();
  take(std::move(found));
  if (reads) {
    try {
      read_hf_config(document, report_.path);
    } catch (const Error& error) {
      report_.obstacle = obstacle_text(error);
    }
  }
  const bool given_alone = options_.model.path == report_.path;
  const std::filesystem::path folder = std::filesystem::path(report_.path).parent_path();
  std::error_code failed;
  const bool has_weights = std::filesystem::exists(folder / "model.safetensors", failed) ||
                           std::filesystem::exists(folder / "model.safetensors.index.json", failed);
  if (given_alone || !has_weights) {
    report_.tensors.not_read = given_alone ? "a config.json was given, not its directory"
                                           : "no model.safetensors beside config.json";
    if (!given_alone) note_unread_weights(folder);
    return;
  }
  attempt(
      [&] { tensors_ = std::make_shared<Safetensors>(Safetensors::open(options_.model.path)); });
}

// Weights that are there and not looked at: clean would be the wrong word for them.
void Checker::note_unread_weights(const std::filesystem::path& folder) {
  const UnreadWeights found = find_unread_weights(folder);
  if (!found.shards.empty()) {
    fault(Error("model.safetensors.index.json",
                "must be present: it says which shard holds which tensor",
                fmt::format("{} shards, the first {}", found.shards.size(), found.shards.front()),
                "fetch it from where the shards come from")
              .of(FaultKind::kMissingKey));
  }
  if (found.others.empty()) return;
  const std::string first = found.others.front();
  report_.warnings.push_back(
      {.severity = Finding::Severity::kWarning,
       .kind = FaultKind::kMissingKey,
       .key = "model.safetensors",
       .text = fmt::format("model.safetensors is missing: {}{} {} not read, so that the weights "
                           "are not looked at",
                           first,
                           found.others.size() == 1
                               ? std::string()
                               : fmt::format(" and {} more", found.others.size() - 1),
                           found.others.size() == 1 ? "is" : "are")});
}

// llama.cpp counts the tensors of several parts only; one file runs whatever the key says.
bool Checker::check_parts(const GgufFile& file) {
  return attempt([&] {
    const std::optional<Error> mismatch = find_part_mismatch(file);
    if (!mismatch) return;
    if (file.metadata().find_u64("split.count").value_or(1) > 1) throw *mismatch;
    const std::string key = fault_key(*mismatch, report_.path);
    report_.warnings.push_back(
        {.severity = Finding::Severity::kWarning,
         .kind = mismatch->kind(),
         .key = key,
         .text = key + ": " + mismatch->rule() + ", got " + mismatch->value()});
  });
}

void Checker::check_gguf() {
  std::shared_ptr<const GgufFile> file;
  if (!attempt([&] {
        file = std::make_shared<GgufFile>(GgufFile::open(report_.path, GgufData::kOptional));
      })) {
    return;
  }
  report_.format = "GGUF version " + std::to_string(file->version());
  AllFaults found = find_gguf_faults(*file);
  std::shared_ptr<const GgufFile> whole = file;
  if (check_parts(*file)) attempt([&] { whole = all_parts(file); });
  // What a part lacks may be in the others.
  if (whole != file && found.faults.empty()) {
    attempt([&] { found.config = read_gguf_positions(*whole); });
  }
  const bool reads = found.faults.empty();
  take(std::move(found));
  note_trailing(*file);
  if (reads) {
    try {
      read_gguf_config(*whole);
    } catch (const Error& error) {
      report_.obstacle = obstacle_text(error);
    }
  }
  if (whole->tensors().empty()) {
    report_.tensors.not_read = "the file holds metadata only";
  } else if (!whole->has_data()) {
    report_.tensors.n_tensors = whole->tensors().size();
    report_.tensors.not_read = "the file is a header alone";
    if (whole->bytes().size() > whole->data_offset()) refuse_cut(*whole);
  } else {
    tensors_ = std::move(whole);
  }
}

// Bytes that no tensor has and no alignment asks for.
void Checker::note_trailing(const GgufFile& file) {
  uint64_t end = file.data_offset();
  for (const TensorInfo& info : file.tensors()) {
    if (info.type == TensorType::kUnknown) return;  // of no known size
    end = std::max(end, info.offset + info.bytes);
  }
  const uint64_t padding = (file.alignment() - end % file.alignment()) % file.alignment();
  if (file.bytes().size() <= end + padding) return;
  report_.warnings.push_back(
      {.severity = Finding::Severity::kWarning,
       .kind = FaultKind::kWrongLength,
       .key = "",
       .text =
           fmt::format("{} bytes follow the last tensor, which ends at byte {}: no reader looks "
                       "at them; the file may have been joined with another one, or written "
                       "over a longer one",
                       file.bytes().size() - end - padding, end)});
}

// Some tensors are there, so the others were meant to be.
void Checker::refuse_cut(const GgufFile& file) {
  report_.tensors.not_read = "the file is cut off";
  fault(Error(report_.path, "must hold all its tensors",
              std::to_string(file.bytes().size()) + " bytes",
              "fetch it anew; of a header that was saved alone keep the first " +
                  std::to_string(file.data_offset()) + " bytes"));
}

// Findings about what was taken out are no findings of the file.
void Checker::take(AllFaults found) {
  for (const Error& error : found.faults) fault(error);
  if (!found.config) return;
  const auto about_removed = [&](const std::string& text) {
    return std::ranges::any_of(found.removed, [&](const std::string& key) {
      return text.find(key.substr(key.rfind('.') + 1)) != std::string::npos;
    });
  };
  report_.architecture = found.config->architecture;
  for (Finding& finding : found.config->findings) {
    if (about_removed(finding.key + " " + finding.text)) continue;
    auto& list =
        finding.severity == Finding::Severity::kWarning ? report_.warnings : report_.remarks;
    list.push_back(std::move(finding));
  }
  const auto take_assumed = [&](std::vector<DeclaredField>& fields) {
    for (DeclaredField& field : fields) {
      if (field.provenance != Provenance::kAssumed || about_removed(field.from)) continue;
      report_.assumed.push_back(std::move(field));
    }
  };
  take_assumed(found.config->fields);
  for (LayerGroup& group : found.config->groups) take_assumed(group.fields);
}

void Checker::check_tensors() {
  TensorCheck& check = report_.tensors;
  check.n_tensors = tensors_->tensors().size();
  for (const TensorInfo& info : tensors_->tensors()) {
    if (!is_decodable(info.type)) {
      ++check.not_decodable[info.type_name];
    } else if (attempt([&] { refuse_infinite(*tensors_, info); })) {
      ++check.n_finite;
    }
  }
}

void Checker::run_model() {
  tensors_.reset();
  attempt([&] {
    ModelFile file = options_.model.open();
    report_.encoder = EncoderModel::takes(file);
    if (file.text_part) {
      report_.tower_tensors = file.text_part->left_out;
      report_.towers = file.text_part->towers;
    }
    if (!foretell(file)) return;
    if (report_.encoder) {
      if (!options_.text.empty()) {
        throw Error("--text", "must be given with a decoder alone: only losses of a text tell",
                    file.config.architecture, "of an encoder see `ropewalk states`");
      }
      const EncoderModel encoder(std::move(file), options_.model.chosen_precision());
      report_.weights_in_place = true;
      return;
    }
    const Model model(std::move(file), options_.model.chosen_precision());
    report_.weights_in_place = true;
    if (!options_.text.empty()) score(model);
  });
}

// Returns whether there is memory to run it; streams the weights where there is else not.
bool Checker::foretell(ModelFile& file) {
  const int64_t trained = trained_length(file.config);
  const Precision precision = options_.model.chosen_precision();
  const int64_t known = trained > 1 ? std::min(trained, kMostCheckTokens) : kWindow;
  const int64_t tokens = options_.tokens != 0 ? options_.tokens : known;
  const Positions declared = make_positions(file.config, {});
  const bool decodes = !report_.encoder || has_decoder(file);
  const auto run = [&](int64_t n) { return MemoryRun::losses(precision, n, &declared); };
  const auto encoder_run = [&](int64_t n) {
    return EncoderRun{.precision = precision,
                      .tokens = n,
                      .decoder_tokens = decodes ? n : 0,
                      .positions = declared};
  };
  const auto estimate = [&] {
    return report_.encoder ? estimate_memory(file, encoder_run(tokens))
                           : estimate_memory(file, run(tokens));
  };
  // Sizes that no tensor has are a fault here; that there is too little memory is none.
  report_.memory = {.of = decodes ? "losses" : "states",
                    .tokens = tokens,
                    .precision = options_.model.precision,
                    .estimate = estimate(),
                    .available = available_memory()};
  const int64_t few = std::min<int64_t>(tokens, kWindow);
  const char* const shorten = "a shorter text";
  try {
    if (report_.encoder) {
      refuse_too_large(file, encoder_run(few), shorten);
    } else {
      fit_into_memory(file, run(few), shorten);
    }
  } catch (const Error& error) {
    report_.obstacle = obstacle_text(error);
    return false;
  }
  if (file.streams()) {
    report_.memory->streamed = true;
    report_.memory->estimate = estimate();
  }
  return true;
}

void Checker::score(const Model& model) {
  const Tokenizer& tokenizer = model.tokenizer();
  const int64_t trained = trained_length(model.config());
  const std::vector<Document> documents = {
      {options_.text, tokenizer.encode(read_text(options_.text), {.add_special = false})}};
  WindowSet set = cut_windows(documents, tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt,
                              trained > 1 ? std::min(kWindow, trained) : kWindow);
  const Positions positions = make_positions(model.config(), {});
  Tally all;
  for (const Window& window : spread(std::move(set.windows), kWindows)) {
    for (const double loss : model.losses(window.ids, positions)) all.add(loss);
  }
  if (all.count < kLeastTokens) {
    throw Error(
        "--text",
        fmt::format("must have at least {} tokens to be scored: fewer are too short to tell "
                    "whether the weights fit",
                    kLeastTokens),
        std::to_string(all.count), "give a longer text");
  }
  const double ignorance = std::log(static_cast<double>(model.config().shape.vocabulary));
  const double mean = all.sum / static_cast<double>(all.count);
  report_.text = {.mean_loss = mean, .ignorance = ignorance, .tokens = all.count};
  if (mean <= ignorance - kLeastGain) return;
  throw Error(
      "weights",
      fmt::format("the weights do not fit this architecture: mean loss must be below {:.4f}",
                  ignorance - kLeastGain),
      fmt::format("{:.4f}", mean),
      "matrices may be transposed, q and k rows permuted, or the tokenizer another model's");
}

// A text was given, so whether the weights fit was asked for.
void Checker::refuse_unscored() {
  if (options_.text.empty() || report_.text || !report_.faults.empty()) return;
  fault(Error("--text", "must be given with a model that runs",
              report_.obstacle.empty() ? report_.tensors.not_read : report_.obstacle));
}

}  // namespace

int CheckReport::exit_status(bool strict) const {
  const bool doubtful = !warnings.empty() || !assumed.empty();
  return !faults.empty() || (strict && doubtful) ? 1 : 0;
}

CheckReport check_file(const CheckOptions& options) {
  if (!options.text.empty()) read_text(options.text);  // before anything long is done
  return Checker(options).check();
}

}  // namespace ropewalk
