// Every key of positions that a GGUF file can hold, changed under every architecture: either what is
// resolved changes, or the key is spoken of. Nothing is read and forgotten.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

struct Mutation {
  std::string suffix;
  GgufBuilder::Value value;
};

// Values that no architecture takes anyway.
std::vector<Mutation> mutations() {
  return {{"context_length", uint32_t{8192}},
          {"attention.key_length", uint32_t{256}},
          {"attention.key_length_mla", uint32_t{192}},
          {"attention.key_length_swa", uint32_t{160}},
          {"attention.sliding_window", uint32_t{32}},
          {"attention.sliding_window_pattern", std::vector<int32_t>(40, 0)},
          {"attention.recurrent_layers", std::vector<int32_t>(40, 0)},
          {"attention.rope_pattern", std::vector<int32_t>(40, 0)},
          {"attention.head_count_kv", std::vector<int32_t>(40, 0)},
          {"attention.max_alibi_bias", 4.0F},
          {"attention.relative_buckets_count", uint32_t{64}},
          {"attention.temperature_scale", 0.2F},
          {"attention.temperature_length", uint32_t{777}},
          {"attention.compress_rope_freq_base", 777.0F},
          {"full_attention_interval", uint32_t{3}},
          {"leading_dense_block_count", uint32_t{4}},
          {"rope.freq_base", 777.0F},
          {"rope.freq_base_swa", 778.0F},
          {"rope.dimension_count", uint32_t{96}},
          {"rope.dimension_count_swa", uint32_t{64}},
          {"rope.dimension_sections", std::vector<int32_t>{20, 22, 22, 0}},
          {"rope.scale_linear", 3.0F},
          {"rope.scaling.type", std::string("none")},
          {"rope.scaling.factor", 3.0F},
          {"rope.scaling.original_context_length", uint32_t{512}},
          {"rope.scaling.attn_factor", 1.25F},
          {"rope.scaling.alpha", 50.0F},
          {"rope.scaling.finetuned", false},
          {"rope.scaling.yarn_log_multiplier", 0.0707F},
          {"rope.scaling.yarn_ext_factor", 0.0F},
          {"rope.scaling.yarn_attn_factor", 1.75F},
          {"rope.scaling.yarn_beta_fast", 9.0F},
          {"rope.scaling.yarn_beta_slow", 2.0F}};
}

// Keys of models in general that tell positions in some.
bool is_of_positions(const GgufArchitecture& architecture, const std::string& suffix) {
  if (suffix == "full_attention_interval") {
    return architecture.recurrent == GgufArchitecture::Recurrent::kByInterval;
  }
  return suffix != "leading_dense_block_count" ||
         architecture.unrotated == GgufArchitecture::Unrotated::kFullAfterDense;
}

// A file under yarn in which most keys could count.
GgufBuilder file_of(const GgufArchitecture& architecture) {
  const std::string name(architecture.name);
  const std::string own = name + ".";
  GgufBuilder builder = plain_gguf(name);
  std::vector<int32_t> alternating(40);
  for (size_t layer = 0; layer < alternating.size(); ++layer) alternating[layer] = layer % 2;
  builder.set(own + "block_count", uint32_t{40})
      .set(own + "context_length", uint32_t{4096})
      .set(own + "attention.sliding_window", uint32_t{64})
      .set(own + "rope.scaling.type", "yarn")
      .set(own + "rope.scaling.factor", 4.0F)
      .set(own + "rope.scaling.original_context_length", uint32_t{1024});
  if (architecture.sliding.period == 0) {
    builder.set(own + "attention.sliding_window_pattern", alternating);
  }
  if (architecture.compressed) {
    builder.set(own + "attention.compress_ratios", alternating)
        .set(own + "attention.compress_rope_freq_base", 160000.0F);
  }
  if (architecture.axes != GgufArchitecture::Axes::kOne) {
    builder.set(own + "rope.dimension_sections", std::vector<int32_t>{24, 20, 20, 0});
  }
  if (architecture.temperature == GgufArchitecture::Temperature::kOwnLength) {
    builder.set(own + "attention.temperature_scale", 0.1F)
        .set(own + "attention.temperature_length", uint32_t{1024});
  }
  if (architecture.positions == GgufArchitecture::Positions::kRelativeBuckets) {
    builder.set(own + "attention.relative_buckets_count", uint32_t{32});
  }
  return builder;
}

// All that the layers do, as text.
std::string resolved(const ModelConfig& config) {
  std::string text = std::to_string(config.usable_length);
  for (const int32_t group : config.group_of_layer) text += " " + std::to_string(group);
  for (const LayerGroup& group : config.groups) {
    text += "\n" + group.name + " " + group.scheme;
    const QueryTemperature& temperature =
        group.rotary ? group.rotary->temperature : group.temperature;
    text += " " + std::to_string(temperature.at(100000));
    if (!group.rotary) continue;
    const Spectrum spectrum = group.rotary->spectrum.at(1);
    text += " " + std::to_string(group.rotary->visibility.window);
    text += " " + std::to_string(group.rotary->source.trained_length);
    text +=
        " " + std::to_string(spectrum.amplitude) + " " + std::to_string(spectrum.logit_multiplier);
    for (const double inv_freq : spectrum.inv_freq()) text += " " + std::to_string(inv_freq);
    for (const uint8_t axis : spectrum.axis) text += " " + std::to_string(axis);
  }
  for (const PositionMechanism& mechanism : config.mechanisms) {
    text += "\n" + std::to_string(mechanism.index());
    if (const auto* alibi = std::get_if<AlibiBias>(&mechanism))
      text += " " + std::to_string(alibi->slopes[0]);
    if (const auto* t5 = std::get_if<T5Buckets>(&mechanism))
      text += " " + std::to_string(t5->n_buckets);
    if (const auto* table = std::get_if<LearnedTable>(&mechanism))
      text += " " + std::to_string(table->n_rows);
  }
  return text;
}

// The field says what it is for.
bool is_only_shown(const ModelConfig& config, const std::string& key) {
  const auto shows = [&](const DeclaredField& field) {
    return field.from.find(key) != std::string::npos;
  };
  return std::ranges::any_of(config.fields, shows) ||
         std::ranges::any_of(config.groups, [&](const LayerGroup& group) {
           return std::ranges::any_of(group.fields, shows);
         });
}

TEST(GgufMutations, EveryKeyCountsOrIsSpokenOf) {
  int changed = 0, spoken = 0, shown = 0, refused = 0;
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    const GgufBuilder base = file_of(architecture);
    const std::string before = resolved(base.positions());
    for (const Mutation& mutation : mutations()) {
      const std::string key = std::string(architecture.name) + "." + mutation.suffix;
      SCOPED_TRACE(key);
      if (!is_of_positions(architecture, mutation.suffix)) continue;
      GgufBuilder mutated = base;
      mutated.set(key, mutation.value);
      try {
        const ModelConfig config = mutated.positions();
        if (resolved(config) != before) {
          ++changed;
        } else if (find_finding(config, key) != nullptr) {
          ++spoken;
        } else {
          EXPECT_TRUE(is_only_shown(config, key)) << "changes nothing, and nothing is said";
          ++shown;
        }
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), FaultKind::kUnspecified) << error.what();
        ++refused;
      }
    }
  }
  std::printf(
      "   %d change what is resolved, %d are findings, %d are shown as information, %d are "
      "refused\n",
      changed, spoken, shown, refused);
}

}  // namespace
}  // namespace ropewalk
