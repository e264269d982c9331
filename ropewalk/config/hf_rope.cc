// Source: transformers, modeling_rope_utils.py: which keys each type reads, and what it takes where
// they are absent. Where that module goes on after a warning with a value that cannot be meant, the
// value is refused here.
#include "ropewalk/config/hf_rope.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/math/double_double.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

class RopeReader {
 public:
  RopeReader(const std::string& file, JsonFields& top, const HfFamily& family, int64_t head_dim)
      : scaling_(find_hf_scaling(file, top)), top_(top), family_(family), head_dim_(head_dim) {}

  DeclaredRope read() {
    const PairLayout layout = read_layout();
    FrequencySource source = {.base = read_base(), .frequency_dim = layout.rotary_dim};
    read_max_positions();

    FrequencyDeclaration declaration;
    if (scaling_.fields && !scaling_.type_key.empty()) {
      field("scaling", scaling_.type, Provenance::kFile, scaling_.fields->name(scaling_.type_key));
    }
    declaration.scheme = read_scheme(layout.n_pairs());
    source.trained_length = read_trained_length();
    const std::string window = read_window();
    if (!window.empty()) declaration.scheme += "+" + window;
    note_unread_scaling();
    result_.rotary = build_rotary(source, layout, declaration);
    result_.scheme = scheme_text(declaration);
    return std::move(result_);
  }

 private:
  void field(std::string name, std::string value, Provenance provenance, std::string from) {
    result_.fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
  }
  void field_of_key(std::string name, const JsonFields& fields, const std::string& key) {
    field(std::move(name), fields.spelled(key), Provenance::kFile, fields.name(key));
  }
  void note(std::string text) { result_.findings.push_back({.text = std::move(text)}); }

  JsonFields& block() { return *scaling_.fields; }
  bool block_has(const std::string& key) const {
    return scaling_.fields && scaling_.fields->has_value(key);
  }

  // The object that holds `key`: a block, else the top level; null where none does. Refused where
  // two do and differ.
  JsonFields* holder(const std::string& key);

  PairLayout read_layout();
  int64_t width_of_fraction(int64_t rotary_dim);
  double read_base();
  void read_max_positions();
  int64_t read_trained_length();
  std::string read_window();

  std::string read_scheme(int64_t n_pairs);
  std::string linear();
  std::string dynamic();
  std::string yarn();
  std::string llama3();
  std::string longrope(int64_t n_pairs);
  double longrope_amplitude();

  double read_factor();
  double read_or_derived_factor();
  int64_t read_original(bool required);
  void note_implied_factor(double factor);
  std::string positive(const std::string& key);
  std::vector<double> read_divisors(const std::string& key, int64_t n_pairs);
  void note_unread_scaling();

  HfScalingBlock scaling_;
  JsonFields& top_;
  const HfFamily& family_;
  const int64_t head_dim_;

  int64_t max_positions_ = 0;  // the file's, else the family's
  int64_t original_ = 0;       // the length that a scaling counts from; 0: max_positions_
  DeclaredRope result_;
};

JsonFields* RopeReader::holder(const std::string& key) {
  JsonFields* found = nullptr;
  const auto look = [&](JsonFields& fields) {
    fields.mark(key);
    if (!fields.has_value(key)) return;
    if (found == nullptr) {
      found = &fields;
    } else if (*fields.raw(key) != *found->raw(key)) {
      throw fields.wrong(key, "must agree with " + found->name(key) + " " + found->spelled(key));
    }
  };
  if (scaling_.fields) look(*scaling_.fields);
  if (scaling_.twin) look(*scaling_.twin);
  look(top_);
  return found;
}

// ---- width and base

PairLayout RopeReader::read_layout() {
  const std::string key = "rotary_dim";
  int64_t rotary_dim = 0;
  if (top_.has_value(key)) {
    rotary_dim = *top_.size(key);
    if (rotary_dim % 2 != 0) throw top_.wrong(key, "must be even");
    if (rotary_dim > head_dim_) {
      throw top_.wrong(key, "must not exceed head_dim " + std::to_string(head_dim_));
    }
    field_of_key("rotary_dim", top_, key);
  }
  rotary_dim = width_of_fraction(rotary_dim);
  if (rotary_dim == 0) {
    rotary_dim = head_dim_;
    if (rotary_dim % 2 != 0) {
      throw Error(top_.place("head_dim"), "must be even: the whole head is rotated",
                  std::to_string(rotary_dim));
    }
    field("rotary_dim", std::to_string(rotary_dim), Provenance::kFamilyDefault,
          "partial_rotary_factor is absent: the whole head");
  }
  field("layout", "half", Provenance::kFamilyDefault,
        "implied by model_type " + std::string(family_.name));
  return {.order = PairOrder::kHalf, .head_dim = head_dim_, .rotary_dim = rotary_dim};
}

