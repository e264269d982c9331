// Full-turn mask: a pair that has turned all the way round cannot tell distances apart any more, so
// it falls silent. Source: this project (an essay's idea; xPos, arXiv 2212.10554, fades pairs out
// gradually).
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// Turns are counted on the true distance, whatever the distance map says.
Rotary build(const SchemeParams& p, Rotary declared) {
  declared.mask = {
      .past = p.choice("mode") == "zero" ? PairMask::Past::kSilent : PairMask::Past::kFrozen,
      .turns = p.number("turns")};
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) {
  return {"full_turn", "full_turn,mode=freeze", "full_turn,turns=8"};
}

}  // namespace

SchemeInfo full_turn_scheme() {
  return {.name = "full_turn",
          .kind = PartKind::kPairMask,
          .formula = "silent (zero) or held (freeze) past d * inv_freq = 2 pi turns",
          .source = "Ropewalk; kin of xPos, Sun et al. 2022, arXiv 2212.10554",
          .params = {{.name = "turns",
                      .fallback = "1",
                      .least = 0,
                      .above_least = true,
                      .unit = "turns",
                      .help = "how many a pair makes before it is masked"},
                     {.name = "mode",
                      .type = ParamType::kChoice,
                      .fallback = "zero",
                      .choices = {"zero", "freeze"},
                      .help = "zero: it adds nothing past them; freeze: its angle stays"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
