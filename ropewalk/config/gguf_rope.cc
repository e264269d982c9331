// Source: llama.cpp: the loader (llama-model.cpp), what a context makes of it (llama-context.cpp),
// and ggml's rope. What it computes, for pair i of n, with base b and the divisor ff of a tensor (1
// where there is none):
//   theta = b^(-i/n) / ff
//   linear, longrope, none:  theta / factor
//   yarn:                    theta / factor below the ramp, theta above it, mixed between
// all with the amplitude rope.scaling.attn_factor, times 1 + 0.1 ln(factor) under yarn.
#include "ropewalk/config/gguf_rope.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/declared_rotary.h"
#include "ropewalk/config/gguf_factors.h"
#include "ropewalk/config/gguf_scaling.h"
#include "ropewalk/config/size_limits.h"
#include "ropewalk/math/axes.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Axes = GgufArchitecture::Axes;
using Kind = GgufLayer::Kind;
using Temperature = GgufArchitecture::Temperature;

constexpr double kDefaultBase = 10000;  // llama.cpp's, whatever the architecture

constexpr std::string_view kBase = "rope.freq_base";
constexpr std::string_view kSlidingBase = "rope.freq_base_swa";
constexpr std::string_view kCompressedBase = "attention.compress_rope_freq_base";
constexpr std::string_view kWidth = "rope.dimension_count";
constexpr std::string_view kSlidingWidth = "rope.dimension_count_swa";
constexpr std::string_view kSections = "rope.dimension_sections";
constexpr std::string_view kTemperatureScale = "attention.temperature_scale";
constexpr std::string_view kTemperatureLength = "attention.temperature_length";

class RopeReader {
 public:
  RopeReader(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
             const GgufRopeSizes& sizes, GgufReport& report)
      : file_(file), keys_(keys), architecture_(architecture), sizes_(sizes), report_(report) {
    if (architecture.fixed) {
      note_fixed();
    } else {
      scaling_ = read_gguf_scaling(keys, architecture, sizes.context_length, report);
      factors_ = find_gguf_factors(file, keys, architecture, scaling_.type, report);
      if (factors_.kind == GgufFactors::Kind::kLists && scaling_.type != "yarn") {
        note_assumed_original(keys, scaling_, report);
      }
    }
    read_sections();
    temperature_ = read_temperature();
  }

  LayerGroup group(const GgufLayer& layer);

 private:
  bool sliding(const GgufLayer& layer) const { return layer.kind == Kind::kSliding; }
  bool unscaled(const GgufLayer& layer) const {
    return sliding(layer) && (architecture_.compressed ||
                              architecture_.sliding.scaling == GgufSliding::Scaling::kPlain);
  }
  bool has_factors(const GgufLayer& layer) const {
    return factors_.kind != GgufFactors::Kind::kNone && !factors_.cut_off &&
           !(architecture_.factors_of_full && sliding(layer));
  }

  void note_fixed();
  void read_sight(const GgufLayer& layer, GgufReport& own) const;
  void read_sections();
  QueryTemperature read_temperature();
  QueryTemperature temperature_of(const GgufLayer& layer) const;

  PairLayout read_layout(const GgufLayer& layer, GgufReport& own);
  PairOrder read_order(GgufReport& own) const;
  int64_t read_head_dim(const GgufLayer& layer, GgufReport& own);
  int64_t read_width(const GgufLayer& layer, int64_t head_dim, GgufReport& own);
  int64_t full_width(int64_t head_dim);

  double read_base(const GgufLayer& layer, GgufReport& own);
  double read_base_of(std::string_view suffix, GgufReport& own);
  double read_full_base(GgufReport& own);
  double read_sliding_base(GgufReport& own);
  int64_t read_trained_length(const GgufLayer& layer, GgufReport& own) const;

  FrequencyDeclaration declare(const GgufLayer& layer, const PairLayout& layout, GgufReport& own);
  void declare_lists(std::vector<std::vector<double>> lists, FrequencyDeclaration& declaration);
  std::vector<uint8_t> axes_of(int64_t n_pairs);
  void note_extra_axis(const std::vector<uint8_t>& theirs, const std::vector<uint8_t>& ours);

  const GgufFile& file_;
  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const GgufRopeSizes sizes_;
  GgufReport& report_;
  GgufScaling scaling_;
  GgufFactors factors_;
  std::vector<int64_t> sections_;  // empty: one axis
  QueryTemperature temperature_;
};

