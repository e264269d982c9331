// Source: llama.cpp: the loader (llama-model.cpp), what a context makes of it (llama-context.cpp),
// and ggml's rope. What it computes, for pair i of n, with base b and the divisor ff of a tensor (1
// where there is none):
//   theta = b^(-i/n) / ff
//   linear, longrope, none:  theta / factor
//   yarn:                    theta / factor below the ramp, theta above it, mixed between
// all with the amplitude rope.scaling.attn_factor, times 1 + 0.1 ln(factor) under yarn.
#include "ropewalk/config/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

constexpr double kDefaultBase = 10000;  // llama.cpp's, whatever the architecture

constexpr const char* kRopeFreqs = "rope_freqs.weight";
constexpr const char* kFactorsLong = "rope_factors_long.weight";
constexpr const char* kFactorsShort = "rope_factors_short.weight";

struct Scaling {
  std::string type = "linear";  // llama.cpp's default: does nothing without a factor
  bool has_lists = false;       // the long and the short list of divisors are in force
  double factor = 1;
  int64_t original = 0;  // tokens
  double amplitude = 1;

  bool counts_from_original() const { return type == "yarn" || has_lists; }
};

class RopeReader {
 public:
  RopeReader(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
             const GgufRopeSizes& sizes)
      : file_(file), keys_(keys), architecture_(architecture), sizes_(sizes) {}

  DeclaredRope read() {
    const PairLayout layout = read_layout();
    FrequencySource source = {.base = read_base(), .frequency_dim = layout.rotary_dim};
    const Scaling scaling = read_scaling();
    source.trained_length = read_trained_length(scaling);
    const FrequencyDeclaration declaration = declare(scaling, layout.n_pairs());
    result_.rotary = build_rotary(source, layout, declaration);
    result_.scheme = scheme_text(declaration);
    return std::move(result_);
  }

 private:
  void field(std::string name, std::string value, Provenance provenance, std::string from) {
    result_.fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
  }
  void field_of_key(std::string name, std::string_view suffix) {
    field(std::move(name), keys_.spelled(suffix), Provenance::kFile, keys_.key(suffix));
  }
  void note(std::string text) { result_.findings.push_back({.text = std::move(text)}); }

  PairLayout read_layout();
  double read_base();
  Scaling read_scaling();
  std::string read_type();
  bool has_lists_in_force(const std::string& type);
  double read_factor(const std::string& type);
  int64_t read_original(const Scaling& scaling);
  double read_amplitude();
  void read_ignored(const Scaling& scaling);
  int64_t read_trained_length(const Scaling& scaling);

  FrequencyDeclaration declare(const Scaling& scaling, int64_t n_pairs);
  std::vector<double> read_divisors(const char* tensor, int64_t n_pairs);

  const GgufFile& file_;
  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const GgufRopeSizes sizes_;
  DeclaredRope result_;
};

PairLayout RopeReader::read_layout() {
  const std::string_view suffix = "rope.dimension_count";
  const std::optional<int64_t> declared = keys_.size(suffix);
  const int64_t rotary_dim = declared.value_or(sizes_.head_dim);
  if (declared) {
    field_of_key("rotary_dim", suffix);
  } else {
    field("rotary_dim", std::to_string(rotary_dim), Provenance::kFamilyDefault,
          keys_.key(suffix) + " is absent: the whole head");
  }
  if (rotary_dim > sizes_.head_dim || (architecture_.whole_head && rotary_dim != sizes_.head_dim)) {
    throw Error(keys_.place(suffix),
                std::string(architecture_.whole_head ? "must equal" : "must not exceed") +
                    " the head width " + std::to_string(sizes_.head_dim),
                std::to_string(rotary_dim));
  }
  if (rotary_dim % 2 != 0) {
    throw Error(keys_.place(suffix), "must be even", std::to_string(rotary_dim));
  }

  const bool half = architecture_.order == PairOrder::kHalf;
  std::string from = "implied by architecture " + keys_.architecture();
  if (architecture_.permuted) from += ", q and k rows reordered by the converter";
  field("layout", half ? "half" : "interleaved", Provenance::kFamilyDefault, std::move(from));
  return {.order = architecture_.order, .head_dim = sizes_.head_dim, .rotary_dim = rotary_dim};
}

