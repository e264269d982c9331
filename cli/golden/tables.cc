// Cases of encodings beside rotation, and of rotation itself on one head: buckets, slopes, tables,
// biases, rows, xPos, scales, layouts.
#include <algorithm>
#include <cmath>

#include "cli/golden/bounds.h"
#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/math/alibi.h"
#include "ropewalk/math/distance_bias.h"
#include "ropewalk/math/input_embedding.h"
#include "ropewalk/math/pair_layout.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/math/relative_buckets.h"
#include "ropewalk/math/rotary.h"
#include "ropewalk/math/xpos.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::golden {
namespace {

// The integers that a case lists, or those from the first to the last of the two that it gives.
std::vector<int64_t> integers(const Json& given, size_t n_wanted) {
  auto listed = given.get<std::vector<int64_t>>();
  if (listed.size() != 2 || n_wanted == 2) return listed;
  // As doubles: the distance of two int64_t may be none.
  if (static_cast<double>(listed[1]) - static_cast<double>(listed[0]) >= kMostNumbers) {
    throw Error("range", "must have at most " + std::to_string(kMostNumbers) + " numbers",
                given.dump());
  }
  std::vector<int64_t> all;
  for (int64_t r = listed[0]; r <= listed[1]; ++r) all.push_back(r);
  return all;
}

template <typename Function>
Value integers_value(const std::vector<int64_t>& at, Function function) {
  Value list = Value::list();
  for (const int64_t r : at) list.push(Value::exact(function(r)));
  return list;
}

template <typename Function>
Value reals_value(const Json& at, Function function) {
  Value list = Value::list();
  for (const Json& given : at) list.push(Value::real(function(given.get<int64_t>())));
  return list;
}

// Any declared Rotary: what is asked of it does not depend on its frequencies.
Rotary some_rotary(int64_t trained_length) {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = trained_length},
                      {PairOrder::kHalf, 8, 8});
}

size_t size_of(const Json& golden, const char* name) {
  return golden.contains(name) ? golden[name].size() : 0;
}

}  // namespace

Value compute_buckets(const Json& golden) {
  const std::string rule = rule_of(golden);
  Value out = Value::object();
  echo(golden, out, {"relative_position", "distance", "k", "bucket_size", "max_position"});
  if (rule == "shaw_clipped") {
    const ClippedDistance clipped{.limit = golden.at("k").get<int64_t>()};
    out.set("index", integers_value(integers(golden.at("distance"), size_of(golden, "index")),
                                    [&](int64_t r) { return clipped.row(r); }));
    return out;
  }
  const auto at = integers(golden.at("relative_position"), size_of(golden, "bucket"));
  if (rule == "t5_bucket") {
    const Json& config = golden.at("config");
    const T5Buckets buckets{
        .n_buckets = config.at("relative_attention_num_buckets").get<int64_t>(),
        .max_distance = config.value("relative_attention_max_distance", int64_t{128}),
        .bidirectional = config.at("bidirectional").get<bool>()};
    validate(buckets);
    out.set("bucket", integers_value(at, [&](int64_t r) { return buckets.bucket(r); }));
  } else if (rule == "deberta_log_bucket") {
    const DebertaBuckets buckets{.n_buckets = golden.at("bucket_size").get<int64_t>(),
                                 .max_distance = golden.at("max_position").get<int64_t>()};
    validate(buckets);
    out.set("bucket", integers_value(at, [&](int64_t r) { return buckets.bucket(r); }));
  } else {
    refuse_rule(golden);
  }
  return out;
}

Value compute_slopes(const Json& golden) {
  const std::string rule = rule_of(golden);
  const bool rounded = rule == "alibi_bf16" || rule == "alibi_falcon";
  if (!rounded && rule != "alibi" && rule != "alibi_max_bias") refuse_rule(golden);
  Value out = Value::object();
  echo(golden, out, {"max_bias"});
  const double max_bias =
      golden.contains("max_bias") ? static_cast<double>(number(golden["max_bias"])) : 8;
  Value slopes = Value::object();
  for (const auto& [n_heads, wanted] : golden.at("slopes").items()) {
    const int64_t n = require_between("n_heads", std::stoll(n_heads), 1, kMostWidth);
    const std::vector<double> exact = alibi_slopes(n, max_bias);
    slopes.set(n_heads, Value::reals(rounded ? bfloat16_slopes(exact) : exact));
  }
  out.set("slopes", std::move(slopes));
  return out;
}