LayerGroup RopeReader::group(const GgufLayer& layer) {
  LayerGroup group;
  GgufReport own;
  if (!layer.rotated) {
    group.temperature = temperature_of(layer);
    read_sight(layer, own);
    group.fields = std::move(own.fields);
    return group;
  }
  const PairLayout layout = read_layout(layer, own);
  FrequencySource source = {.base = read_base(layer, own), .frequency_dim = layout.rotary_dim};
  source.trained_length = read_trained_length(layer, own);
  const FrequencyDeclaration declaration = declare(layer, layout, own);
  read_sight(layer, own);
  group.rotary = build_rotary(source, layout, declaration);
  group.scheme = factors_.cut_off && factors_.kind != GgufFactors::Kind::kNone
                     ? std::string()
                     : scheme_text(declaration);
  group.fields = std::move(own.fields);
  std::ranges::move(own.findings, std::back_inserter(report_.findings));
  return group;
}

// Which keys a query sees, in words: the convention is what engines part on.
void RopeReader::read_sight(const GgufLayer& layer, GgufReport& own) const {
  if (!sliding(layer) || sizes_.window == 0) return;
  const std::string window = std::to_string(sizes_.window);
  std::string seen = "the last " + window + " tokens, its own included";
  if (architecture_.sliding.sight == GgufSliding::Sight::kChunked) {
    seen = "its own chunk of " + window + " tokens, back from its own";
  } else if (architecture_.sliding.sight == GgufSliding::Sight::kSymmetric) {
    seen = std::to_string(sizes_.window / 2) + " tokens on each side";
  }
  own.field("sees", seen, Provenance::kDerived, "window");
}

// ---- the layout

PairLayout RopeReader::read_layout(const GgufLayer& layer, GgufReport& own) {
  const int64_t head_dim = read_head_dim(layer, own);
  const int64_t width = read_width(layer, head_dim, own);
  if (architecture_.latent && width != head_dim) {
    own.field("rotated_part",
              "the last " + std::to_string(width) + " of " + std::to_string(head_dim),
              Provenance::kFamilyDefault, "implied by architecture " + keys_.architecture());
  }
  return {.order = read_order(own),
          .head_dim = architecture_.latent ? width : head_dim,
          .rotary_dim = width};
}

PairOrder RopeReader::read_order(GgufReport& own) const {
  PairOrder order = architecture_.order;
  if (!sections_.empty()) order = PairOrder::kHalf;
  if (!architecture_.interleaved_with.empty() && keys_.has(architecture_.interleaved_with)) {
    order = PairOrder::kInterleaved;
  }
  const bool half = order == PairOrder::kHalf;
  std::string from = "implied by architecture " + keys_.architecture();
  if (!sections_.empty()) from += " with " + std::string(kSections);
  if (architecture_.permuted) from += ", q and k rows reordered by the converter";
  own.field("layout", half ? "half" : "interleaved", Provenance::kFamilyDefault, std::move(from));
  return order;
}

int64_t RopeReader::read_head_dim(const GgufLayer& layer, GgufReport& own) {
  if (!sliding(layer)) return sizes_.head_dim;
  const std::string_view suffix =
      architecture_.latent ? "attention.key_length_mla_swa" : "attention.key_length_swa";
  const std::optional<int64_t> found = keys_.size(suffix);
  if (!found) return sizes_.head_dim;
  refuse_above(keys_.place(suffix), *found, kMaxHeadDim);
  own.field_of_key(keys_, "head_dim", suffix);
  return *found;
}

// What rope.dimension_count says, before an architecture makes less of it.
int64_t RopeReader::full_width(int64_t head_dim) {
  return architecture_.fixed ? head_dim : keys_.size(kWidth).value_or(sizes_.head_dim);
}

