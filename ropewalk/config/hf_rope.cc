#include "ropewalk/config/hf_rope.h"

#include <utility>

#include "ropewalk/config/declared_rotary.h"
#include "ropewalk/config/hf_axes.h"
#include "ropewalk/config/hf_scaling.h"
#include "ropewalk/config/hf_width.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Window = HfFamily::Window;

class RopeReader {
 public:
  RopeReader(HfReading& reading, HfBlocks& blocks, const ModelShape& shape, const HfLength& length,
             const std::string& layer_type)
      : reading_(reading),
        top_(reading.top),
        keys_(blocks.keys(layer_type)),
        shape_(shape),
        length_(length),
        layer_type_(layer_type) {}

  HfRope read() {
    result_.head = read_hf_head(reading_, shape_, layer_type_, notes());
    const HfWidth width = read_hf_width(reading_, keys_, layer_type_, result_.head, notes());
    FrequencySource source = {.base = read_hf_base(reading_, keys_, layer_type_, notes()),
                              .frequency_dim = width.layout.rotary_dim};
    HfScaling scaling = read_hf_scaling(reading_, keys_, length_, width, notes());
    const std::string map = read_map();
    // Qwen2.5-1M says what it was trained at there alone.
    if (dual_length_ != 0 && scaling.scheme == "rope") {
      scaling.trained_length = dual_length_;
      scaling.trained_from = dual_from_;
    }
    source.trained_length = scaling.trained_length;
    if (scaling.trained_length != 0) {
      notes().field("trained_length", std::to_string(scaling.trained_length), Provenance::kDerived,
                    scaling.trained_from);
    }
    FrequencyDeclaration declaration = {
        .scheme = scaling.scheme + map + read_window() + read_multiplier(source),
        .long_amplitude = scaling.long_amplitude / scaling.amplitude,
        .least_length = scaling.least_length,
        .axis = read_hf_axes(reading_, keys_, width.layout.n_pairs(), notes())};
    result_.group.rotary = build_rotary(source, width.layout, declaration);
    result_.group.scheme = scheme_text(declaration);
    result_.usable_length = scaling.usable_length;
    result_.usable_reason = scaling.usable_reason;
    return std::move(result_);
  }

 private:
  HfNotes& notes() { return result_.notes; }
  std::string read_map();
  std::string read_window();
  std::string read_multiplier(const FrequencySource& source);
  std::string stepped(const FrequencySource& source);
  int64_t known_length(const FrequencySource& source) const;

  HfReading& reading_;
  JsonFields& top_;
  const HfKeys keys_;
  const ModelShape& shape_;
  const HfLength& length_;
  const std::string& layer_type_;
  int64_t dual_length_ = 0;  // original length of dual chunk attention; 0: not said
  std::string dual_from_;
  HfRope result_;
};

// Qwen2.5-1M: dual chunk attention.
std::string RopeReader::read_map() {
  const std::string key = "dual_chunk_attention_config";
  const nlohmann::ordered_json* const object = top_.object(key);
  if (object == nullptr) return {};
  JsonFields dual(*object, reading_.file, top_.name(key));
  const int64_t chunk = dual.required_size("chunk_size");
  const int64_t local = dual.required_size("local_size");
  if (local >= chunk) {
    throw dual.wrong("local_size", "must be below chunk_size " + std::to_string(chunk),
                     FaultKind::kOrder);
  }
  notes().field_of_key("chunk", dual, "chunk_size");
  notes().field_of_key("local", dual, "local_size");
  const std::string original = "original_max_position_embeddings";
  if (dual.has_value(original)) {
    dual_length_ = dual.required_size(original);
    dual_from_ = dual.name(original);
    notes().field_of_key("temperature_length", dual, original);
  }
  notes().remark(top_.name(key), remarks::kDualChunk);
  return "+dca,chunk=" + std::to_string(chunk) + ",local=" + std::to_string(local);
}

