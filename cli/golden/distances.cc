// Cases of kind "distance": which distance the rotation sees, and which keys.
#include <functional>

#include "cli/golden/bounds.h"
#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::golden {
namespace {

// ",name=value" of a field of the case.
std::string parameter(const Json& golden, const char* field, const std::string& name) {
  return "," + name + "=" + text_of(golden.at(field));
}

std::string scheme_of(const Json& golden) {
  const std::string rule = rule_of(golden);
  if (rule == "rerope") return "cap" + parameter(golden, "window", "window");
  if (rule == "leaky_rerope") {
    return "leaky" + parameter(golden, "window", "window") +
           parameter(golden, "scaling_factor", "divisor");
  }
  if (rule == "self_extend") {
    return "self_extend" + parameter(golden, "window", "window") +
           parameter(golden, "group", "group");
  }
  if (rule == "dual_chunk") {
    return "dca" + parameter(golden, "chunk_size", "chunk") +
           parameter(golden, "local_size", "local");
  }
  if (rule == "grp_attn_llama_cpp") {
    return "group_attention" + parameter(golden, "grp_attn_n", "group") +
           parameter(golden, "grp_attn_w", "window");
  }
  if (rule == "streaming_llm") {
    return "sinks" + parameter(golden, "sinks", "count") + parameter(golden, "window", "size");
  }
  refuse_rule(golden);
}

Rotary rotary_of(const Json& golden) {
  const Rotary declared = plain_rotary(
      {.base = 10000.0, .frequency_dim = 8, .trained_length = 4096}, {PairOrder::kHalf, 8, 8});
  return apply_scheme(scheme_of(golden), declared);
}

// The distance between the tokens, as the rotation sees it: an integer where it is whole.
Value distance_value(DoubleDouble distance) {
  return distance == floor(distance) ? Value::real(static_cast<double>(distance))
                                     : Value::real(static_cast<double>(distance), 0x1p-50);
}

// Row i, column j; null, or nothing, above the diagonal.
Value distance_matrix(const Rotary& rotary, int64_t n, bool square) {
  Value rows = Value::list();
  for (int64_t i = 0; i < n; ++i) {
    Value row = Value::list();
    for (int64_t j = 0; j <= i; ++j) row.push(distance_value(rotary.distance.at(i, j)));
    for (int64_t j = i + 1; square && j < n; ++j) row.push(Value());
    rows.push(std::move(row));
  }
  return rows;
}

// llama.cpp rewrites the positions of the keys it has; the query, the newest, keeps its own, so a
// row of distances tells them all but for where the query stands, which is its distance to the
// first key, at position 0.
Value key_positions(const Rotary& rotary, int64_t n) {
  Value rows = Value::list();
  for (int64_t i = 0; i < n; ++i) {
    Value row = Value::list();
    const DoubleDouble standing = rotary.distance.at(i, 0);
    for (int64_t j = 0; j <= i; ++j) {
      row.push(Value::real(static_cast<double>(standing - rotary.distance.at(i, j))));
    }
    rows.push(std::move(row));
  }
  return rows;
}

// Which keys a query of StreamingLLM sees, and where they and it stand inside the kept set.
Value kept_rows(const Rotary& rotary, int64_t n) {
  Value rows = Value::list();
  for (int64_t i = 0; i < n; ++i) {
    Value kept = Value::list(), cached = Value::list();
    int64_t standing = 0;
    for (int64_t j = 0; j <= i; ++j) {
      if (!rotary.visibility.sees(i, j)) continue;
      // The first kept key is at 0, so the query stands at its distance to it.
      const int64_t distance = rotary.visibility.standing(i, j) - j;
      standing = std::max(standing, distance);
      kept.push(Value::exact(j));
      cached.push(Value::exact(standing - distance));
    }
    Value row = Value::object();
    row.set("query", Value::exact(i)).set("kept", std::move(kept));
    row.set("cache_position", std::move(cached)).set("query_position", Value::exact(standing));
    rows.push(std::move(row));
  }
  return rows;
}

}  // namespace

Value compute_distance(const Json& golden) {
  const Rotary rotary = rotary_of(golden);
  const int64_t n = bounded(golden, "n", 0, kMostNumbers);
  require_room(rule_of(golden), {n, n});
  Value out = Value::object();
  echo(golden, out,
       {"n", "window", "group", "scaling_factor", "chunk_size", "local_size", "grp_attn_n",
        "grp_attn_w", "sinks"});
  const std::string rule = rule_of(golden);
  if (rule == "streaming_llm") {
    out.set("rows", kept_rows(rotary, n));
    return out;
  }
  if (rule == "dual_chunk") {
    out.set("chunk_len", Value::exact(golden.at("chunk_size").get<int64_t>() -
                                      golden.at("local_size").get<int64_t>()));
  }
  const bool grouped = rule == "grp_attn_llama_cpp";
  if (grouped) out.set("key_positions", key_positions(rotary, n));
  out.set("distance", distance_matrix(rotary, n, !grouped));
  return out;
}

}  // namespace ropewalk::golden