int64_t RopeReader::read_width(const GgufLayer& layer, int64_t head_dim, GgufReport& own) {
  const std::string_view suffix =
      sliding(layer) && keys_.has(kSlidingWidth) ? kSlidingWidth : kWidth;
  int64_t width = suffix == kSlidingWidth ? *keys_.size(suffix) : full_width(head_dim);
  if (architecture_.half_of_full && !sliding(layer)) {
    own.field("rotary_dim", std::to_string(width / 2), Provenance::kDerived,
              "half of " + keys_.key(kWidth) + ", implied by architecture " + keys_.architecture());
    width /= 2;
  } else if (keys_.has(suffix) && !architecture_.fixed) {
    own.field_of_key(keys_, "rotary_dim", suffix);
  } else {
    own.field("rotary_dim", std::to_string(width), Provenance::kFamilyDefault,
              keys_.key(suffix) + (architecture_.fixed ? " is not looked at" : " is absent") +
                  ": the whole head");
  }
  if (width > head_dim || (architecture_.whole_head && width != head_dim)) {
    throw Error(keys_.place(suffix),
                std::string(architecture_.whole_head ? "must equal" : "must not exceed") +
                    " the head width " + std::to_string(head_dim),
                std::to_string(width))
        .of(FaultKind::kOutOfRange);
  }
  if (width % 2 != 0) {
    throw Error(keys_.place(suffix), "must be even", std::to_string(width))
        .of(FaultKind::kOddDimension);
  }
  return width;
}

// ---- the base

double RopeReader::read_base_of(std::string_view suffix, GgufReport& own) {
  const double base = *keys_.number(suffix);
  if (base <= 1) {
    throw Error(keys_.place(suffix), "must be above 1", keys_.spelled(suffix))
        .of(FaultKind::kOutOfRange);
  }
  own.field_of_key(keys_, "base", suffix);
  return base;
}

double RopeReader::read_full_base(GgufReport& own) {
  if (keys_.has(kBase) && !architecture_.fixed) return read_base_of(kBase, own);
  own.field("base", to_text(kDefaultBase), Provenance::kFamilyDefault,
            keys_.key(kBase) + (architecture_.fixed ? " is not looked at" : " is absent") +
                ": llama.cpp's default");
  return kDefaultBase;
}

// The file's second base is never the first by silence: where llama.cpp copies the first, the field
// says so.
double RopeReader::read_sliding_base(GgufReport& own) {
  const GgufSliding::Base rule = architecture_.sliding.base;
  if (keys_.has(kSlidingBase)) {
    const double base = read_base_of(kSlidingBase, own);
    GgufReport unused;
    if (rule == GgufSliding::Base::kFullOnly && base != read_full_base(unused)) {
      own.warn(FaultKind::kInconsistent, keys_.key(kSlidingBase),
               keys_.key(kSlidingBase) + " = " + keys_.spelled(kSlidingBase) +
                   ", as the model has it; llama.cpp does not look at it under this architecture "
                   "and takes " +
                   keys_.key(kBase));
    }
    return base;
  }
  if (rule == GgufSliding::Base::kTenThousand) {
    own.field("base", to_text(kDefaultBase), Provenance::kFamilyDefault,
              keys_.key(kSlidingBase) + " is absent: 10000, not " + keys_.key(kBase));
    return kDefaultBase;
  }
  GgufReport full;
  const double base = read_full_base(full);
  own.field("base", full.fields.front().value, Provenance::kFamilyDefault,
            keys_.key(kSlidingBase) + " is absent: as " + keys_.key(kBase));
  return base;
}

double RopeReader::read_base(const GgufLayer& layer, GgufReport& own) {
  if (architecture_.compressed && !sliding(layer)) {
    if (!keys_.has(kCompressedBase)) {
      throw Error(keys_.place(kCompressedBase), "must be present").of(FaultKind::kMissingKey);
    }
    return read_base_of(kCompressedBase, own);
  }
  return sliding(layer) && !architecture_.compressed ? read_sliding_base(own) : read_full_base(own);
}

int64_t RopeReader::read_trained_length(const GgufLayer& layer, GgufReport& own) const {
  const bool scaled = scaling_.type == "yarn" || factors_.kind == GgufFactors::Kind::kLists ||
                      (scaling_.factor != 1 && scaling_.original_given);
  if (!scaled || unscaled(layer)) {
    own.field("trained_length", std::to_string(sizes_.context_length), Provenance::kDerived,
              "context_length");
    return sizes_.context_length;
  }
  own.field("trained_length", std::to_string(scaling_.original), Provenance::kDerived,
            "original_length, from which the scaling counts");
  return scaling_.original;
}

void RopeReader::note_fixed() {
  for (const std::string_view suffix : {kBase, kWidth, std::string_view("rope.scaling.type"),
                                        std::string_view("rope.scaling.factor"),
                                        std::string_view("rope.scaling.original_context_length")}) {
    if (!keys_.has(suffix)) continue;
    keys_.mark(suffix);
    report_.info(keys_.key(suffix), keys_.key(suffix) +
                                        " is not looked at: llama.cpp turns whole heads of this "
                                        "architecture, base 10000, unscaled");
  }
}

