#include "ropewalk/config/gguf_remarks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Positions = GgufArchitecture::Positions;

constexpr const char* kPartCount = "split.count";
constexpr const char* kPartNumber = "split.no";
constexpr std::string_view kFactor = "rope.scaling.factor";
constexpr std::string_view kLegacyFactor = "rope.scale_linear";
constexpr std::string_view kOriginal = "rope.scaling.original_context_length";

// Llama 3.1, 3.2 and 3.3.
constexpr double kLlama31Base = 500000;
constexpr int64_t kLlama31Length = 131072;

// Lengths that the names of models tell, in units of 1024 tokens.
constexpr int64_t kNamedLengths[] = {8, 16, 32, 64, 100, 128, 200, 256, 512, 1024};

// Keys of attention that no position hangs on.
constexpr std::string_view kNotPositions[] = {
    "attention.causal",         "attention.clamp_kqv",    "attention.decay_lora_rank",
    "attention.gate_lora_rank", "attention.group_norm_",  "attention.iclr_lora_rank",
    "attention.indexer.",       "attention.kv_lora_rank", "attention.output_",
    "attention.q_lora_rank",    "attention.scale",        "attention.shared_kv_layers",
    "attention.value_",         "attention.layer_norm_"};

// The longest "64k" of a name, in tokens; 0: none.
int64_t length_in_name(std::string_view name) {
  int64_t longest = 0;
  for (size_t k = 0; k < name.size(); ++k) {
    const auto is_digit = [&](size_t at) {
      return std::isdigit(static_cast<unsigned char>(name[at])) != 0;
    };
    // A number of its own: not the one of "Lc100K".
    const bool inside =
        k > 0 && (std::isalnum(static_cast<unsigned char>(name[k - 1])) != 0 || name[k - 1] == '.');
    if (!is_digit(k) || inside) continue;
    size_t end = k;
    int64_t number = 0;
    while (end < name.size() && end < k + 4 && is_digit(end))
      number = number * 10 + (name[end++] - '0');
    const bool kilo = end < name.size() && (name[end] == 'k' || name[end] == 'K');
    const bool ends =
        end + 1 >= name.size() || std::isalnum(static_cast<unsigned char>(name[end + 1])) == 0;
    if (kilo && ends && std::ranges::find(kNamedLengths, number) != std::end(kNamedLengths)) {
      longest = std::max(longest, number * 1024);
    }
  }
  return longest;
}

// "part 2 of 3"; parts count from 0 in the file.
std::string part_text(uint64_t number, uint64_t parts) {
  return "part " + std::to_string(number + 1) + " of " + std::to_string(parts);
}

class Remarks {
 public:
  Remarks(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
          int64_t context_length, ModelConfig& config)
      : file_(file),
        keys_(keys),
        architecture_(architecture),
        context_length_(context_length),
        config_(config) {}

  void add() {
    set_usable_length();
    note_parts();
    note_reach();
    note_name();
    note_missing_factors();
    note_narrow_nemotron();
    note_unread();
    note_foreign();
  }

 private:
  void info(std::string key, std::string text) {
    config_.findings.push_back({.key = std::move(key), .text = std::move(text)});
  }
  void warn(FaultKind kind, std::string key, std::string text) {
    config_.findings.push_back(
        {Finding::Severity::kWarning, kind, std::move(key), std::move(text)});
  }
  bool rotary() const {
    return std::ranges::any_of(config_.groups,
                               [](const LayerGroup& group) { return group.rotary.has_value(); });
  }
  bool plain() const {
    return std::ranges::all_of(config_.groups, [](const LayerGroup& group) {
      return !group.rotary || group.scheme == "rope" || group.scheme.starts_with("window,") ||
             group.scheme.starts_with("rope+");
    });
  }
  double factor() const {
    const auto found =
        file_.metadata().find_f64(keys_.key(keys_.has(kFactor) ? kFactor : kLegacyFactor));
    return std::max(1.0, found.value_or(1));
  }

  void set_usable_length();
  void note_parts();
  void note_reach();
  void note_name();
  void note_missing_factors();
  void note_narrow_nemotron();
  void note_unread();
  void note_foreign();

  const GgufFile& file_;
  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const int64_t context_length_;
  ModelConfig& config_;
};

void Remarks::set_usable_length() {
  config_.usable_length = context_length_;
  if (context_length_ != 0) config_.usable_reason = keys_.key("context_length");
  for (const PositionMechanism& mechanism : config_.mechanisms) {
    const auto* const table = std::get_if<LearnedTable>(&mechanism);
    if (table == nullptr || table->n_rows == 0) continue;
    if (context_length_ == 0 || table->n_rows - table->offset < context_length_) {
      config_.usable_length = table->n_rows - table->offset;
      config_.usable_reason = "rows of the learned table";
    }
  }
}

void Remarks::note_parts() {
  const uint64_t parts = file_.metadata().find_u64(kPartCount).value_or(1);
  if (parts <= 1) return;
  config_.fields.push_back({"parts", std::to_string(parts), Provenance::kFile, kPartCount});
  if (!file_.is_part()) return;
  const uint64_t number = file_.metadata().find_u64(kPartNumber).value_or(0);
  info(kPartCount, (number == 0 ? "the first of " + std::to_string(parts) + " parts"
                                : part_text(number, parts)) +
                       ": tensors of the others are not looked at");
}

// ---- lengths