std::string RopeReader::read_window() {
  const HfFamily& family = reading_.family;
  const std::string key(family.window_key);
  const bool sliding = layer_type_ == "sliding_attention";
  const bool applies = family.window == Window::kWhenPresent
                           ? layer_type_ != "full_attention" || !top_.has_value("layer_types")
                           : family.window == Window::kSliding && sliding;
  if (!applies) return {};
  const bool given = top_.has(key);
  if (given && !top_.has_value(key)) return {};
  int64_t size = given ? *top_.size(key) : family.window_size;
  if (size == 0) {
    if (sliding) throw top_.missing(key);
    return {};
  }
  const bool both = family.window_is_both || (top_.has_value("use_bidirectional_attention") &&
                                              *top_.raw("use_bidirectional_attention") == true);
  const std::string from = given ? key : key + " is absent";
  if (both) size = size / 2 + 1;
  notes().field("window", std::to_string(size),
                given && !both ? Provenance::kFile
                               : (given ? Provenance::kDerived : Provenance::kFamilyDefault),
                both ? from + ": half of it on either side of a query" : from);
  return "+window,size=" + std::to_string(size);
}

// Mistral's steps: 1 + beta ln(1 + floor(p / L)) on every query.
std::string RopeReader::stepped(const FrequencySource& source) {
  const std::string key = "llama_4_scaling_beta";
  JsonFields* const fields = keys_.find(key);
  if (fields == nullptr) return {};
  const double beta = *fields->number(key);
  if (beta < 0) throw fields->wrong(key, "must not be negative");
  notes().field_of_key("step_scale", *fields, key);
  if (beta == 0) return {};
  const std::string length = std::to_string(known_length(source));
  notes().field("step_length", length, Provenance::kDerived, "trained_length");
  return "+step_temperature,scale=" + to_text(beta) + ",length=" + length;
}

int64_t RopeReader::known_length(const FrequencySource& source) const {
  if (source.trained_length != 0) return source.trained_length;
  throw top_.missing("max_position_embeddings", "the multiplier of the logits counts from it");
}

std::string RopeReader::read_multiplier(const FrequencySource& source) {
  if (reading_.family.steps_queries && reading_.family.nope == HfFamily::Nope::kNever) {
    return stepped(source);
  }
  const std::string logn = "use_logn_attn";
  if (reading_.family.growth == HfFamily::Growth::kQwen) {
    top_.mark(logn);
    if (!top_.has_value(logn) || !*top_.flag(logn)) return {};
    notes().field_of_key("logn", top_, logn);
    return "+logn";
  }
  if (top_.has_value("dual_chunk_attention_config")) {
    const int64_t original = dual_length_ != 0 ? dual_length_ : known_length(source);
    return "+length_temperature,original=" + std::to_string(original);
  }
  return {};
}

}  // namespace

HfRope read_hf_rope(HfReading& reading, HfBlocks& blocks, const ModelShape& shape,
                    const HfLength& length, const std::string& layer_type) {
  return RopeReader(reading, blocks, shape, length, layer_type).read();
}

QueryTemperature read_hf_still_temperature(HfReading& reading, HfNotes& notes) {
  if (!reading.family.steps_queries || reading.family.nope != HfFamily::Nope::kList) return {};
  JsonFields& top = reading.top;
  const auto number = [&](const std::string& name, const std::string& key, double fallback) {
    top.mark(key);
    if (!top.has_value(key)) {
      notes.field(name, to_text(fallback), Provenance::kFamilyDefault, key + " is absent");
      return fallback;
    }
    const double value = *top.number(key);
    if (value < 0) throw top.wrong(key, "must not be negative");
    notes.field_of_key(name, top, key);
    return value;
  };
  const std::string flag = "attn_temperature_tuning";
  top.mark(flag);
  // Early files say 4 where later ones say true.
  const bool off = top.has_value(flag) && (*top.raw(flag) == false || *top.raw(flag) == 0);
  notes.field("temperature", off ? "off" : "on",
              top.has_value(flag) ? Provenance::kFile : Provenance::kFamilyDefault,
              top.has_value(flag) ? flag : flag + " is absent");
  if (off) return {};
  const double scale = number("step_scale", "attn_scale", 0.1);
  const std::string key = "floor_scale";
  int64_t length = 8192;
  top.mark(key);
  if (top.has_value(key)) {
    length = *top.size(key);
    notes.field_of_key("step_length", top, key);
  } else {
    notes.field("step_length", std::to_string(length), Provenance::kFamilyDefault,
                key + " is absent");
  }
  return {.step_scale = scale, .step_length = length, .step_offset = 1};
}

}  // namespace ropewalk