int64_t RopeReader::width_of_fraction(int64_t rotary_dim) {
  const std::string key = "partial_rotary_factor";
  JsonFields* const fields = holder(key);
  if (fields == nullptr) return rotary_dim;
  const double fraction = *fields->number(key);
  if (fraction <= 0 || fraction > 1) throw fields->wrong(key, "must be above 0, at most 1");
  const auto width = static_cast<int64_t>(static_cast<double>(head_dim_) * fraction);
  if (rotary_dim != 0) {
    if (width == rotary_dim) return rotary_dim;
    throw top_.wrong("rotary_dim",
                     "must agree with partial_rotary_factor: " + std::to_string(width));
  }
  if (width < 2 || width % 2 != 0) {
    throw fields->wrong(key, "must give an even width, gives " + std::to_string(width) + " of " +
                                 std::to_string(head_dim_));
  }
  field("rotary_dim", std::to_string(width), Provenance::kDerived,
        "head_dim * " + fields->name(key) + " " + fields->spelled(key));
  return width;
}

double RopeReader::read_base() {
  const std::string key = "rope_theta";
  const bool is_null = top_.has(key) && !top_.has_value(key);
  JsonFields* const fields = holder(key);
  if (fields == nullptr) {
    field("base", to_text(family_.base), Provenance::kFamilyDefault,
          key + (is_null ? " is null" : " is absent"));
    if (is_null)
      note("rope_theta is null: the family's default is taken; transformers may fail on it");
    return family_.base;
  }
  const double base = *fields->number(key);
  if (base <= 1) throw fields->wrong(key, "must be above 1");
  field_of_key("base", *fields, key);
  return base;
}

// ---- lengths

void RopeReader::read_max_positions() {
  const std::string key = "max_position_embeddings";
  const bool given = top_.has(key);
  if (given) {
    max_positions_ = *top_.size(key);
    field_of_key("context_length", top_, key);
    return;
  }
  if (scaling_.type == "dynamic") throw top_.missing(key);
  max_positions_ = family_.trained_length;
  field("context_length", std::to_string(max_positions_), Provenance::kFamilyDefault,
        key + " is absent");
  note(key + " is absent: " + std::to_string(max_positions_) + " is the family's default");
}

int64_t RopeReader::read_trained_length() {
  // Models with llama3 frequencies were trained on with them, up to their full length.
  const bool counts = (scaling_.type == "yarn" || scaling_.type == "longrope") && original_ != 0;
  const int64_t length = counts ? original_ : max_positions_;
  field("trained_length", std::to_string(length), Provenance::kDerived,
        counts ? "original_length, from which the scaling counts" : "context_length");
  return length;
}

int64_t RopeReader::read_original(bool required) {
  const std::string key = "original_max_position_embeddings";
  JsonFields* const fields = holder(key);
  if (fields != nullptr) {
    original_ = *fields->size(key);
    field_of_key("original_length", *fields, key);
    if (original_ > max_positions_) {
      note(fields->name(key) + " exceeds max_position_embeddings " +
           std::to_string(max_positions_));
    }
    return original_;
  }
  if (required) throw block().missing(key);
  original_ = max_positions_;
  field("original_length", std::to_string(original_), Provenance::kAssumed,
        key + " is absent: max_position_embeddings");
  note(block().name(key) +
       " is absent: assumed to be max_position_embeddings, as transformers does; vLLM and "
       "llama.cpp's "
       "converter refuse the file");
  return original_;
}

// ---- window

