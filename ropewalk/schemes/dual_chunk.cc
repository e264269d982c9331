#include "ropewalk/schemes/dual_chunk.h"

#include <algorithm>

#include "ropewalk/schemes/source.h"

namespace ropewalk {

DistanceMap dual_chunk_map(int64_t chunk, int64_t local, PairRange pairs) {
  const int64_t r = chunk - local;
  const PositionMap inside{.period = r};
  const Branch same{.last = 1, .query = inside, .key = inside};
  const Branch next{
      .first = 1,
      .last = 2,
      .query = {.offset = DoubleDouble(r), .period = r, .limit = static_cast<double>(chunk)},
      .key = inside};
  const Branch older{
      .first = 2, .query = fixed_position(DoubleDouble(std::min(2 * r - 1, chunk))), .key = inside};
  return DistanceMap::by_chunks(r, {same, next, older}, pairs);
}

DualChunk dual_chunk_params(const SchemeParams& params, const DualChunk& preset) {
  if (params.has("chunk") != params.has("local")) {
    params.refuse(params.has("chunk") ? "local" : "chunk", FaultKind::kMissingKey,
                  "must be given with the other of chunk and local, or neither");
  }
  if (!params.has("chunk")) return preset;
  const DualChunk given{.chunk = params.integer("chunk"), .local = params.integer("local")};
  if (given.local >= given.chunk) {
    params.refuse("local", FaultKind::kOrder, "must be below chunk", std::to_string(given.local));
  }
  return given;
}

DualChunk papers_dual_chunk(int64_t trained_length) {
  const int64_t s = std::max<int64_t>(1, trained_length * 3 / 4);
  const int64_t farthest = std::max(s, trained_length - 1);
  return {.chunk = farthest, .local = farthest - s};
}

DualChunk dca_chunks(const SchemeParams& params, const Rotary& declared) {
  return dual_chunk_params(params, params.has("chunk")
                                       ? DualChunk{}
                                       : papers_dual_chunk(trained_length(params, declared)));
}

std::vector<ParamInfo> dual_chunk_param_infos(const std::string& chunk_default,
                                              const std::string& local_default) {
  return {{.name = "chunk",
           .type = ParamType::kInteger,
           .least = 1,
           .unit = "tokens",
           .help = "c, the farthest distance (Qwen: chunk_size); " + chunk_default + " by default"},
          {.name = "local",
           .type = ParamType::kInteger,
           .least = 0,
           .unit = "tokens",
           .help = "l, tokens that stay true across chunks (Qwen: local_size); " + local_default +
                   " by default"}};
}

}  // namespace ropewalk
