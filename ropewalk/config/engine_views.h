// What each engine does with a file's positions where that is not what the file says.
#ifndef ROPEWALK_CONFIG_ENGINE_VIEWS_H_
#define ROPEWALK_CONFIG_ENGINE_VIEWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/math/spectrum_gap.h"

namespace ropewalk {

// One rule by which engines part from files. Numbers are the rows of docs/engines.md, by which
// reports name rules.
struct EngineRule {
  int number = 0;
  TargetEngine engine = TargetEngine::kLlamaCpp;
  std::string_view name;      // "yarn_truncate"
  std::string_view versions;  // in which it was seen; empty: in all that were looked at
  bool is_note = false;       // worth knowing, but a single text is read as the file says
};

// What a reading costs, at the length where it costs most.
struct EngineGap {
  int64_t length = 0;  // tokens in the sequence; 0: any
  SpectrumGap spectrum;
  double amplitude_ratio = 1;   // engine's over the file's
  double multiplier_ratio = 1;  // of logits, likewise
};

struct EngineView {
  EngineRule rule;
  size_t group = 0;   // of ModelConfig::groups
  std::string says;   // what the file says: "truncate false"
  std::string takes;  // what the engine ends with: "the ramp from pair 8 to pair 18"
  // Nothing where it is not a matter of rates and amplitudes, or cannot be worked out.
  std::optional<EngineGap> gap;
};

// Every rule in the order of their numbers: what the tests count and docs/engines.md lists.
std::vector<EngineRule> engine_rules();

// The views of one engine, or of all three; by engine, then rule, then group.
//   context  tokens that the engine is started for (vLLM's max_model_len, llama.cpp's -c), which
//            some choose frequencies by; 0: the file's usable length
std::vector<EngineView> engine_views(const ModelConfig& config, ModelFormat format,
                                     TargetEngine engine, int64_t context = 0);
std::vector<EngineView> engine_views(const ModelConfig& config, ModelFormat format,
                                     int64_t context = 0);

// What engines do with a file that is refused here, one sentence for each that goes on; empty where
// nothing is known.
std::vector<std::string> engine_views_of(const Error& fault);

// Whether a view tells, with numbers, what a reader's remark is about, so that both need not be
// printed.
bool says_more(const EngineView& view, const Finding& finding);

// "pairs from 9 on turn otherwise, by up to 9.2 times at pair 19": one line.
std::string to_text(const EngineGap& gap);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_ENGINE_VIEWS_H_