std::string RopeReader::read_window() {
  const std::string key = "sliding_window";
  if (family_.window == HfFamily::Window::kWhenSwitched) {
    const std::string flag = "use_sliding_window";
    top_.mark(key);
    top_.mark("max_window_layers");
    const bool on = top_.has_value(flag) && *top_.flag(flag);
    top_.mark(flag);
    if (on) {
      throw top_.wrong(flag, "must be false: windows that only some layers have are not read yet");
    }
    return {};
  }
  if (family_.window == HfFamily::Window::kNever) return {};
  const bool given = top_.has(key);
  if (given && !top_.has_value(key)) {
    top_.mark(key);
    return {};
  }
  const int64_t size = given ? *top_.size(key) : family_.window_size;
  if (size == 0) return {};
  field("window", std::to_string(size), given ? Provenance::kFile : Provenance::kFamilyDefault,
        given ? key : key + " is absent");
  return "window,size=" + std::to_string(size);
}

// ---- scaling

std::string RopeReader::read_scheme(int64_t n_pairs) {
  if (scaling_.type == "linear") return linear();
  if (scaling_.type == "dynamic") return dynamic();
  if (scaling_.type == "yarn") return yarn();
  if (scaling_.type == "llama3") return llama3();
  if (scaling_.type == "longrope") return longrope(n_pairs);
  return "rope";
}

double RopeReader::read_factor() {
  const std::string key = "factor";
  const double factor = block().required_number(key);
  if (factor < 1) throw block().wrong(key, "must be at least 1");
  field_of_key("factor", block(), key);
  return factor;
}

// transformers derives a factor that is null; one that is missing it refuses.
double RopeReader::read_or_derived_factor() {
  const std::string key = "factor";
  if (!block().has(key)) throw block().missing(key);
  if (block().has_value(key)) {
    const double factor = read_factor();
    note_implied_factor(factor);
    return factor;
  }
  block().mark(key);
  const double factor = static_cast<double>(max_positions_) / static_cast<double>(original_);
  if (factor < 1) throw block().wrong(key, "must be given: lengths imply " + to_text(factor));
  field("factor", to_text(factor), Provenance::kDerived,
        "max_position_embeddings / original_length, as " + block().name(key) + " is null");
  note(block().name(key) + " is null: derived as transformers 5 does; other engines fail");
  return factor;
}

void RopeReader::note_implied_factor(double factor) {
  const double implied = static_cast<double>(max_positions_) / static_cast<double>(original_);
  if (implied == 1 || implied == factor) return;
  note(block().name("factor") + " is " + to_text(factor) +
       ", but max_position_embeddings / original_length is " + to_text(implied) +
       ": transformers 4.46 to 4.5x took the ratio, 5 and the other engines take the factor");
}

std::string RopeReader::linear() { return "linear,factor=" + to_text(read_factor()); }

std::string RopeReader::dynamic() {
  if (block_has("alpha")) {
    if (*block().number("alpha") <= 0) throw block().wrong("alpha", "must be positive");
    throw block().wrong("alpha", "must be absent: a base scaled by alpha is not read yet");
  }
  const double factor = read_factor();
  note(
      "dynamic: the base grows with the number of tokens above max_position_embeddings; vLLM "
      "never scales without max_trained_positions, llama.cpp not at all");
  return "dynamic_ntk,block=all,factor=" + to_text(factor);
}

std::string RopeReader::llama3() {
  const double factor = read_factor();
  const double low = block().required_number("low_freq_factor");
  if (low <= 0) throw block().wrong("low_freq_factor", "must be positive");
  field_of_key("low", block(), "low_freq_factor");
  const double high = block().required_number("high_freq_factor");
  field_of_key("high", block(), "high_freq_factor");
  if (low > high) {
    throw block().wrong("low_freq_factor", "must not exceed high_freq_factor " + to_text(high));
  }
  const int64_t original = read_original(true);
  return "llama3,factor=" + to_text(factor) + ",low=" + to_text(low) + ",high=" + to_text(high) +
         ",original=" + std::to_string(original);
}

// The value as a parameter, empty where the key is absent or null.
std::string RopeReader::positive(const std::string& key) {
  block().mark(key);
  if (!block_has(key)) return {};
  const double value = *block().number(key);
  if (value <= 0) throw block().wrong(key, "must be positive");
  field_of_key(key, block(), key);
  return "," + key + "=" + to_text(value);
}

