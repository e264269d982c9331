// Any model description, a GGUF header or a config.json: declared positions that can be evaluated,
// or an Error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/config/all_faults.h"
#include "ropewalk/config/engine_views.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"

namespace {

using namespace ropewalk;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Rotary& rotary) {
  validate(rotary.layout);
  for (const int64_t n : {1, 4096, 1 << 20}) {
    const Spectrum spectrum = rotary.spectrum.at(n);
    require(spectrum.n_pairs() == rotary.layout.n_pairs());
    require(std::isfinite(spectrum.amplitude) && std::isfinite(spectrum.logit_multiplier));
    for (const double inv_freq : spectrum.inv_freq()) require(std::isfinite(inv_freq));
  }
}

// What engines make of it never fails, and what is worked out is a number.
void check_views(const ModelConfig& config, ModelFormat format) {
  for (const EngineView& view : engine_views(config, format)) {
    require(view.group < config.groups.size());
    require(!view.says.empty() && !view.takes.empty());
    if (view.gap) require(!std::isnan(view.gap->spectrum.largest_ratio));
  }
}

void check(const ModelConfig& config) {
  require(!config.groups.empty());
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) check(*group.rotary);
    if (!group.scheme.empty()) parse_scheme(group.scheme);
  }
  for (const DeclaredField& field : config.fields) require(!field.name.empty());
  require(trained_length(config) >= 0);
  check_views(config, ModelFormat::kGguf);
  check_views(config, ModelFormat::kHuggingFace);
}

// A file has faults where it is not read, and no others.
void check_faults(const AllFaults& found, bool reads) {
  require(found.faults.empty() == reads);
  require(found.config.has_value() || !reads);
  if (found.config) check(*found.config);
}

// What the reader gives, or nothing where it refuses.
template <typename Read>
std::optional<ModelConfig> try_to(Read read) {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Both readers: what the stricter one takes, the other takes too. Nothing that was read may be
// refused later, so no Error is caught here.
template <typename ReadConfig, typename ReadPositions>
bool read(ReadConfig read_config, ReadPositions read_positions) {
  const std::optional<ModelConfig> to_run = try_to(read_config);
  const std::optional<ModelConfig> to_show = try_to(read_positions);
  if (to_run) check(*to_run);
  if (to_show) check(*to_show);
  require(to_show || !to_run);
  return to_show.has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("GGUF")) {
    std::optional<GgufFile> file;
    try {
      file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz", GgufData::kOptional);
    } catch (const Error&) {
      return 0;
    }
    const bool reads =
        read([&] { return read_gguf_config(*file); }, [&] { return read_gguf_positions(*file); });
    check_faults(find_gguf_faults(*file), reads);
    return 0;
  }
  nlohmann::ordered_json document;
  try {
    document = parse_json(text, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  const bool reads = read([&] { return read_hf_config(document, "fuzz"); },
                          [&] { return read_hf_positions(document, "fuzz"); });
  check_faults(find_hf_faults(document, "fuzz"), reads);
  return 0;
}