// ---- axes

void RopeReader::read_sections() {
  const bool needed =
      architecture_.axes == Axes::kSections || architecture_.axes == Axes::kInterleaved;
  keys_.mark(kSections);
  const auto found = file_.metadata().find_i32_array(keys_.key(kSections));
  if (!found) {
    if (needed) {
      throw Error(keys_.place(kSections),
                  "must be present: it tells which coordinate turns which pairs")
          .of(FaultKind::kMissingKey);
    }
    return;
  }
  const bool given = found->size() >= 2 && (*found)[0] > 0 && (*found)[1] > 0;
  if (architecture_.axes == Axes::kOne ||
      (architecture_.axes == Axes::kSectionsIfGiven && !given)) {
    report_.field("sections", "none", Provenance::kFile,
                  keys_.key(kSections) + ": one coordinate turns every pair");
    return;
  }
  sections_.assign(found->begin(), found->end());
  std::string text;
  for (const int64_t section : sections_) {
    text += (text.empty() ? "" : ":") + std::to_string(section);
  }
  report_.field("sections", text, Provenance::kFile, keys_.key(kSections));
}

std::vector<uint8_t> RopeReader::axes_of(int64_t n_pairs) {
  if (sections_.empty()) return {};
  check_sections(keys_.place(kSections), sections_, 3, 4, n_pairs);
  if (architecture_.axes != Axes::kInterleaved) {
    const std::vector<uint8_t> axes = contiguous_axes(sections_);
    note_extra_axis(axes, {});
    return axes;
  }
  const std::vector<int64_t> three(sections_.begin(), sections_.begin() + 3);
  if (std::accumulate(three.begin(), three.end(), int64_t{0}) != n_pairs) {
    throw Error(keys_.place(kSections) + "[3]", "must be 0 where axes alternate",
                std::to_string(sections_[3]))
        .of(FaultKind::kOutOfRange);
  }
  const std::vector<uint8_t> axes = interleaved_axes(three);
  note_extra_axis(ggml_interleaved_axes(sections_), axes);
  return axes;
}

// llama.cpp fills ggml's fourth coordinate with 0, for text too.
void RopeReader::note_extra_axis(const std::vector<uint8_t>& theirs,
                                 const std::vector<uint8_t>& ours) {
  std::string pairs;
  int64_t count = 0;
  for (size_t pair = 0; pair < theirs.size(); ++pair) {
    if (theirs[pair] != kExtraAxis) continue;
    if (++count <= 3) pairs += (pairs.empty() ? "" : ", ") + std::to_string(pair);
  }
  if (count == 0) return;
  if (count > 3) pairs += " and " + std::to_string(count - 3) + " more";
  report_.warn(
      FaultKind::kInconsistent, keys_.key(kSections),
      "pairs " + pairs + (ours.empty() ? " turn by the fourth coordinate" : " turn with time") +
          "; llama.cpp turns them by a fourth coordinate that it fills with 0, in text too");
}

// ---- temperature

QueryTemperature RopeReader::read_temperature() {
  const std::optional<double> scale = keys_.number(kTemperatureScale);
  const std::optional<int64_t> length = keys_.count(kTemperatureLength);
  const Temperature rule = architecture_.temperature;
  const auto note_unused = [&](std::string_view suffix, const std::string& why) {
    if (keys_.has(suffix)) {
      report_.info(keys_.key(suffix), keys_.key(suffix) + " is not used: " + why);
    }
  };
  if (rule == Temperature::kLlama4 || rule == Temperature::kNone) {
    const bool fixed = rule == Temperature::kLlama4;
    for (const std::string_view suffix : {kTemperatureScale, kTemperatureLength}) {
      note_unused(suffix, fixed
                              ? "llama.cpp takes 0.1 and 8192 under this architecture"
                              : "llama.cpp scales no queries by position under this architecture");
    }
    if (!fixed || sizes_.window == 0) return {};
    report_.field(
        "temperature", "0.1 by steps of 8192, offset 1", Provenance::kFamilyDefault,
        "of layers that are not rotated, implied by architecture " + keys_.architecture());
    return {.step_scale = 0.1, .step_length = 8192, .step_offset = 1};
  }
  if (scale.value_or(0) == 0) {
    note_unused(kTemperatureScale, "0 means none");
    note_unused(kTemperatureLength, "there is no temperature_scale");
    return {};
  }
  if (*scale < 0) {
    throw Error(keys_.place(kTemperatureScale), "must not be negative",
                keys_.spelled(kTemperatureScale))
        .of(FaultKind::kOutOfRange);
  }
  report_.field_of_key(keys_, "temperature_scale", kTemperatureScale);
  if (rule == Temperature::kOriginalLength) {
    report_.field("temperature_length", std::to_string(scaling_.original), Provenance::kDerived,
                  "original_length");
    if (length && *length != scaling_.original) {
      report_.info(
          keys_.key(kTemperatureLength),
          keys_.key(kTemperatureLength) + " is not used: steps are as long as the original length");
    }
    return {.step_scale = *scale, .step_length = scaling_.original};
  }
  if (length.value_or(0) == 0) {
    throw Error(keys_.place(kTemperatureLength), "must be present: how long a step is")
        .of(FaultKind::kMissingKey);
  }
  report_.field_of_key(keys_, "temperature_length", kTemperatureLength);
  return {.step_scale = *scale, .step_length = *length};
}

