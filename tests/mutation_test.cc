// What a config.json says of positions is never passed over in silence: each field is changed, or
// left out, and then the positions must change, or the file is refused, or a finding says that the
// field is not used. Fields that the reader does not look at, and whose names say nothing of
// positions, are left out; so are sizes that are read for running alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/hf_unread.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

// ---- what a configuration comes to

void write(std::ostream& out, const Spectrum& spectrum) {
  for (const DoubleDouble& turns : spectrum.turns_per_token) out << turns.hi << "," << turns.lo;
  for (const double decay : spectrum.decay) out << decay << ",";
  for (const uint8_t axis : spectrum.axis) out << int{axis};
  out << ";" << spectrum.amplitude << ";" << spectrum.logit_multiplier << "\n";
}

void write(std::ostream& out, const QueryTemperature& temperature) {
  out << temperature.factor << " " << temperature.log_length << " " << temperature.step_scale << " "
      << temperature.step_length << " " << temperature.step_offset << "\n";
}

// The distances that maps and masks make of a few pairs of tokens.
void write_distances(std::ostream& out, const Rotary& declared, int64_t n) {
  const Rotary rotary = at_length(declared, n);
  const Spectrum spectrum = declared.spectrum.at(n);
  const int64_t last_pair = spectrum.n_pairs() - 1;
  for (const auto& [i, j] : {std::pair{n - 1, int64_t{0}}, {n - 1, n / 2}, {n - 1, n - n / 8}}) {
    for (const int64_t pair : {int64_t{0}, last_pair}) {
      const PairAngle angle = pair_angle(rotary, spectrum, spectrum, pair, i, j);
      out << angle.silent << " " << angle.turns.hi << " " << angle.log_gain << " ";
    }
  }
}

void write(std::ostream& out, const Rotary& rotary) {
  const PairLayout& layout = rotary.layout;
  out << "layout " << (layout.order == PairOrder::kHalf) << " " << layout.head_dim << " "
      << layout.rotary_dim << " base " << rotary.source.base.hi << " "
      << rotary.source.frequency_dim << " length " << rotary.source.trained_length << "\n";
  const int64_t length = std::max<int64_t>(rotary.source.trained_length, 8);
  for (const int64_t n : {length, 4 * length}) {
    write(out, rotary.spectrum.at(n));
    write_distances(out, rotary, n);
  }
  out << "window " << rotary.visibility.window << " " << rotary.visibility.sinks << " ";
  write(out, rotary.temperature);
}

struct MechanismWriter {
  std::ostream& out;
  void operator()(const LearnedTable& m) const { out << m.n_rows << " " << m.offset; }
  void operator()(const SinusoidalTable& m) const {
    out << static_cast<int>(m.order) << " " << m.dim << " " << m.base << " " << m.offset;
  }
  void operator()(const SegmentTable& m) const { out << m.n_types; }
  void operator()(const AlibiBias& m) const {
    for (const double slope : m.slopes) out << slope << " ";
  }
  void operator()(const T5Buckets& m) const {
    out << m.n_buckets << " " << m.max_distance << " " << m.bidirectional;
  }
  void operator()(const DebertaBuckets& m) const { out << m.n_buckets << " " << m.max_distance; }
  void operator()(const ClippedDistance& m) const { out << m.limit; }
  void operator()(const TransformerXlScores& m) const { out << m.dim; }
  void operator()(const ConvolutionalEmbedding& m) const { out << m.width; }
};

// Everything of positions that `show` prints, but for where it is from.
std::string positions_of(const ModelConfig& config) {
  std::ostringstream out;
  out << std::hexfloat << config.usable_length << " " << config.usable_reason << "\n";
  for (const int32_t group : config.group_of_layer) out << group;
  for (const DeclaredField& field : config.fields) {
    if (field.name == "layer_types") out << field.value;  // all there is where nobody counts layers
  }
  for (const LayerGroup& group : config.groups) {
    out << "\ngroup " << group.name << " " << group.layers.size() << " " << group.scheme << "\n";
    write(out, group.temperature);
    if (group.rotary) write(out, *group.rotary);
  }
  for (const PositionMechanism& mechanism : config.mechanisms) {
    out << "\nmechanism " << mechanism.index() << " ";
    std::visit(MechanismWriter{out}, mechanism);
  }
  return out.str();
}

