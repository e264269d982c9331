// Source: transformers, modeling_rope_utils.py: which keys each type reads, and what it takes where
// they are absent. Where that module goes on after a warning with a value that cannot be meant, the
// value is refused here. Types that it does not know: vLLM, model_executor/layers/rotary_embedding.
#include "ropewalk/config/hf_scaling.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {

HfScalingReader::HfScalingReader(HfReading& reading, const HfKeys& keys, const HfLength& length,
                                 const HfWidth& width, HfNotes& notes)
    : reading_(reading), keys_(keys), length_(length), width_(width), notes_(notes) {}

void HfScalingReader::apply(HfScalingRule rule) {
  switch (rule) {
    case HfScalingRule::kPlain:
      return plain();
    case HfScalingRule::kLinear:
      return linear();
    case HfScalingRule::kDynamic:
      return dynamic();
    case HfScalingRule::kYarn:
      return yarn();
    case HfScalingRule::kLlama3:
      return llama3();
    case HfScalingRule::kLongrope:
      return longrope();
    case HfScalingRule::kNtk:
      return ntk();
    case HfScalingRule::kAlpha:
      return alpha();
    case HfScalingRule::kProportional:
      return proportional();
  }
}

HfScaling HfScalingReader::read() {
  count_from(length_.positions, "context_length");
  const std::string& type = keys_.type;
  if (keys_.block != nullptr && !keys_.type_key.empty()) {
    const Provenance provenance =
        keys_.block->is_defaults() ? Provenance::kFamilyDefault : Provenance::kFile;
    notes_.field("scaling", type, provenance,
                 keys_.block->is_defaults() ? "no rope_parameters" : name(keys_.type_key));
  }
  if (type == "yarn" && reading_.family.yarn_is_longrope && block_has("long_factor")) {
    notes_.info(name(keys_.type_key), name(keys_.type_key) +
                                          " is yarn: " + std::string(reading_.family.name) +
                                          "'s class reads it as longrope, as its lists say");
    longrope();
  } else {
    apply(std::ranges::find(hf_scaling_types(), type, &HfScalingType::name)->rule);
  }
  return std::move(result_);
}

void HfScalingReader::count_from(int64_t length, const std::string& from) {
  result_.trained_length = length;
  result_.trained_from = from;
}

void HfScalingReader::usable(double length, const std::string& reason) {
  constexpr double kMost = 0x1p53;
  result_.usable_length = static_cast<int64_t>(std::min(length, kMost));
  result_.usable_reason = reason;
}

double HfScalingReader::read_factor() {
  const std::string key = "factor";
  const double factor = block().required_number(key);
  if (factor < 1) throw block().wrong(key, "must be at least 1");
  notes_.field_of_key("factor", block(), key);
  return factor;
}

bool HfScalingReader::positive(const std::string& key) {
  block().mark(key);
  if (!block_has(key)) return false;
  if (*block().number(key) <= 0) throw block().wrong(key, "must be positive");
  notes_.field_of_key(key, block(), key);
  return true;
}

int64_t HfScalingReader::read_original(bool required) {
  const std::string key = "original_max_position_embeddings";
  // Blocks by layer type look at themselves alone.
  JsonFields* const fields = keys_.must_agree ? keys_.find(key)
                             : block_has(key) ? keys_.block
                                              : nullptr;
  if (fields != nullptr) {
    const int64_t original = *fields->size(key);
    // Where both places have it they agree; converters look at the top level alone.
    const bool at_top = keys_.must_agree && reading_.top.has_value(key);
    notes_.field_of_key("original_length", at_top ? reading_.top : *fields, key);
    if (length_.positions != 0 && original > length_.positions) {
      notes_.warn(fields->name(key),
                  fields->name(key) + " " + std::to_string(original) +
                      " exceeds max_position_embeddings " + std::to_string(length_.positions),
                  FaultKind::kInconsistent);
    }
    return original;
  }
  if (required) throw block().missing(key);
  if (length_.positions == 0) throw block().missing(key);
  notes_.field("original_length", std::to_string(length_.positions), Provenance::kAssumed,
               key + " is absent: max_position_embeddings");
  notes_.warn(name(key),
              name(key) + " is absent: assumed to be max_position_embeddings " +
                  std::to_string(length_.positions) +
                  ", as transformers does; vLLM and llama.cpp's converter refuse the file",
              FaultKind::kAssumedValue);
  return length_.positions;
}

