#include "ropewalk/config/portability.h"

#include "ropewalk/base/error.h"
#include "ropewalk/config/engine_views.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// Why the engine does not compute what the file declares; empty where it does.
std::string parts_from_file(const ModelConfig& declared, ModelFormat format, TargetEngine engine) {
  for (const EngineView& view : engine_views(declared, format, engine)) {
    if (view.rule.is_note || !view.rule.versions.empty()) continue;
    return view.says + ": " + to_string(engine) + " takes " + view.takes;
  }
  return {};
}

//   differs  how what the engine computes parts from the scheme; empty where it does not
Portability judged(const std::string& how, const std::string& differs) {
  return {.portable = differs.empty(),
          .how = differs.empty() ? how : std::string(),
          .why_not = differs};
}

}  // namespace

Portability judge_portability(const ModelConfig& declared, ModelFormat format,
                              const std::string& scheme, TargetEngine engine) {
  // What is wrong with the scheme itself is thrown here, before the engine is asked.
  const ParsedScheme parsed = parse_scheme(scheme);
  for (const LayerGroup& group : declared.groups) {
    if (group.rotary) apply_scheme(parsed, *group.rotary);
  }
  if (parsed.is_declared()) {
    const std::string why_not = parts_from_file(declared, format, engine);
    if (!why_not.empty()) return {.why_not = why_not};
  }
  try {
    if (engine == TargetEngine::kLlamaCpp) {
      const GgufForm form = gguf_form(declared, scheme);
      return judged(form.how, form.differs);
    }
    const HfForm form = hf_form(declared, scheme, engine);
    return judged(form.how, form.differs);
  } catch (const Error& error) {
    return {.why_not = error.what()};
  }
}

}  // namespace ropewalk