// Sizes that are read for running and say nothing of positions.
std::string sizes_of(const ModelShape& shape) {
  std::ostringstream out;
  out << std::hexfloat << shape.n_layers << " " << shape.hidden << " " << shape.n_heads << " "
      << shape.n_kv_heads << " " << shape.head_dim << " " << shape.ffn << " " << shape.vocabulary
      << " " << shape.norm_epsilon << " " << shape.tied_output;
  return out.str();
}

std::string fields_of(const ModelConfig& config) {
  std::string text;
  const auto add = [&](const std::vector<DeclaredField>& fields) {
    for (const DeclaredField& field : fields) {
      text +=
          field.name + "=" + field.value + " " + to_string(field.provenance) + field.from + "\n";
    }
  };
  add(config.fields);
  for (const LayerGroup& group : config.groups) add(group.fields);
  return text;
}

std::string findings_of(const ModelConfig& config) {
  std::string text;
  for (const Finding& finding : config.findings) text += finding.key + ": " + finding.text + "\n";
  return text;
}

struct Reading {
  std::string positions;
  std::string sizes;
  std::string fields;
  std::string findings;
};

// Nothing where the file is refused.
std::optional<Reading> read(const Json& config) {
  try {
    const ModelConfig read = read_hf_positions(config, "config.json");
    return Reading{positions_of(read), sizes_of(read.shape), fields_of(read), findings_of(read)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

// ---- changes

// Other values that a field might hold, near enough to be valid.
std::vector<Json> others(const Json& value) {
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number <= 0) return {1, 2, 64, 0.5};  // often "none", or "the default"
    return {2 * number, number + 1, number / 2, 0};
  }
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number == 0) return {1.0, 0.5};
    return {2 * number, number / 2, number + 1};
  }
  if (value.is_string()) return {"another_value"};
  if (value.is_null()) return {2, 4096, true, Json::parse(R"({"type": "linear", "factor": 2})")};
  return {};
}

// The same for an entry of a list: another member of the list is the likeliest valid value.
std::vector<Json> others_of_entry(const Json& list, const Json& entry) {
  std::vector<Json> values = others(entry);
  for (const Json& member : list) {
    if (member != entry && std::ranges::find(values, member) == values.end()) {
      values.push_back(member);
    }
  }
  return values;
}

// Documents with one field changed; of a list, the first entry or the one in the middle.
std::vector<Json> changed(const Json& config, const Pointer& field) {
  std::vector<Json> documents;
  const auto add = [&](const Pointer& at, const std::vector<Json>& values) {
    for (const Json& value : values) {
      documents.push_back(config);
      documents.back()[at] = value;
    }
  };
  const Json& value = config[field];
  if (!value.is_array()) {
    add(field, others(value));
    return documents;
  }
  for (const size_t entry : std::set<size_t>{0, value.size() / 2}) {
    if (entry < value.size()) add(field / entry, others_of_entry(value, value[entry]));
  }
  return documents;
}

Json without(Json config, const Pointer& field) {
  config[field.parent_pointer()].erase(field.back());
  return config;
}

// ---- what comes of it

enum class Outcome { kChanges, kRefused, kReported, kSize, kSame, kNotOfPositions, kSilent };

constexpr const char* kNames[] = {"change the positions",
                                  "are refused",
                                  "are reported as not used",
                                  "are sizes that positions do not depend on",
                                  "come to the same: a default, or said twice",
                                  "are not read",
                                  "are passed over in silence"};

// "text_config.rope_scaling.factor".
std::string name_of(const Pointer& field) {
  std::string name = field.to_string().substr(1);
  std::ranges::replace(name, '/', '.');
  return name;
}

