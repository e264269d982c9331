#include "ropewalk/config/scheme_writer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/config/hf_scheme_writer.h"
#include "ropewalk/config/model_format.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/config/read_back.h"
#include "ropewalk/formats/atomic_file.h"
#include "ropewalk/formats/gguf_undo.h"
#include "ropewalk/formats/gguf_writer.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr const char* kOriginal = "rope.scaling.original_context_length";

// Tensors that say frequencies; a scheme that is written replaces them all.
const std::string kFrequencyTensors[] = {kRopeFreqsTensor, kLongFactorsTensor, kShortFactorsTensor};

// Keys of a scaling, by suffix, that no written scheme needs.
constexpr std::string_view kReplacedKeys[] = {"rope.scale_linear", "rope.scaling.yarn_ext_factor",
                                              "rope.scaling.yarn_attn_factor"};

ByteSink into(AtomicFile& file) {
  return [&file](std::span<const std::byte> bytes) { file.write(bytes); };
}

// A file that has not got its name yet, called by it in messages all the same.
class Unnamed {
 public:
  Unnamed(const std::string& path, const std::string& name)
      : mapping_(MappedFile::open(path)), file_(GgufFile::parse(mapping_.bytes(), name)) {}
  const GgufFile& file() const { return file_; }

 private:
  MappedFile mapping_;
  GgufFile file_;
};

// ---- edits

class EditPlanner {
 public:
  EditPlanner(const GgufFile& source, const ModelConfig& declared)
      : keys_(source), metadata_(source.metadata()), trained_(trained_length(declared)) {}

  GgufEdits plan(const GgufForm& form, int64_t target_length) {
    if (target_length != 0) set("context_length", static_cast<uint32_t>(target_length));
    if (form.temperature) set_temperature(*form.temperature);
    if (form.as_declared) {
      // A longer context must not change the length that a declared scaling counts from.
      if (target_length != 0 && !keys_.has(kOriginal)) set_original(trained_);
      return std::move(edits_);
    }
    const double base = metadata_.find_f64(keys_.key("rope.freq_base")).value_or(kDefaultBase);
    if (base != form.freq_base) set("rope.freq_base", form.freq_base);
    set("rope.scaling.type", form.scaling_type);
    set_or_remove("rope.scaling.factor", form.factor);
    set_original(form.original_length);
    set_or_remove("rope.scaling.attn_factor", form.amplitude);
    set_or_remove("rope.scaling.alpha", form.alpha);
    set_or_remove("rope.scaling.yarn_beta_fast", form.beta_fast);
    set_or_remove("rope.scaling.yarn_beta_slow", form.beta_slow);
    set_or_remove("rope.scaling.yarn_log_multiplier", form.log_multiplier);
    for (const std::string_view suffix : kReplacedKeys) set_or_remove(suffix, std::nullopt);
    edits_.vectors = {{kRopeFreqsTensor, form.divisors},
                      {kLongFactorsTensor, form.long_divisors},
                      {kShortFactorsTensor, form.short_divisors}};
    return std::move(edits_);
  }

 private:
  static constexpr double kDefaultBase = 10000;  // llama.cpp's where the key is absent

  void set(std::string_view suffix, GgufNewValue value) {
    edits_.keys.push_back({keys_.key(suffix), std::move(value)});
  }
  void set_temperature(const GgufTemperature& temperature) {
    set("attention.temperature_scale", temperature.scale);
    GgufKeyEdit length{keys_.key("attention.temperature_length"), std::nullopt};
    if (temperature.length) length.value = static_cast<uint32_t>(*temperature.length);
    edits_.keys.push_back(std::move(length));
  }
  void set_original(int64_t length) { set(kOriginal, static_cast<uint32_t>(length)); }
  void set_or_remove(std::string_view suffix, std::optional<float> value) {
    GgufKeyEdit edit{keys_.key(suffix), std::nullopt};
    if (value) edit.value = *value;
    edits_.keys.push_back(std::move(edit));
  }

  GgufKeys keys_;
  const GgufMetadata& metadata_;
  int64_t trained_;
  GgufEdits edits_;
};

// ---- the report

std::vector<KeyChange> changes(const GgufFile& before, const GgufFile& after) {
  std::vector<KeyChange> list;
  const auto text = [](const GgufFile& file, std::string_view key) {
    const GgufValue* const value = file.metadata().find(key);
    return value == nullptr ? std::string() : spelled(*value);
  };
  const auto compare = [&](std::string_view key) {
    if (key.starts_with(kUndoPrefix)) return;
    KeyChange change{std::string(key), text(before, key), text(after, key)};
    if (change.before != change.after) list.push_back(std::move(change));
  };
  for (const GgufEntry& entry : before.metadata().entries()) compare(entry.key);
  for (const GgufEntry& entry : after.metadata().entries()) {
    if (!before.metadata().contains(entry.key)) compare(entry.key);
  }
  return list;
}