Value compute_table(const Json& golden) {
  const std::string rule = rule_of(golden);
  SinusoidOrder order = SinusoidOrder::kInterleaved;
  if (rule == "sinusoidal_concat") {
    order = SinusoidOrder::kConcatenated;
  } else if (rule == "sinusoidal_t2t") {
    order = SinusoidOrder::kTensor2Tensor;
  } else if (rule != "sinusoidal_interleaved") {
    refuse_rule(golden);
  }
  const int64_t dim = bounded_width(golden, "dim");
  const int64_t n = bounded(golden, "n", 0, kMostNumbers);
  require_room("table", {n, dim});
  const SinusoidalEmbedding embedding(order, dim, golden.value("base", 10000.0),
                                      golden.value("offset", int64_t{0}));
  Value out = Value::object();
  echo(golden, out, {"n", "dim", "base", "offset"});
  Value table = Value::list();
  std::vector<double> row(static_cast<size_t>(embedding.dim()));
  for (int64_t p = 0; p < n; ++p) {
    embedding.row(p, row);
    Value values = Value::list();
    // No frequency is above 1.
    for (const double value : row) {
      values.push(Value::real(value, table_bound(static_cast<double>(p))));
    }
    table.push(std::move(values));
  }
  out.set("table", std::move(table));
  return out;
}

Value compute_bias(const Json& golden) {
  const std::string rule = rule_of(golden);
  Value out = Value::object();
  echo(golden, out, {"r1", "r2", "distance", "c", "L", "d_bar"});
  if (rule == "kerple_log" || rule == "kerple_power") {
    const Kerple kerple{
        .kernel = rule == "kerple_log" ? Kerple::Kernel::kLogarithmic : Kerple::Kernel::kPower,
        .r1 = number(golden.at("r1")),
        .r2 = number(golden.at("r2"))};
    validate(kerple);
    out.set("bias", reals_value(golden.at("distance"), [&](int64_t d) { return kerple.bias(d); }));
  } else if (rule == "sandwich") {
    const Sandwich sandwich{.d_bar = bounded_width(golden, "d_bar")};
    validate(sandwich);
    require_room("inner_product",
                 {sandwich.d_bar / 2, static_cast<int64_t>(size_of(golden, "distance"))});
    out.set("inner_product", reals_value(golden.at("distance"),
                                         [&](int64_t d) { return sandwich.inner_product(d); }));
  } else if (rule == "fire") {
    const Fire fire{.c = number(golden.at("c")), .threshold = number(golden.at("L"))};
    validate(fire);
    Value rows = Value::list();
    for (const Json& row : golden.at("rows")) {
      const auto i = row.at(0).get<int64_t>(), j = row.at(1).get<int64_t>();
      rows.push(Value::list({Value::given(i), Value::given(j), Value::real(fire.input(i, j))}));
    }
    out.set("rows", std::move(rows));
  } else {
    refuse_rule(golden);
  }
  return out;
}

Value compute_positions(const Json& golden) {
  if (rule_of(golden) != "learned_offset") refuse_rule(golden);
  Value out = Value::object();
  echo(golden, out, {"offset", "padding_idx", "num_embeddings_rows", "attention_mask"});
  const int64_t offset = golden.contains("padding_idx") ? golden["padding_idx"].get<int64_t>() + 1
                                                        : golden.at("offset").get<int64_t>();
  const auto mask = golden.at("attention_mask").get<std::vector<uint8_t>>();
  // A table whose one value is the number of the row.
  std::vector<float> table(
      static_cast<size_t>(bounded(golden, "num_embeddings_rows", 0, kMostNumbers)));
  for (size_t row = 0; row < table.size(); ++row) table[row] = static_cast<float>(row);
  const LearnedEmbedding embedding(std::move(table), 1, offset);
  Value rows = Value::list();
  for (const int64_t position : positions_of_tokens(mask)) {
    double row = 0;
    embedding.row(position, {&row, 1});
    rows.push(Value::exact(static_cast<int64_t>(row)));
  }
  out.set("rows", std::move(rows));
  return out;
}

Value compute_xpos(const Json& golden) {
  if (rule_of(golden) != "xpos") refuse_rule(golden);
  const Json& config = golden.at("config");
  Xpos xpos{.rotary_dim = bounded_width(config, "dim"),
            .scale_base = number(config.value("scale_base", Json(512))),
            .centre = config.value("seq_len", int64_t{0}) / 2};
  if (config.contains("gamma")) xpos.gamma = number(config["gamma"]);
  validate(xpos);
  const DoubleDouble base = number(config.value("theta", Json(10000)));
  const Spectrum spectrum = rope_spectrum(base, xpos.rotary_dim, xpos.rotary_dim / 2);

  Value out = Value::object();
  out.set("inv_freq", Value::reals(spectrum.inv_freq()));
  Value zeta = Value::list();
  for (const DoubleDouble value : xpos.zeta()) zeta.push(Value::real(static_cast<double>(value)));
  out.set("zeta", std::move(zeta));
  const auto scales = [&](const char* name, auto scale_at) {
    if (!golden.contains(name)) return;
    Value scale = Value::object();
    for (const auto& [position, wanted] : golden[name].items()) {
      scale.set(position, Value::reals(scale_at(std::stoll(position))));
    }
    out.set(name, std::move(scale));
  };
  scales("query_scale", [&](int64_t p) { return xpos.query_scale(p); });
  scales("key_scale", [&](int64_t p) { return xpos.key_scale(p); });
  scales("relative_scale", [&](int64_t d) { return xpos.score_scale(d); });
  return out;
}