// Whether factor and lengths agree.
void Remarks::note_reach() {
  const std::string type(
      file_.metadata().find_string(keys_.key("rope.scaling.type")).value_or("linear"));
  const double scale = factor();
  if (!rotary() || scale == 1 || type == "none" || type == "longrope" || architecture_.fixed)
    return;
  const auto original = file_.metadata().find_i64(keys_.key(kOriginal));
  const std::string context = keys_.key("context_length") + " = " + std::to_string(context_length_);
  if (!original) {
    if (type == "linear") {
      config_.usable_reason += "; with factor " + to_text(scale) +
                               ", whether that counts before or after scaling is not told";
    }
    return;
  }
  const double reach = scale * static_cast<double>(*original);
  if (std::abs(reach - static_cast<double>(context_length_)) < 1) return;
  const std::string made =
      keys_.key(kFactor) + " times " + std::string(kOriginal) + " is " +
      to_text(std::round(reach)) + " (implied factor " +
      to_text(static_cast<double>(context_length_) / static_cast<double>(*original)) + ")";
  warn(FaultKind::kInconsistent, keys_.key("context_length"),
       context +
           (reach > static_cast<double>(context_length_)
                ? " stops short of what the scaling reaches, and engines go by it: "
                : " exceeds what the scaling reaches: ") +
           made);
}

// A name that promises more than the file can express.
void Remarks::note_name() {
  if (!rotary() || !plain() || context_length_ == 0) return;
  std::string_view path = file_.name();
  path.remove_prefix(std::min(path.size(), path.find_last_of('/') + 1));
  const std::string_view general = file_.metadata().find_string("general.name").value_or("");
  const int64_t named = std::max(length_in_name(general), length_in_name(path));
  if (3 * named <= 4 * context_length_) return;
  warn(FaultKind::kInconsistent,
       length_in_name(general) == named ? "general.name" : "context_length",
       "the name says " + std::to_string(named / 1024) + "k tokens, " +
           keys_.key("context_length") + " says " + std::to_string(context_length_) +
           ", and nothing is scaled: the file cannot express its own training");
}

// ---- what should be there

void Remarks::note_missing_factors() {
  if (architecture_.name != "llama" || context_length_ != kLlama31Length || !plain()) return;
  const Rotary& rotary = *config_.groups.front().rotary;
  if (rotary.source.base != kLlama31Base || file_.find_tensor("rope_freqs.weight") != nullptr)
    return;
  const bool part = file_.is_part();
  warn(FaultKind::kMissingKey, "rope_freqs.weight",
       std::string("base 500000 and 131072 tokens are Llama 3.1's, but ") +
           (part ? "this part has no" : "there are no") +
           " frequency factors: output past 8192 tokens will degrade; `ropewalk write --scheme "
           "llama3,factor=" +
           (rotary.layout.head_dim == 64 ? "32" : "8") +
           ",low=1,high=4,original=8192` adds the tensor");
}

// The converter makes Nemotron's width of a head that Minitron-8B does not have.
void Remarks::note_narrow_nemotron() {
  const ModelShape& shape = config_.shape;
  if (architecture_.name != "nemotron" || shape.n_heads == 0) return;
  const std::string key = keys_.key("rope.dimension_count");
  const auto width = file_.metadata().find_i64(key);
  if (!width || *width != shape.hidden / 2 / shape.n_heads || *width == shape.head_dim / 2) return;
  warn(FaultKind::kInconsistent, key,
       key + " = " + std::to_string(*width) +
           " is half of embedding_length / head_count, as llama.cpp's converter has it; the model "
           "turns half of its heads of " +
           std::to_string(shape.head_dim) + ", " + std::to_string(shape.head_dim / 2));
}

// ---- keys

void Remarks::note_unread() {
  for (const std::string_view suffix : kNotPositions) {
    for (const std::string& key : keys_.unread({suffix})) {
      keys_.mark(std::string_view(key).substr(keys_.architecture().size() + 1));
    }
  }
  for (const std::string& key : keys_.unread({"rope.", "attention."})) {
    if (rotary()) {
      warn(FaultKind::kUnknownValue, key, key + " is not used");
    } else {
      info(key, key + " is not used: queries and keys are not rotated");
    }
  }
}

// Keys of another architecture's name, which nobody reads.
void Remarks::note_foreign() {
  const std::string own = keys_.architecture() + ".";
  for (const GgufEntry& entry : file_.metadata().entries()) {
    const std::string_view key = entry.key;
    const bool positions =
        key.find(".rope.") != std::string_view::npos || key.ends_with(".context_length");
    if (!positions || key.starts_with(own) || key.starts_with("ropewalk.") ||
        key.starts_with("clip.")) {
      continue;
    }
    warn(FaultKind::kUnknownValue, std::string(key),
         std::string(key) + " is not read: the keys of this file start with " + own);
  }
}

}  // namespace

void refuse_later_part(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  const uint64_t number = metadata.find_u64(kPartNumber).value_or(0);
  const std::optional<uint64_t> parts = metadata.find_u64(kPartCount);
  metadata.find_u64("split.tensors.count");  // refuses a negative one
  // A file merged from parts has both 0.
  if (parts && number != 0 && number >= *parts) {
    throw Error(file.name() + ": " + kPartNumber,
                "must be below split.count " + std::to_string(*parts), std::to_string(number),
                "the parts count from 0: split the model again")
        .of(FaultKind::kOutOfRange);
  }
  if (number == 0 || metadata.contains("general.architecture")) return;
  throw Error(file.name() + ": " + kPartNumber,
              "must be 0: positions stand in a model's first part",
              std::to_string(number) + (parts ? ", " + part_text(number, *parts) : ""),
              "read the file whose name ends in -00001-of-...")
      .of(FaultKind::kMissingKey);
}

void add_gguf_remarks(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
                      int64_t context_length, ModelConfig& config) {
  Remarks(file, keys, architecture, context_length, config).add();
}

}  // namespace ropewalk