// Names of tensors in both files with other bytes in neither: all but the replaced frequencies.
std::vector<std::string> kept_tensors(const GgufFile& before, const GgufFile& after) {
  std::vector<std::string> names;
  for (const TensorInfo& info : before.tensors()) {
    const bool replaced =
        std::ranges::find(kFrequencyTensors, info.name) != std::end(kFrequencyTensors);
    if (!replaced && after.find_tensor(info.name) != nullptr) names.push_back(info.name);
  }
  return names;
}

// What is in `there` and not in `here`.
std::vector<std::string> missing(const GgufFile& here, const GgufFile& there) {
  std::vector<std::string> names;
  for (const TensorInfo& info : there.tensors()) {
    if (here.find_tensor(info.name) == nullptr) names.push_back(info.name);
  }
  return names;
}

void compare_files(const GgufFile& before, const GgufFile& after, bool same_data,
                   WriteReport& report) {
  report.keys = changes(before, after);
  report.added = missing(before, after);
  report.removed = missing(after, before);
  const std::vector<std::string> kept = kept_tensors(before, after);
  report.data_after = tensor_data_sha256(after, kept);
  report.written = sha256_hex(after.bytes());
  if (!same_data) return;
  report.data_before = tensor_data_sha256(before, kept);
  if (report.data_before != report.data_after) {
    throw Error(report.output,
                "must hold the model's tensor data unchanged, SHA-256 " + report.data_before,
                report.data_after);
  }
}

// ---- writing

// The file that is edited: the model, or a converted copy beside the output while it lives.
class Source {
 public:
  Source(const GgufFile& model, WriteType type, const std::string& output) : file_(&model) {
    if (type == WriteType::kSame) return;
    temporary_ = std::make_unique<AtomicFile>(output);
    write_converted(model, type == WriteType::kF32 ? TensorType::kF32 : TensorType::kBF16,
                    into(*temporary_));
    temporary_->flush();
    converted_.emplace(temporary_->temporary_path(), output);
    file_ = &converted_->file();
  }
  const GgufFile& file() const { return *file_; }

 private:
  std::unique_ptr<AtomicFile> temporary_;  // never committed
  std::optional<Unnamed> converted_;
  const GgufFile* file_;
};

// Undoing what was just written must give the source again.
void prove_undo(const GgufFile& written, const std::string& source_sha256) {
  Sha256 hash;
  write_undone(written, [&](std::span<const std::byte> bytes) { hash.update(bytes); });
  const std::string found = hash.hex();
  if (found != source_sha256) {
    throw Error(written.name(), "must be undoable to SHA-256 " + source_sha256, found);
  }
}

bool is_written(const GgufFile& file) {
  return std::ranges::any_of(file.metadata().entries(), [](const GgufEntry& entry) {
    return entry.key.starts_with(kUndoPrefix);
  });
}

// The model that a scheme counts from: the file itself, or what it was before it was written, in a
// file beside the output while this lives.
class Start {
 public:
  Start(const GgufFile& model, bool as_trained, const std::string& output) : file_(&model) {
    while (as_trained && is_written(*file_)) {
      auto temporary = std::make_unique<AtomicFile>(output);
      const std::string promised = write_undone(*file_, into(*temporary));
      temporary->flush();
      auto undone = std::make_unique<Unnamed>(temporary->temporary_path(), model.name());
      const std::string found = sha256_hex(undone->file().bytes());
      if (found != promised) {
        throw Error(model.name(), "must be undoable to SHA-256 " + promised, found,
                    "the file was changed since it was written");
      }
      file_ = &undone->file();
      undone_ = std::move(undone);  // the one before it is not needed any more
      temporary_ = std::move(temporary);
    }
  }
  const GgufFile& file() const { return *file_; }
  bool is_undone() const { return undone_ != nullptr; }

 private:
  std::unique_ptr<AtomicFile> temporary_;  // never committed
  std::unique_ptr<Unnamed> undone_;
  const GgufFile* file_;
};

void check_gguf_request(const WriteRequest& request) {
  if (request.engine != TargetEngine::kLlamaCpp) {
    throw Error("engine", "must be llama.cpp for a GGUF file: config.json is what is read there",
                to_string(request.engine));
  }
  if (request.target_length > std::numeric_limits<uint32_t>::max()) {
    throw Error("target length", "must fit the 32 bits of context_length",
                std::to_string(request.target_length));
  }
}

// Throws Error where llama.cpp looks for frequency tensors that this part lacks: what another part
// may hold would still divide the frequencies.
void refuse_factors_elsewhere(const GgufFile& model, const std::string& parts) {
  using Factors = GgufArchitecture::Factors;
  GgufKeys keys(model);
  const GgufArchitecture* const architecture = find_gguf_architecture(keys.architecture());
  const Factors loads = architecture == nullptr ? Factors::kNone : architecture->factors;
  if (loads == Factors::kNone || loads == Factors::kUnused) return;
  const bool lists =
      loads == Factors::kLists || keys.text("rope.scaling.type").value_or("") == "longrope";
  const std::string& tensor = lists ? kFrequencyTensors[1] : kFrequencyTensors[0];
  if (model.find_tensor(tensor) != nullptr) return;
  throw Error(model.name(),
              "must be a whole file where a scheme changes frequencies and " + tensor +
                  " may be in another part: llama.cpp would still divide by it",
              "the first of " + parts + " parts", "merge them first: llama-gguf-split --merge");
}