double RopeReader::read_base() {
  const std::string_view suffix = "rope.freq_base";
  const std::optional<double> base = keys_.number(suffix);
  if (!base) {
    field("base", to_text(kDefaultBase), Provenance::kFamilyDefault,
          keys_.key(suffix) + " is absent: llama.cpp's default");
    return kDefaultBase;
  }
  if (*base <= 1) throw Error(keys_.place(suffix), "must be above 1", keys_.spelled(suffix));
  field_of_key("base", suffix);
  return *base;
}

Scaling RopeReader::read_scaling() {
  Scaling scaling;
  scaling.type = read_type();
  scaling.has_lists = has_lists_in_force(scaling.type);
  scaling.factor = read_factor(scaling.type);
  scaling.original = read_original(scaling);
  scaling.amplitude = read_amplitude();
  read_ignored(scaling);
  return scaling;
}

std::string RopeReader::read_type() {
  const std::string_view suffix = "rope.scaling.type";
  const std::optional<std::string> found = keys_.text(suffix);
  if (!found) return Scaling{}.type;
  for (const char* known : {"none", "linear", "yarn", "longrope"}) {
    if (*found != known) continue;
    field_of_key("scaling", suffix);
    return *found;
  }
  throw Error(keys_.place(suffix), "must be none, linear, yarn or longrope", *found);
}

bool RopeReader::has_lists_in_force(const std::string& type) {
  const bool wanted = type == "longrope" || architecture_.always_loads_factors;
  const bool has_long = file_.find_tensor(kFactorsLong) != nullptr;
  const bool has_short = file_.find_tensor(kFactorsShort) != nullptr;
  if (file_.find_tensor(kRopeFreqs) != nullptr || !wanted) {
    if (has_long || has_short) {
      note(std::string("tensors rope_factors_* are not used: ") +
           (wanted ? std::string(kRopeFreqs) + " comes first"
                   : keys_.key("rope.scaling.type") + " is not longrope"));
    }
    return false;
  }
  if (has_long != has_short || (type == "longrope" && !has_long)) {
    throw Error(file_.name() + ": " + (has_long ? kFactorsShort : kFactorsLong),
                "must be present: long and short factors come together");
  }
  return has_long;
}

double RopeReader::read_factor(const std::string& type) {
  const std::string_view current = "rope.scaling.factor";
  const std::string_view legacy = "rope.scale_linear";
  if (keys_.has(current) && keys_.has(legacy)) {
    note(keys_.key(legacy) + " = " + keys_.spelled(legacy) + " is not used: " + keys_.key(current) +
         " comes first");
    keys_.mark(legacy);
  }
  const std::string_view suffix = keys_.has(current) ? current : legacy;
  const std::optional<double> found = keys_.number(suffix);
  if (!found) {
    if (type == "yarn") note(keys_.key(current) + " is absent: yarn scales nothing");
    return 1;
  }
  if (*found != 0 && *found < 1) {
    throw Error(keys_.place(suffix), "must be at least 1, or 0 for none", keys_.spelled(suffix));
  }
  field_of_key("factor", suffix);
  if (*found == 0) {
    note(keys_.key(suffix) + " = 0 is taken as 1, as llama.cpp does");
    return 1;
  }
  if (type == "none" && *found != 1) {
    note(keys_.key(suffix) + " is not used: scaling none means factor 1");
    return 1;
  }
  return *found;
}

int64_t RopeReader::read_original(const Scaling& scaling) {
  const std::string_view suffix = "rope.scaling.original_context_length";
  if (const std::optional<int64_t> found = keys_.size(suffix)) {
    field_of_key("original_length", suffix);
    if (*found > sizes_.context_length) {
      note(keys_.key(suffix) + " exceeds context_length " + std::to_string(sizes_.context_length));
    }
    return *found;
  }
  if (scaling.counts_from_original()) {
    field("original_length", std::to_string(sizes_.context_length), Provenance::kAssumed,
          keys_.key(suffix) + " is absent: context_length, as llama.cpp does");
    note(keys_.key(suffix) + " is absent: assumed to be context_length, as llama.cpp does");
  }
  return sizes_.context_length;
}