Value compute_scale(const Json& golden) {
  const std::string rule = rule_of(golden);
  Value out = Value::object();
  echo(golden, out,
       {"floor_scale", "attn_scale", "positions", "original_max_position_embeddings",
        "llama_4_scaling_beta", "seq_len", "seq_length", "key_length", "training_length",
        "position"});
  const auto scheme = [](const std::string& text, int64_t trained_length) {
    return apply_scheme(text, some_rotary(trained_length));
  };
  if (rule == "attn_temperature_llama4") {
    const Rotary rotary =
        scheme("step_temperature,offset=1,scale=" + text_of(golden.at("attn_scale")) +
                   ",length=" + text_of(golden.at("floor_scale")),
               0);
    out.set("scale", reals_value(golden.at("positions"),
                                 [&](int64_t i) { return rotary.temperature.at(i); }));
  } else if (rule == "attn_temperature_ministral3") {
    const Rotary rotary =
        scheme("step_temperature,scale=" + text_of(golden.at("llama_4_scaling_beta")) +
                   ",length=" + text_of(golden.at("original_max_position_embeddings")),
               0);
    out.set("scale", reals_value(golden.at("positions"),
                                 [&](int64_t i) { return rotary.temperature.at(i); }));
  } else if (rule == "dca_softmax_scale") {
    const Rotary rotary =
        scheme("length_temperature", golden.at("original_max_position_embeddings").get<int64_t>());
    out.set("scale", reals_value(golden.at("seq_len"), [&](int64_t n) {
              return rotary.spectrum.at(n).logit_multiplier;
            }));
  } else if (rule == "logn_qwen1") {
    // The n-th query, counted from 1, has seen n keys.
    const Rotary rotary = scheme("logn", golden.at("seq_length").get<int64_t>());
    out.set("scale", reals_value(golden.at("key_length"),
                                 [&](int64_t n) { return rotary.temperature.at(n - 1); }));
  } else if (rule == "logn_clip") {
    const Rotary rotary = scheme("logn", golden.at("training_length").get<int64_t>());
    out.set("scale", reals_value(golden.at("position"),
                                 [&](int64_t i) { return rotary.temperature.at(i); }));
  } else {
    refuse_rule(golden);
  }
  return out;
}

Value compute_apply(const Json& golden) {
  if (rule_of(golden) != "layout_apply") refuse_rule(golden);
  std::vector<double> head;
  double largest = 0;
  for (const Json& value : golden.at("x")) {
    head.push_back(static_cast<double>(number(value)));
    largest = std::max(largest, std::abs(head.back()));
  }
  const int64_t rotary_dim = bounded_width(golden, "rotary_dim");
  const auto position = golden.at("position").get<int64_t>();
  const Spectrum spectrum = rope_spectrum(number(golden.at("theta")), rotary_dim, rotary_dim / 2);
  Value out = Value::object();
  echo(golden, out, {"x", "rotary_dim", "theta", "position"});
  const auto set_rotated = [&](const char* name, PairOrder order) {
    const PairLayout layout{order, static_cast<int64_t>(head.size()), rotary_dim};
    validate(layout);
    Value rotated = Value::list();
    for (const double value : reference_rotate(layout, spectrum, DoubleDouble(position), head)) {
      // Two products of a coordinate and a table entry.
      rotated.push(Value::real(value, 2 * largest * table_bound(0)));
    }
    out.set(name, std::move(rotated));
  };
  set_rotated("half_split", PairOrder::kHalf);
  set_rotated("interleaved", PairOrder::kInterleaved);
  return out;
}

Value compute_layout(const Json& golden) {
  if (rule_of(golden) != "gguf_qk_permutation") refuse_rule(golden);
  const int64_t n_heads = bounded_width(golden, "n_head");
  const int64_t head_dim = bounded_width(golden, "head_dim");
  require_room("gguf_row_from_hf_row", {n_heads, head_dim});
  const std::vector<int64_t> in_head = interleaved_from_half(head_dim, head_dim);
  Value rows = Value::list();
  for (int64_t head = 0; head < n_heads; ++head) {
    for (const int64_t row : in_head) rows.push(Value::exact(head * head_dim + row));
  }
  Value out = Value::object();
  echo(golden, out, {"n_head", "head_dim"});
  out.set("gguf_row_from_hf_row", std::move(rows));
  return out;
}

}  // namespace ropewalk::golden