// The first part of a split model has the keys of all; what it must not change is how many tensors
// there are.
void check_part(const GgufFile& model, const GgufForm& form, WriteReport& report) {
  const std::string parts = std::to_string(model.metadata().find_u64("split.count").value_or(1));
  if (parts == "1" || parts == "0") return;
  const std::vector<float>* const values[] = {&form.divisors, &form.long_divisors,
                                              &form.short_divisors};
  for (size_t i = 0; i < std::size(values) && !form.as_declared; ++i) {
    if (values[i]->empty() != (model.find_tensor(kFrequencyTensors[i]) == nullptr)) {
      throw Error(model.name(),
                  "must be a whole file where a scheme adds or removes " + kFrequencyTensors[i] +
                      ": split.tensors.count counts the tensors of all parts",
                  "the first of " + parts + " parts", "merge them first: llama-gguf-split --merge");
    }
  }
  if (!form.as_declared) refuse_factors_elsewhere(model, parts);
  report.notes.push_back("this is the first of " + parts +
                         " parts: name it as that part was named, and put the others beside it");
}

// Reads the new file as `show` does, and as the engine does.
void check_written(const WriteRequest& request, const ModelConfig& declared,
                   const ModelConfig& written, WriteReport& report) {
  const WrittenScheme asked = {request.output, request.scheme, request.target_length};
  ReadBack read = check_read_back(asked, declared, written);
  report.largest_difference = read.largest_difference;
  report.layers = std::move(read.layers);
  std::ranges::move(
      check_engine(asked, declared, written, ModelFormat::kGguf, TargetEngine::kLlamaCpp),
      std::back_inserter(report.notes));
}

WriteReport write_gguf(const WriteRequest& request, const GgufFile& given) {
  check_gguf_request(request);
  const Start start(given, !parse_scheme(request.scheme).is_declared(), request.output);
  const GgufFile& model = start.file();
  const ModelConfig declared = read_gguf_positions(model);
  WriteReport report;
  report.output = request.output;
  if (start.is_undone()) report.notes.push_back(kStartedUndone);
  const GgufForm form = gguf_form(declared, request.scheme);
  report.how = form.how;
  if (!form.differs.empty()) report.notes.push_back(form.differs);

  check_part(model, form, report);
  const Source source(model, request.type, request.output);
  const GgufEdits edits = EditPlanner(source.file(), declared).plan(form, request.target_length);
  AtomicFile file(request.output);
  const bool same_data = request.type == WriteType::kSame;
  report.original = sha256_hex(model.bytes());
  const std::string source_sha256 = same_data ? report.original : sha256_hex(source.file().bytes());
  write_edited(source.file(), edits, source_sha256, into(file));
  file.flush();

  const Unnamed unnamed(file.temporary_path(), request.output);
  const GgufFile& written = unnamed.file();
  check_written(request, declared, read_gguf_positions(written), report);
  compare_files(model, written, same_data, report);
  prove_undo(written, source_sha256);
  if (!same_data) {
    report.notes.push_back(
        "tensors were converted: --undo restores keys and frequencies, in the "
        "new type, not the old data");
  }
  file.commit();
  return report;
}

WriteReport undo_gguf(const WriteRequest& request, const GgufFile& edited) {
  WriteReport report;
  report.output = request.output;
  report.original = sha256_hex(edited.bytes());
  AtomicFile file(request.output);
  report.restored = write_undone(edited, into(file));
  file.flush();
  const Unnamed unnamed(file.temporary_path(), request.output);
  const GgufFile& written = unnamed.file();
  compare_files(edited, written, true, report);
  if (report.written != report.restored) {
    throw Error(edited.name(), "must be undoable to SHA-256 " + report.restored, report.written,
                "the file was changed since it was written");
  }
  file.commit();
  return report;
}

}  // namespace

WriteReport write_model(const WriteRequest& request) {
  if (request.output.empty()) throw Error("output", "must name a file");
  if (request.target_length < 0) {
    throw Error("target length", "must be at least 1", std::to_string(request.target_length));
  }
  const std::string path = positions_file(request.model);
  if (model_format(request.model) == ModelFormat::kHuggingFace) {
    if (request.engine == TargetEngine::kLlamaCpp && !request.undo) {
      throw Error("engine", "must be transformers or vllm for a config.json", "llama.cpp",
                  "convert the model to GGUF and write that");
    }
    return write_hf_model(request, path);
  }
  check_replaceable(path, request.output, request.force ? Replace::kModels : Replace::kOwn,
                    request.undo);
  const GgufFile model = GgufFile::open(path);
  return request.undo ? undo_gguf(request, model) : write_gguf(request, model);
}

}  // namespace ropewalk