void HfScalingReader::note_implied_factor(double factor, int64_t original) {
  if (length_.positions == 0) return;
  const double implied = static_cast<double>(length_.positions) / static_cast<double>(original);
  if (implied == 1 || implied == factor) return;
  notes_.remark(name("factor"), remarks::kRatio,
                {name("factor"), to_text(factor), to_text(implied)});
}

// ---- what the model says outside of a block

void HfScalingReader::plain() {
  switch (reading_.family.growth) {
    case HfFamily::Growth::kNever:
      return;
    case HfFamily::Growth::kQwen:
      return qwen();
    case HfFamily::Growth::kNomic:
      return nomic();
    case HfFamily::Growth::kTeleChat:
      return telechat();
  }
}

// Qwen-1: the base grows in steps, at inference only.
void HfScalingReader::qwen() {
  JsonFields& top = reading_.top;
  const std::string key = "seq_length";
  const std::string flag = "use_dynamic_ntk";
  top.mark(key);
  if (top.has_value(key)) count_from(*top.size(key), key);
  top.mark(flag);
  if (!top.has_value(flag) || !*top.flag(flag)) return;
  if (result_.trained_length == 0) {
    throw top.missing("max_position_embeddings", "or seq_length: the base grows above it");
  }
  notes_.field("scaling", "qwen_dynamic_ntk", Provenance::kFile, flag);
  result_.scheme = "qwen_dynamic_ntk,original=" + std::to_string(result_.trained_length);
  notes_.remark(flag, remarks::kQwenDynamic);
}

// nomic-embed: a dynamic base above the length it was trained at.
void HfScalingReader::nomic() {
  JsonFields& top = reading_.top;
  const std::string trained = "max_trained_positions";
  const std::string key = "rotary_scaling_factor";
  top.mark(trained);
  if (top.has_value(trained)) count_from(*top.size(trained), trained);
  const std::string xpos = "rotary_emb_scale_base";
  top.mark(xpos);
  top.mark(key);
  if (top.has_value(xpos)) {
    if (top.has_value(key)) {
      throw top.wrong(xpos, "must be null beside " + key + ": the base grows, or scores decay",
                      FaultKind::kConflict);
    }
    return decaying(xpos);
  }
  if (!top.has_value(key)) return;
  const double factor = *top.number(key);
  if (factor < 1) throw top.wrong(key, "must be at least 1");
  if (result_.trained_length == 0) throw top.missing(trained);
  notes_.field_of_key("factor", top, key);
  result_.scheme = "dynamic_ntk,factor=" + to_text(factor) + ",block=all";
  usable(static_cast<double>(length_.positions),
         "dynamic base above " + trained + ", up to " +
             (length_.is_default() ? "the default" : length_.key));
}

// xPos as flash-attn trains it. The model's own code for transformers has the key and leaves it out.
void HfScalingReader::decaying(const std::string& key) {
  const double scale_base = *reading_.top.number(key);
  if (!(scale_base >= 1e-3 && scale_base <= 1e15)) {
    throw reading_.top.wrong(key, "must be null, or from 0.001 to 1e15", FaultKind::kOutOfRange);
  }
  notes_.field("scaling", "xpos", Provenance::kFile, key);
  result_.scheme = "xpos,scale_base=" + to_text(scale_base);
  notes_.remark(key, remarks::kDecay, {key});
}

// TeleChat-1: Qwen's steps, as for training_seqlen tokens at least, and an amplitude above it.
void HfScalingReader::telechat() {
  JsonFields& top = reading_.top;
  const std::string counted = "base_seqlen";
  const std::string trained = "training_seqlen";
  constexpr int64_t kCounted = 4096;
  top.mark(counted);
  const int64_t base = top.has_value(counted) ? *top.size(counted) : kCounted;
  notes_.field("original_length", std::to_string(base),
               top.has_value(counted) ? Provenance::kFile : Provenance::kFamilyDefault,
               top.has_value(counted) ? counted : counted + " is absent");
  count_from(top.required_size(trained), trained);
  notes_.field("scaling", "qwen_dynamic_ntk", Provenance::kFamilyDefault, "model_type telechat");
  result_.scheme = "qwen_dynamic_ntk,original=" + std::to_string(base);
  result_.least_length = result_.trained_length;
}

// ---- types of few keys