// Whether a finding names the field, or an object that holds it, as one that does not count.
bool is_reported(const std::string& findings, const Pointer& field) {
  std::istringstream lines(findings);
  for (std::string line; std::getline(lines, line);) {
    const bool unused = line.find("not used") != line.npos || line.find("not told") != line.npos ||
                        line.find("ignored") != line.npos;
    if (!unused) continue;
    for (Pointer at = field; !at.empty(); at.pop_back()) {
      if (line.starts_with(name_of(at) + ": ")) return true;
    }
  }
  return false;
}

Outcome outcome(const Reading& before, const std::optional<Reading>& after, const Pointer& field) {
  if (!after) return Outcome::kRefused;
  if (after->positions != before.positions) return Outcome::kChanges;
  if (is_reported(before.findings, field) || is_reported(after->findings, field) ||
      before.findings != after->findings) {
    return Outcome::kReported;
  }
  return after->sizes != before.sizes ? Outcome::kSize : Outcome::kSilent;
}

// A reader that looks at a field refuses a value of no sensible type.
bool is_read(const Json& config, const Pointer& field) {
  for (const Json& nonsense : {Json::parse(R"({"of": "no type"})"), Json::parse(R"([["no"]])")}) {
    Json document = config;
    document[field] = nonsense;
    if (!read(document)) return true;
  }
  return false;
}

bool is_of_positions(const Json& config, const Pointer& field) {
  return is_position_key(field.back()) || is_read(config, field);
}

class Mutations {
 public:
  void mutate(const std::string& name, const Json& config) {
    const std::optional<Reading> before = read(config);
    if (!before) return;  // refused as it stands
    ++configs_;
    mutate(name, config, *before, Pointer());
  }

  void print() const {
    std::printf("%d configurations\n", configs_);
    for (const auto& [what, counts] : counts_) {
      for (const auto& [outcome, count] : counts) {
        std::printf("  %-8s %5d %s\n", what.c_str(), count, kNames[static_cast<int>(outcome)]);
      }
    }
    std::printf("  keys that are not read:");
    for (const std::string& key : unread_) std::printf(" %s", key.c_str());
    std::printf("\n");
    for (const auto& [key, places] : silent_) {
      std::printf("  silent: %s in %zu, first %s\n", key.c_str(), places.size(), places[0].c_str());
    }
  }

  std::string silent() const {
    std::string text;
    for (const auto& [key, places] : silent_) text += key + " in " + places[0] + "\n";
    return text;
  }

 private:
  void mutate(const std::string& name, const Json& config, const Reading& before,
              const Pointer& object) {
    for (const auto& [key, value] : config[object].items()) {
      const Pointer field = object / key;
      Outcome changing = Outcome::kSame;  // of an object: its fields are judged one by one
      if (value.is_object()) {
        mutate(name, config, before, field);
      } else {
        changing = change(config, before, field);
        count("changed", name, field, config, changing);
      }
      if (value.is_null()) continue;  // which is to leave it out already
      Outcome leaving = leave_out(config, before, field);
      const bool counts = changing != Outcome::kSilent;
      if (leaving == Outcome::kSilent && counts) leaving = Outcome::kSame;
      count("left out", name, field, config, leaving);
    }
  }

  // The most telling of all changes. A refusal tells least: the value may not have been valid.
  static Outcome change(const Json& config, const Reading& before, const Pointer& field) {
    std::set<Outcome> seen;
    for (const Json& document : changed(config, field)) {
      seen.insert(outcome(before, read(document), field));
    }
    for (const Outcome telling : {Outcome::kChanges, Outcome::kReported, Outcome::kSize,
                                  Outcome::kSilent, Outcome::kRefused}) {
      if (seen.contains(telling)) return telling;
    }
    return is_reported(before.findings, field) ? Outcome::kReported : Outcome::kSilent;
  }

  // A default may be what the file said: then what is printed of its origin must change.
  static Outcome leave_out(const Json& config, const Reading& before, const Pointer& field) {
    const std::optional<Reading> after = read(without(config, field));
    const Outcome result = outcome(before, after, field);
    const bool told = result == Outcome::kSilent && after->fields != before.fields;
    return told ? Outcome::kReported : result;
  }