QueryTemperature RopeReader::temperature_of(const GgufLayer& layer) const {
  if (layer.kind == Kind::kRecurrent) return {};
  return architecture_.temperature == Temperature::kLlama4 && layer.rotated ? QueryTemperature{}
                                                                            : temperature_;
}

// ---- frequencies

FrequencyDeclaration RopeReader::declare(const GgufLayer& layer, const PairLayout& layout,
                                         GgufReport& own) {
  FrequencyDeclaration declaration;
  const int64_t n_pairs = layout.n_pairs();
  if (!unscaled(layer)) {
    declaration.scheme = scaling_.scheme;
    declaration.amplitude = scaling_.amplitude;
  }
  if (has_factors(layer)) {
    int64_t n_stored = n_pairs;
    if (architecture_.half_of_full) {
      const int64_t width = full_width(sizes_.head_dim);
      n_stored = std::max(width / 2, keys_.size(kSlidingWidth).value_or(width)) / 2;
    }
    std::vector<std::vector<double>> lists =
        read_gguf_factors(file_, factors_, n_stored, n_pairs, own);
    if (lists.size() == 2) {
      declare_lists(std::move(lists), declaration);
    } else {
      declaration.divisors = std::move(lists.front());
    }
  }
  declaration.axis = axes_of(n_pairs);

  const auto add = [&](const std::string& part) {
    declaration.scheme = declaration.scheme == "rope" ? part : declaration.scheme + "+" + part;
  };
  const QueryTemperature temperature = temperature_of(layer);
  if (sliding(layer) && sizes_.window != 0 &&
      architecture_.sliding.sight == GgufSliding::Sight::kCausal) {
    add("window,size=" + std::to_string(sizes_.window));
  }
  if (temperature.step_length != 0) {
    add("step_temperature,scale=" + to_text(temperature.step_scale) +
        ",length=" + std::to_string(temperature.step_length) +
        (temperature.step_offset == 0 ? "" : ",offset=" + std::to_string(temperature.step_offset)));
  }
  return declaration;
}

void RopeReader::declare_lists(std::vector<std::vector<double>> lists,
                               FrequencyDeclaration& declaration) {
  if (scaling_.type == "yarn") {
    throw Error(file_.name() + ": rope_factors_long.weight",
                "must be absent under yarn: no scheme is both")
        .of(FaultKind::kConflict);
  }
  declaration.scheme = "longrope,long=" + to_text(ParamValue(lists[0])) +
                       ",short=" + to_text(ParamValue(lists[1])) +
                       ",amplitude=" + to_text(scaling_.amplitude);
  declaration.amplitude = 1;
  if (scaling_.factor != 1) {
    declaration.divisors.assign(lists[0].size(), scaling_.factor);
  }
  report_.info("rope_factors_long.weight",
               "the long list counts above " + std::to_string(scaling_.original) +
                   " tokens, by the length of the sequence here, by the size of the context in "
                   "llama.cpp");
}

}  // namespace

GgufGroupOf read_gguf_rope(const GgufFile& file, GgufKeys& keys,
                           const GgufArchitecture& architecture, const GgufRopeSizes& sizes,
                           GgufReport& report) {
  const auto reader = std::make_shared<RopeReader>(file, keys, architecture, sizes, report);
  return [reader](const GgufLayer& layer) { return reader->group(layer); };
}

}  // namespace ropewalk