void HfScalingReader::linear() {
  const double factor = read_factor();
  result_.scheme = "linear,factor=" + to_text(factor);
  const std::string key = "max_sequence_length";
  if (reading_.top.has_value(key)) {
    usable(static_cast<double>(*reading_.top.size(key)), key + ": positions after linear scaling");
    notes_.field_of_key("scaled_length", reading_.top, key);
  } else if (factor != 1 && length_.positions != 0) {
    notes_.info(name("factor"),
                "linear scaling does not tell whether max_position_embeddings " +
                    std::to_string(length_.positions) +
                    " counts before or after it; vLLM takes it as before, and offers " +
                    to_text(factor * static_cast<double>(length_.positions)) + " tokens");
  }
}

void HfScalingReader::dynamic() {
  if (block_has("alpha")) return alpha();
  if (block().has("factor") && length_.is_default()) {
    throw reading_.top.missing("max_position_embeddings", "a dynamic base counts from it");
  }
  const double factor = read_factor();
  const std::string vllm = "max_trained_positions";
  block().mark(vllm);
  if (block_has(vllm)) {
    const int64_t trained = block().required_size(vllm);
    notes_.field_of_key(vllm, block(), vllm);
    if (trained != length_.positions) {
      notes_.warn(
          name(vllm),
          name(vllm) + " is " + std::to_string(trained) +
              ": vLLM counts from it; transformers, as here, from max_position_embeddings " +
              std::to_string(length_.positions),
          FaultKind::kInconsistent);
    }
  } else {
    notes_.remark(name(keys_.type_key), remarks::kDynamic);
  }
  notes_.remark(name("factor"), remarks::kDynamicState);
  result_.scheme = "dynamic_ntk,factor=" + to_text(factor) + ",block=all";
  usable(factor * static_cast<double>(length_.positions),
         "dynamic base: factor * max_position_embeddings, as vLLM counts");
}

// Hunyuan's: a fixed base; what else such a block holds is not looked at.
void HfScalingReader::alpha() {
  const std::string key = "alpha";
  if (!block().has(key)) throw block().missing(key);
  const double value = *block().number(key);
  if (value <= 0) throw block().wrong(key, "must be positive");
  if (value < 1) throw block().wrong(key, "must be at least 1: below, pairs would turn faster");
  notes_.field_of_key(key, block(), key);
  result_.scheme = "ntk,factor=" + to_text(value);
  notes_.remark(name(key), remarks::kAlpha);
}

void HfScalingReader::ntk() {
  const double factor = read_factor();
  const std::string power = "mixed_b";
  if (positive(power)) {
    result_.scheme =
        "ntk_mixed,factor=" + to_text(factor) + ",power=" + to_text(*block().number(power));
    notes_.remark(name(keys_.type_key), remarks::kNtkMixed);
  } else {
    result_.scheme = "ntk_fixed,factor=" + to_text(factor);
    notes_.remark(name(keys_.type_key), remarks::kNtk);
  }
}

void HfScalingReader::llama3() {
  const double factor = read_factor();
  const double low = block().required_number("low_freq_factor");
  if (low <= 0) throw block().wrong("low_freq_factor", "must be positive");
  notes_.field_of_key("low", block(), "low_freq_factor");
  const double high = block().required_number("high_freq_factor");
  notes_.field_of_key("high", block(), "high_freq_factor");
  if (low > high) {
    throw block().wrong("low_freq_factor", "must not exceed high_freq_factor " + to_text(high),
                        FaultKind::kOrder);
  }
  const int64_t original = read_original(true);
  const std::string key = "original_max_position_embeddings";
  if (original != kConverterLlama3Length && !reading_.top.has_value(key)) {
    notes_.remark(name(key), remarks::kLlama3Original, {name(key), std::to_string(original)});
  }
  result_.scheme = "llama3,factor=" + to_text(factor) + ",low=" + to_text(low) +
                   ",high=" + to_text(high) + ",original=" + std::to_string(original);
}

void HfScalingReader::proportional() {
  result_.scheme = "proportional,rotating=" + std::to_string(width_.rotating);
  block().mark("factor");
  if (!block_has("factor")) return;
  const double factor = read_factor();
  result_.scheme += ",factor=" + to_text(factor);
  if (factor != 1) {
    notes_.remark(name("factor"), remarks::kProportionalFactor);
  }
}

HfScaling read_hf_scaling(HfReading& reading, const HfKeys& keys, const HfLength& length,
                          const HfWidth& width, HfNotes& notes) {
  return HfScalingReader(reading, keys, length, width, notes).read();
}

}  // namespace ropewalk