std::string RopeReader::yarn() {
  const int64_t original = read_original(false);
  std::string scheme =
      "yarn,factor=" + to_text(read_or_derived_factor()) + ",original=" + std::to_string(original);
  const std::string fast = positive("beta_fast");
  const std::string slow = positive("beta_slow");
  const double beta_fast = fast.empty() ? 32 : *block().number("beta_fast");
  const double beta_slow = slow.empty() ? 1 : *block().number("beta_slow");
  if (beta_fast < beta_slow) {
    throw block().wrong("beta_fast", "must not be below beta_slow " + to_text(beta_slow) +
                                         ": are the two swapped?");
  }
  scheme += fast + slow;
  if (block_has("truncate")) {
    field_of_key("truncate", block(), "truncate");
    scheme += *block().flag("truncate") ? ",truncate=true" : ",truncate=false";
  }
  const std::string amplitude = positive("attention_factor");
  if (!amplitude.empty()) {
    note(
        "attention_factor: transformers alone takes it; vLLM calls it attn_factor and multiplies "
        "by it, llama.cpp takes 1 + 0.1 ln(factor)");
  }
  scheme += amplitude;
  for (const std::string key : {"mscale", "mscale_all_dim"}) {
    block().mark(key);
    if (!block_has(key)) continue;
    const double value = *block().number(key);
    if (value < 0) throw block().wrong(key, "must not be negative");
    field_of_key(key, block(), key);
    scheme += "," + key + "=" + to_text(value);
  }
  block().mark("finetuned");
  if (block_has("finetuned")) {
    field("finetuned", block().spelled("finetuned"), Provenance::kFile,
          block().name("finetuned") + ", information only");
  }
  return scheme;
}

std::vector<double> RopeReader::read_divisors(const std::string& key, int64_t n_pairs) {
  if (!block().has(key)) throw block().missing(key);
  std::vector<double> divisors = *block().numbers(key);
  if (static_cast<int64_t>(divisors.size()) != n_pairs) {
    throw Error(block().place(key),
                "must hold one number for each of " + std::to_string(n_pairs) + " pairs",
                std::to_string(divisors.size()) + " numbers");
  }
  for (size_t pair = 0; pair < divisors.size(); ++pair) {
    if (divisors[pair] <= 0) {
      throw Error(block().place(key) + "[" + std::to_string(pair) + "]",
                  "must be positive: it divides a frequency", to_text(divisors[pair]));
    }
  }
  field(key, std::to_string(n_pairs) + " divisors", Provenance::kFile, block().name(key));
  return divisors;
}

// Ding et al. 2024, as in Phi-3's code: sqrt(1 + ln(s) / ln(L)), for both lists.
double RopeReader::longrope_amplitude() {
  if (!positive("attention_factor").empty()) return *block().number("attention_factor");
  DoubleDouble factor = DoubleDouble(max_positions_) / DoubleDouble(original_);
  block().mark("factor");
  if (block_has("factor")) {
    factor = read_factor();
    note_implied_factor(factor.hi);
  }
  const double amplitude =
      factor <= 1 ? 1 : static_cast<double>(sqrt(1 + log(factor) / log(DoubleDouble(original_))));
  field("amplitude", to_text(amplitude), Provenance::kDerived,
        "sqrt(1 + ln(s) / ln(original_length)), s = " + to_text(factor.hi));
  return amplitude;
}

std::string RopeReader::longrope(int64_t n_pairs) {
  const std::string long_list = to_text(ParamValue(read_divisors("long_factor", n_pairs)));
  const std::string short_list = to_text(ParamValue(read_divisors("short_factor", n_pairs)));
  const int64_t original = read_original(false);
  if (original == 1) {
    throw block().wrong("original_max_position_embeddings",
                        "must be above 1: the amplitude needs its logarithm");
  }
  const double amplitude = longrope_amplitude();
  note("longrope: the long list counts above " + std::to_string(original) +
       " tokens; transformers goes by the tokens of each call, vLLM and llama.cpp by the length "
       "they were started with");
  return "longrope,long=" + long_list + ",short=" + short_list + ",amplitude=" + to_text(amplitude);
}

void RopeReader::note_unread_scaling() {
  if (!scaling_.fields) return;
  for (const std::string& key : block().unread()) {
    if (block_has(key)) note(block().name(key) + " = " + block().spelled(key) + " is not used");
  }
}

}  // namespace

DeclaredRope read_hf_rope(const std::string& file, JsonFields& top, const HfFamily& family,
                          int64_t head_dim) {
  return RopeReader(file, top, family, head_dim).read();
}

}  // namespace ropewalk