double RopeReader::read_amplitude() {
  const std::string_view suffix = "rope.scaling.attn_factor";
  const std::optional<double> found = keys_.number(suffix);
  if (!found) return 1;
  if (*found <= 0) throw Error(keys_.place(suffix), "must be positive", keys_.spelled(suffix));
  field_of_key("amplitude", suffix);
  return *found;
}

// Keys that the converter writes for everyone and the loader reads for few architectures, none of
// ours.
void RopeReader::read_ignored(const Scaling& scaling) {
  struct Ignored {
    std::string_view suffix;
    double taken;
  };
  const Ignored ignored[] = {{"rope.scaling.yarn_ext_factor", scaling.type == "yarn" ? 1.0 : 0.0},
                             {"rope.scaling.yarn_attn_factor", 1},
                             {"rope.scaling.yarn_beta_fast", 32},
                             {"rope.scaling.yarn_beta_slow", 1},
                             {"rope.scaling.yarn_log_multiplier", 0}};
  for (const auto& [suffix, taken] : ignored) {
    const std::optional<double> found = keys_.number(suffix);
    if (found && *found != taken) {
      note(keys_.key(suffix) + " = " + keys_.spelled(suffix) + " is not used: llama.cpp takes " +
           to_text(taken) + " for this architecture, whatever the file says");
    }
  }
  const std::string_view finetuned = "rope.scaling.finetuned";
  if (keys_.flag(finetuned)) {
    field("finetuned", keys_.spelled(finetuned), Provenance::kFile,
          keys_.key(finetuned) + ", information only");
  }
}

int64_t RopeReader::read_trained_length(const Scaling& scaling) {
  if (!scaling.counts_from_original()) {
    field("trained_length", std::to_string(sizes_.context_length), Provenance::kDerived,
          "context_length");
    return sizes_.context_length;
  }
  field("trained_length", std::to_string(scaling.original), Provenance::kDerived,
        "original_length, from which the scaling counts");
  return scaling.original;
}

// ---- frequencies

FrequencyDeclaration RopeReader::declare(const Scaling& scaling, int64_t n_pairs) {
  FrequencyDeclaration declaration;
  if (scaling.has_lists) {
    const std::vector<double> long_list = read_divisors(kFactorsLong, n_pairs);
    const std::vector<double> short_list = read_divisors(kFactorsShort, n_pairs);
    declaration.scheme = "longrope,long=" + to_text(ParamValue(long_list)) +
                         ",short=" + to_text(ParamValue(short_list)) +
                         ",amplitude=" + to_text(scaling.amplitude);
    if (scaling.factor != 1) {
      declaration.divisors.assign(static_cast<size_t>(n_pairs), scaling.factor);
    }
    note("the long list counts above " + std::to_string(scaling.original) +
         " tokens, by the length of the sequence here, by the size of the context in llama.cpp");
    return declaration;
  }
  declaration.amplitude = scaling.amplitude;
  if (file_.find_tensor(kRopeFreqs) != nullptr) {
    declaration.divisors = read_divisors(kRopeFreqs, n_pairs);
  }
  if (scaling.factor != 1) {
    declaration.scheme =
        (scaling.type == "yarn" ? "yarn,original=" + std::to_string(scaling.original) + ",factor="
                                : "linear,factor=") +
        to_text(scaling.factor);
  }
  return declaration;
}

std::vector<double> RopeReader::read_divisors(const char* tensor, int64_t n_pairs) {
  const std::vector<float> stored = read_vector(file_, tensor, static_cast<uint64_t>(n_pairs));
  for (size_t pair = 0; pair < stored.size(); ++pair) {
    if (!std::isfinite(stored[pair]) || stored[pair] <= 0) {
      throw Error(file_.name() + ": " + tensor + "[" + std::to_string(pair) + "]",
                  "must be finite and positive: it divides a frequency",
                  std::to_string(stored[pair]));
    }
  }
  const auto [least, most] = std::ranges::minmax(stored);
  field("frequency_divisors", to_text(least) + " to " + to_text(most), Provenance::kFile,
        std::string("tensor ") + tensor);
  return {stored.begin(), stored.end()};
}

}  // namespace

DeclaredRope read_gguf_rope(const GgufFile& file, GgufKeys& keys,
                            const GgufArchitecture& architecture, const GgufRopeSizes& sizes) {
  return RopeReader(file, keys, architecture, sizes).read();
}

}  // namespace ropewalk