  void count(const std::string& what, const std::string& name, const Pointer& field,
             const Json& config, Outcome outcome) {
    if (outcome == Outcome::kSilent && !is_of_positions(config, field)) {
      outcome = Outcome::kNotOfPositions;
    }
    ++counts_[what][outcome];
    if (outcome == Outcome::kNotOfPositions) unread_.insert(field.back());
    if (outcome != Outcome::kSilent) return;
    silent_[field.back() + " " + what].push_back(name + ", " + name_of(field) + " = " +
                                                 config[field].dump().substr(0, 60));
  }

  int configs_ = 0;
  std::map<std::string, std::map<Outcome, int>> counts_;
  std::set<std::string> unread_;
  std::map<std::string, std::vector<std::string>> silent_;
};

// A configuration for each rule of layers, widths and scalings that the atlas may lack.
constexpr const char* kConfigs[] = {
    R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "head_dim": 64,
        "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 16, "beta_slow": 2,
        "original_max_position_embeddings": 1024, "attention_factor": 1.25, "truncate": false}})",
    R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.5, "mscale_all_dim": 0.25,
        "original_max_position_embeddings": 1024, "finetuned": true}})",
    R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 4.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024}})",
    R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "rope_theta": 10000.0,
        "max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 2.0}})",
    R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "rope_theta": 10000.0,
        "max_position_embeddings": 2048, "rope_scaling": {"type": "linear", "factor": 2.0}})",
    R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "rope_scaling": {"type": "ntk", "factor": 2.0, "mixed_b": 0.625}})",
    R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "rope_theta": 10000.0,
        "max_position_embeddings": 8192, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 2048, "attn_factor": 0.8,
        "extrapolation_factor": 1.0, "apply_yarn_scaling": true}})",
    R"({"model_type": "phi3", "hidden_size": 48, "num_attention_heads": 6,
        "num_hidden_layers": 2, "rope_theta": 10000.0, "max_position_embeddings": 4096,
        "original_max_position_embeddings": 1024, "sliding_window": 512,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.5],
        "long_factor": [1.0, 2.0, 4.0, 8.0]}})",
    R"({"model_type": "phimoe", "hidden_size": 48, "num_attention_heads": 6,
        "num_hidden_layers": 2, "rope_theta": 10000.0, "max_position_embeddings": 4096,
        "original_max_position_embeddings": 1024,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.5],
        "long_factor": [1.0, 2.0, 4.0, 8.0], "short_mscale": 1.2, "long_mscale": 1.3}})",
    R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 1000000.0,
        "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 2})",
    R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 1000000.0,
        "dual_chunk_attention_config": {"chunk_size": 1024, "local_size": 256,
        "original_max_position_embeddings": 2048}})",
    R"({"model_type": "qwen", "hidden_size": 512, "num_attention_heads": 4, "kv_channels": 128,
        "num_hidden_layers": 2, "seq_length": 2048, "rotary_emb_base": 10000,
        "use_dynamic_ntk": true, "use_logn_attn": true})",
    R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 4,
        "head_dim": 64, "num_hidden_layers": 12, "max_position_embeddings": 8192,
        "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "sliding_window": 512,
        "sliding_window_pattern": 6, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})",
    R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 4,
        "head_dim": 64, "global_head_dim": 128, "num_hidden_layers": 4, "sliding_window": 512,
        "max_position_embeddings": 8192, "layer_types": ["sliding_attention",
        "sliding_attention", "sliding_attention", "full_attention"], "rope_parameters": {
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
        "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_type": "default",
        "rope_theta": 10000.0}}})",
    R"({"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12,
        "num_hidden_layers": 6, "max_position_embeddings": 8192, "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3, "local_attention": 128})",
    R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 5000000.0,
        "no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4})",
    R"({"model_type": "llama4_text", "hidden_size": 512, "num_attention_heads": 4,
        "head_dim": 128, "num_hidden_layers": 4, "max_position_embeddings": 32768,
        "rope_theta": 500000.0, "attention_chunk_size": 8192, "no_rope_layer_interval": 4,
        "attn_temperature_tuning": true, "attn_scale": 0.1, "floor_scale": 8192})",
    R"({"model_type": "ministral3", "hidden_size": 512, "num_attention_heads": 4,
        "head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 16384,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
        "original_max_position_embeddings": 1024, "llama_4_scaling_beta": 0.1}})",
    R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
        "rope_interleave": true, "max_position_embeddings": 16384, "rope_theta": 10000,
        "rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1,
        "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}})",
    R"({"model_type": "qwen3_vl_text", "hidden_size": 512, "num_attention_heads": 4,
        "head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 5000000.0, "rope_scaling": {"rope_type": "default",
        "mrope_interleaved": true, "mrope_section": [24, 20, 20]}})",
    R"({"model_type": "qwen2_vl", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 1000000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})",
    R"({"model_type": "hunyuan_v1_dense", "hidden_size": 512, "num_attention_heads": 4,
        "attention_head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 10000.0, "rope_scaling": {"type": "dynamic", "alpha": 1000.0,
        "factor": 1.0}})",
    R"({"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 2, "max_position_embeddings": 2048, "rotary_pct": 0.25,
        "rotary_emb_base": 10000})",
    R"({"model_type": "chatglm", "hidden_size": 512, "num_attention_heads": 4,
        "kv_channels": 128, "num_layers": 2, "seq_length": 8192, "rope_ratio": 50,
        "original_rope": true})",
    R"({"model_type": "exaone4", "hidden_size": 512, "num_attention_heads": 4, "head_dim": 128,
        "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 1000000.0,
        "sliding_window": 1024, "sliding_window_pattern": "LLLG"})",
    R"({"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "n_layer": 2,
        "n_positions": 8192, "max_trained_positions": 2048, "rotary_emb_base": 1000,
        "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": false,
        "rotary_scaling_factor": 2.0})",
    R"({"model_type": "mpt", "d_model": 512, "n_heads": 4, "n_layers": 2, "max_seq_len": 2048,
        "attn_config": {"alibi": true, "alibi_bias_max": 8}})",
    R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 6,
        "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128})",
    R"({"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12,
        "num_hidden_layers": 2, "max_position_embeddings": 512, "type_vocab_size": 2,
        "position_embedding_type": "absolute"})",
    R"({"model_type": "roberta", "hidden_size": 768, "num_attention_heads": 12,
        "num_hidden_layers": 2, "max_position_embeddings": 514, "type_vocab_size": 1,
        "pad_token_id": 1})",
    R"({"model_type": "deberta_v2", "hidden_size": 768, "num_attention_heads": 12,
        "num_hidden_layers": 2, "max_position_embeddings": 512, "relative_attention": true,
        "position_buckets": 256, "max_relative_positions": -1, "position_biased_input": false})",
    R"({"model_type": "whisper", "d_model": 384, "max_source_positions": 1500,
        "max_target_positions": 448})"};

TEST(Mutation, OfEveryFieldOfEachRule) {
  Mutations mutations;
  for (const char* const text : kConfigs) {
    const Json config = Json::parse(text);
    ASSERT_TRUE(read(config)) << text;
    mutations.mutate(config["model_type"], config);
  }
  mutations.print();
  EXPECT_EQ(mutations.silent(), "");
}

TEST(Mutation, OfEveryFieldOfTheAtlas) {
  const auto shared = exact_values::shared_folder();
  if (!shared) GTEST_SKIP() << "no shared folder: fields of the atlas' models are NOT tested";
  std::ifstream file(*shared / "golden/atlas.json");
  Mutations mutations;
  for (const Json& entry : Json::parse(file)) mutations.mutate(entry["name"], entry["config"]);
  mutations.print();
  EXPECT_EQ(mutations.silent(), "");
}

}  // namespace
}  // namespace ropewalk
