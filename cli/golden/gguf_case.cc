// Cases of kind "gguf".
#include <algorithm>
#include <cmath>
#include <string>

#include "cli/golden/compute.h"
#include "cli/golden/gguf_bytes.h"
#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::golden {
namespace {

const LayerGroup& first_rotated(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) return group;
  }
  throw Error("gguf", "must rotate some layer");
}

// The layers that are no sliding ones, where there are two sorts.
const LayerGroup& main_group(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary && group.name.find("sliding") == std::string::npos) return group;
  }
  return first_rotated(config);
}

const LayerGroup& named_group(const ModelConfig& config, const std::string& name) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary && group.name == name) return group;
  }
  throw Error(name, "must be a sort of layers that the file has");
}

// "half (neox)", "interleaved (permuted)": what is in brackets is a remark.
Value layout_value(const Rotary& rotary, const Json& golden) {
  const std::string order = rotary.layout.order == PairOrder::kHalf ? "half" : "interleaved";
  const std::string told = golden.value("layout_gguf", "");
  return told.substr(0, told.find(' ')) == order ? Value::reworded(order, told)
                                                 : Value::exact(order);
}

// The frequencies under the file's own scheme, some of its parameters left to their fallbacks or
// set: what an engine makes of the file that ignores them.
Value under(const LayerGroup& group, const std::vector<std::string>& left_out,
            const std::string& added) {
  std::string scheme;
  for (size_t at = 0; at <= group.scheme.size();) {
    const size_t end = std::min(group.scheme.find(',', at), group.scheme.size());
    const std::string word = group.scheme.substr(at, end - at);
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(left_out, name) == left_out.end()) {
      scheme += (scheme.empty() ? "" : ",") + word;
    }
    at = end + 1;
  }
  const Rotary rotary = apply_scheme(scheme + added, *group.rotary);
  return Value::reals(rotary.spectrum.at(1).inv_freq());
}

bool is_yarn(const LayerGroup& group) { return group.scheme.starts_with("yarn"); }

void set_softmax_scale(Value& out, const ModelConfig& config, const Spectrum& spectrum) {
  const auto head_dim = static_cast<double>(config.shape.head_dim);
  out.set("softmax_scale", Value::real(spectrum.logit_multiplier / std::sqrt(head_dim)));
  out.set("softmax_scale_multiplier", Value::real(spectrum.logit_multiplier));
}

}  // namespace

Value compute_gguf(const Json& golden) {
  if (!rule_of(golden).starts_with("gguf_")) refuse_rule(golden);
  const ModelConfig config = read_gguf_case(golden.at("gguf"), golden.value("tensors", Json()),
                                            golden.value("model", ""), true);
  const LayerGroup& group = main_group(config);
  const Rotary& rotary = *group.rotary;
  Value out = Value::object();
  out.set("layout_gguf", layout_value(rotary, golden));
  if (golden.contains("inv_freq") || !golden.contains("variants")) {
    const Spectrum spectrum = rotary.spectrum.at(1);
    if (golden.contains("cases")) {
      set_axes(out, spectrum, golden);
    } else {
      set_spectrum(out, spectrum, golden);
    }
    set_softmax_scale(out, config, spectrum);
  }
  if (golden.contains("variants")) {
    Value variants = Value::list();
    for (const Json& given : golden["variants"]) {
      Value variant = Value::object();
      echo(given, variant, {"n_ctx_per_seq"});
      set_spectrum(variant, rotary.spectrum.at(given.at("n_ctx_per_seq").get<int64_t>()), given);
      variants.push(std::move(variant));
    }
    out.set("variants", std::move(variants));
  }
  for (const char* const name : {"full_attention", "sliding_attention"}) {
    if (!golden.contains(name)) continue;
    Value layers = Value::object();
    set_spectrum(layers, named_group(config, name).rotary->spectrum.at(1), golden[name]);
    out.set(name, std::move(layers));
  }
  if (is_yarn(group)) {
    if (golden.contains("llama_cpp_effective_inv_freq")) {
      out.set("llama_cpp_effective_inv_freq", under(group, {"beta_fast", "beta_slow"}, ""));
    }
    if (golden.contains("reference_inv_freq_truncate_false")) {
      out.set("reference_inv_freq_truncate_false", under(group, {"truncate"}, ",truncate=false"));
    }
  }
  return out;
}

}  // namespace ropewalk::golden
