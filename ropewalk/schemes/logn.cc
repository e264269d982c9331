// log n: logits grow with the number of keys, which keeps the entropy of attention. Source: Su
// 2021, kexue.fm/archives/8823; Chiang and Cholak 2022, arXiv 2202.12172.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t length = trained_length(p, declared);
  if (length < 2)
    p.refuse("", FaultKind::kOutOfRange, "needs a trained length >= 2", std::to_string(length));
  declared.temperature = {.log_length = length};
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"logn"}; }

}  // namespace

SchemeInfo logn_scheme() {
  return {.name = "logn",
          .kind = PartKind::kMultiplier,
          .formula = "row i times max(1, ln(i + 1) / ln(L))",
          .source = "Su 2021, kexue.fm/archives/8823",
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
