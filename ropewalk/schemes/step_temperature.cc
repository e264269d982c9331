// Stepped temperature: the logits of a row grow by steps with its position. Source: Llama 4 (Hugging
// Face transformers, "attn_temperature_tuning"; offset 1) and Ministral 3 ("llama_4_scaling_beta";
// offset 0), 2025; after Nakanishi 2025, arXiv 2501.19399.
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.temperature = {.step_scale = static_cast<double>(p.number("scale")),
                          .step_length = p.integer("length"),
                          .step_offset = p.integer("offset")};
  return declared;
}

// The scale of all models seen, by steps of the trained length.
std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"step_temperature,scale=0.1,length=" + std::to_string(trained_length)};
}

}  // namespace

SchemeInfo step_temperature_scheme() {
  return {.name = "step_temperature",
          .kind = PartKind::kMultiplier,
          .formula = "row i times 1 + c ln(1 + floor((i + o) / l))",
          .source = "Llama 4 2025, Hugging Face transformers",
          .params = {{.name = "scale",
                      .required = true,
                      .least = 0,
                      .most = 1e6,
                      .help = "c, how steeply it grows (Llama 4, Ministral 3: 0.1)"},
                     {.name = "length",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 1,
                      .unit = "tokens",
                      .help = "l, how long a step is"},
                     {.name = "offset",
                      .type = ParamType::kInteger,
                      .fallback = "0",
                      .least = 0,
                      .unit = "tokens",
                      .help = "o, added to the position (Llama 4: 1)"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
