// Source: transformers, modeling_<model type>.py; jina-bert-v2's and MPT's remote code.
#include "ropewalk/config/hf_mechanisms.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ropewalk/config/hf_shape.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using Positions = HfFamily::Positions;
using Switch = HfFamily::Switch;

// What stands for the positions of a head by heads or widths that a file leaves out.
constexpr int64_t kBaichuanAlibiHeads = 40;

class MechanismReader {
 public:
  MechanismReader(HfReading& reading, const ModelShape& shape)
      : reading_(reading), top_(reading.top), family_(reading.family), shape_(shape) {}

  HfMechanisms read() {
    const Positions positions = decide();
    result_.rotary = positions == Positions::kRotary;
    add(positions);
    add_segments();
    return std::move(result_);
  }

 private:
  // ---- which
  Positions decide();
  Positions by_type();
  Positions by_attn_config();
  Positions by_flag(const std::string& key, Positions on, Positions off, bool fallback);
  Positions said(const std::string& value, Positions positions, const std::string& key) {
    reading_.notes.field("positions", value, Provenance::kFile, key);
    return positions;
  }

  // ---- what
  void add(Positions positions);
  void add_learned();
  void add_sinusoidal(SinusoidOrder order);
  void add_whisper();
  void add_alibi();
  void add_t5();
  void add_deberta();
  void add_clipped();
  void add_segments();
  int64_t offset();
  int64_t number(const std::string& name, const std::string& key, int64_t fallback);
  int64_t width();

  HfReading& reading_;
  JsonFields& top_;
  const HfFamily& family_;
  const ModelShape& shape_;
  bool clipped_ = false;            // relative_key
  std::optional<double> max_bias_;  // where the file says it
  HfMechanisms result_;
};

int64_t MechanismReader::number(const std::string& name, const std::string& key, int64_t fallback) {
  top_.mark(key);
  if (top_.has_value(key)) {
    reading_.notes.field_of_key(name, top_, key);
    return *top_.size(key);
  }
  reading_.notes.field(name, std::to_string(fallback), Provenance::kFamilyDefault,
                       key + " is absent");
  return fallback;
}

// ---- which

Positions MechanismReader::by_flag(const std::string& key, Positions on, Positions off,
                                   bool fallback) {
  top_.mark(key);
  if (!top_.has_value(key)) return fallback ? on : off;
  const bool flag = *top_.flag(key);
  reading_.notes.field("positions", key + " = " + (flag ? "true" : "false"), Provenance::kFile,
                       top_.name(key));
  return flag ? on : off;
}

Positions MechanismReader::by_type() {
  const std::string key = top_.spelling({"position_embedding_type", "position_embeddings_type"});
  if (key.empty()) return family_.positions;
  const std::string type = *top_.text(key);
  if (type == "rotary" || type == "rope") return said(type, Positions::kRotary, key);
  if (type == "absolute" || type == "learned" || type == "learned_absolute") {
    return said(type, Positions::kLearned, key);
  }
  if (type == "alibi") return said(type, Positions::kAlibi, key);
  if (type == "nope" || type == "none") return said(type, Positions::kNone, key);
  if (type == "relative") return said(type, Positions::kTransformerXl, key);
  if (type == "relative_key" || type == "relative_key_query") {
    clipped_ = true;
    return said(type, Positions::kLearned, key);
  }
  throw top_.wrong(key,
                   "must be absolute, rotary, rope, alibi, nope, relative, relative_key or "
                   "relative_key_query",
                   FaultKind::kUnknownValue);
}

Positions MechanismReader::by_attn_config() {
  const std::string key = "attn_config";
  const Json* const object = top_.object(key);
  if (object == nullptr) return family_.positions;
  JsonFields inner(*object, reading_.file, top_.name(key));
  if (inner.has_value("alibi") && *inner.flag("alibi")) {
    if (inner.has_value("alibi_bias_max")) {
      max_bias_ = *inner.number("alibi_bias_max");
      if (*max_bias_ <= 0) throw inner.wrong("alibi_bias_max", "must be positive");
      reading_.notes.field_of_key("max_bias", inner, "alibi_bias_max");
    }
    return said("alibi", Positions::kAlibi, inner.name("alibi"));
  }
  if (inner.has_value("rope") && *inner.flag("rope")) {
    return said("rope", Positions::kRotary, inner.name("rope"));
  }
  return family_.positions;
}

Positions MechanismReader::decide() {
  switch (family_.position_switch) {
    case Switch::kNever:
      return family_.positions;
    case Switch::kType:
      return by_type();
    case Switch::kAlibiFlag:
      return by_flag("alibi", Positions::kAlibi, Positions::kRotary, false);
    case Switch::kRotaryFlag:
      return by_flag("rotary", Positions::kRotary, Positions::kNone, true);
    case Switch::kMlaNope:
      return by_flag("mla_use_nope", Positions::kNone, Positions::kRotary, false);
    case Switch::kAttnConfig:
      return by_attn_config();
    case Switch::kAlibiHeads:
      if (shape_.n_heads != kBaichuanAlibiHeads) return Positions::kRotary;
      reading_.notes.field("positions", "alibi", Provenance::kFamilyDefault,
                           "40 heads: Baichuan-13B, whose files say it nowhere else");
      return Positions::kAlibi;
  }
  return family_.positions;
}

// ---- what

void MechanismReader::add(Positions positions) {
  switch (positions) {
    case Positions::kRotary:
      return;
    case Positions::kNone:
      reading_.notes.field("positions", "none", Provenance::kFamilyDefault,
                           "model_type " + std::string(family_.name) + ": nothing is rotated");
      return;
    case Positions::kLearned:
      return add_learned();
    case Positions::kSinusoidalPaper:
      return add_sinusoidal(SinusoidOrder::kInterleaved);
    case Positions::kSinusoidalConcat:
      return add_sinusoidal(SinusoidOrder::kConcatenated);
    case Positions::kSinusoidalTensor2:
      return add_sinusoidal(SinusoidOrder::kTensor2Tensor);
    case Positions::kWhisper:
      return add_whisper();
    case Positions::kAlibi:
      return add_alibi();
    case Positions::kT5:
      return add_t5();
    case Positions::kDeberta:
      return add_deberta();
    case Positions::kTransformerXl:
      result_.mechanisms.emplace_back(TransformerXlScores{.dim = width()});
      return;
    case Positions::kConvolution:
      result_.mechanisms.emplace_back(
          ConvolutionalEmbedding{.width = number("convolution", "num_conv_pos_embeddings", 128)});
      return;
  }
}

int64_t MechanismReader::width() {
  if (shape_.hidden != 0) return shape_.hidden;
  throw top_.missing("hidden_size", "or d_model");
}

int64_t MechanismReader::offset() {
  if (!family_.offset_is_pad) return family_.learned_offset;
  const std::string key = "pad_token_id";
  top_.mark(key);
  const bool given = top_.has_value(key);
  const int64_t offset = (given ? top_.count(key) : 1) + 1;
  reading_.notes.field("position_offset", std::to_string(offset),
                       given ? Provenance::kDerived : Provenance::kFamilyDefault,
                       given ? key + " + 1" : key + " is absent: 1, and 1 more");
  return offset;
}

// A table of rows, of which some lie before position 0.
void MechanismReader::add_learned() {
  const HfLength& length = read_hf_length(reading_);
  const int64_t offset = this->offset();
  const int64_t rows = length.positions == 0  ? 0
                       : family_.learned_adds ? length.positions + offset
                                              : length.positions;
  if (rows != 0 && rows <= offset) {
    throw top_.wrong(length.key, "must be above the offset " + std::to_string(offset));
  }
  if (!family_.offset_is_pad && offset != 0) {
    reading_.notes.field("position_offset", std::to_string(offset), Provenance::kFamilyDefault,
                         "model_type " + std::string(family_.name));
  }
  result_.mechanisms.emplace_back(LearnedTable{.n_rows = rows, .offset = offset});
  if (rows != 0) {
    result_.usable_length = rows - offset;
    result_.usable_reason = offset == 0 ? "a learned table of as many rows"
                                        : "a learned table of " + std::to_string(rows) +
                                              " rows, position 0 in row " + std::to_string(offset);
  }
  if (clipped_) add_clipped();
}

// BERT's relative_key: as far as there are positions.
void MechanismReader::add_clipped() {
  const HfLength& length = read_hf_length(reading_);
  if (length.positions == 0) {
    throw top_.missing("max_position_embeddings", "relative_key has as many distances");
  }
  if (length.positions == 1) {
    throw top_.wrong(length.key, "must be above 1: relative_key has no distance else");
  }
  result_.mechanisms.emplace_back(ClippedDistance{.limit = length.positions - 1});
}

void MechanismReader::add_sinusoidal(SinusoidOrder order) {
  const int64_t dim = width();
  const int64_t offset = this->offset();
  result_.mechanisms.emplace_back(SinusoidalTable{.order = order, .dim = dim, .offset = offset});
}

void MechanismReader::add_whisper() {
  const std::string source = "max_source_positions";
  const int64_t frames = number("encoder_positions", source, 1500);
  const int64_t tokens = number("decoder_positions", "max_target_positions", 448);
  result_.mechanisms.emplace_back(
      SinusoidalTable{.order = SinusoidOrder::kTensor2Tensor, .dim = width()});
  result_.mechanisms.emplace_back(LearnedTable{.n_rows = tokens});
  result_.usable_length = tokens;
  result_.usable_reason = "the decoder's learned table; the encoder has sines for " +
                          std::to_string(frames) + " frames";
}

void MechanismReader::add_alibi() {
  constexpr double kUsual = 8;  // Press et al. 2022: slopes from 2^(-8/n) on
  if (!max_bias_) {
    reading_.notes.field("max_bias", to_text(kUsual), Provenance::kFamilyDefault,
                         family_.position_switch == Switch::kAttnConfig
                             ? "attn_config.alibi_bias_max is absent"
                             : "no key of model_type " + std::string(family_.name) + " says it");
  }
  if (shape_.n_heads == 0) {
    throw top_.missing("num_attention_heads", "slopes are by heads");
  }
  constexpr int64_t kMostHeads = 65536;
  if (shape_.n_heads > kMostHeads) {
    throw Error(top_.place("num_attention_heads"), "must not exceed " + std::to_string(kMostHeads),
                std::to_string(shape_.n_heads))
        .of(FaultKind::kOutOfRange);
  }
  result_.mechanisms.emplace_back(
      AlibiBias{.slopes = alibi_slopes(shape_.n_heads, max_bias_.value_or(kUsual))});
  result_.usable_reason = "ALiBi: no table ends it";
  if (family_.rounds_slopes) {
    reading_.notes.remark("alibi", remarks::kRoundedSlopes);
  }
}

void MechanismReader::add_t5() {
  const std::string buckets_key = "relative_attention_num_buckets";
  const std::string distance_key = "relative_attention_max_distance";
  const int64_t buckets = number("buckets", buckets_key, 32);
  const int64_t distance = number("max_distance", distance_key, 128);
  if (buckets < 2) throw top_.wrong(buckets_key, "must be at least 2");
  if (buckets > (int64_t{1} << 20)) throw top_.wrong(buckets_key, "must not exceed 2^20");
  if (buckets % 2 != 0) {
    reading_.notes.warn(buckets_key,
                        buckets_key + " " + std::to_string(buckets) +
                            " is odd: the encoder halves it, and never uses bucket " +
                            std::to_string(buckets - 1),
                        FaultKind::kOddDimension);
  }
  if (distance <= buckets / 2) {
    throw top_.wrong(distance_key,
                     "must be above half of " + buckets_key + ", " + std::to_string(buckets / 2));
  }
  const auto add = [&](int64_t n, bool bidirectional) {
    const T5Buckets table = {
        .n_buckets = n, .max_distance = distance, .bidirectional = bidirectional};
    validate(table);
    result_.mechanisms.emplace_back(table);
  };
  if (buckets >= 4) add(buckets / 2 * 2, true);
  add(buckets, false);
  result_.usable_reason = "buckets of distances: no table ends it";
  reading_.notes.info(buckets_key,
                      "the first set is the encoder's, which looks both ways, the second the "
                      "decoder's; llama.cpp takes 128 for the largest distance whatever this is");
}

void MechanismReader::add_deberta() {
  const HfLength& length = read_hf_length(reading_);
  const auto flag = [&](const std::string& key, bool fallback) {
    top_.mark(key);
    const bool value = top_.has_value(key) ? *top_.flag(key) : fallback;
    reading_.notes.field(key, value ? "true" : "false",
                         top_.has_value(key) ? Provenance::kFile : Provenance::kFamilyDefault,
                         top_.has_value(key) ? key : key + " is absent");
    return value;
  };
  const bool relative = flag("relative_attention", false);
  const bool biased = flag("position_biased_input", true);
  top_.mark("max_relative_positions");
  top_.mark("position_buckets");
  if (biased) {
    result_.mechanisms.emplace_back(LearnedTable{.n_rows = length.positions});
    result_.usable_length = length.positions;
    result_.usable_reason = "a learned table of as many rows";
  }
  if (!relative) return;
  // -1 stands for max_position_embeddings, and for no buckets.
  const auto above_zero = [&](const std::string& key) -> int64_t {
    const Json* const value = top_.raw(key);
    if (value == nullptr || value->is_null()) return 0;
    if (!value->is_number_integer()) {
      throw top_.wrong(key, "must be an integer", FaultKind::kBadType);
    }
    return *value > 0 ? *top_.size(key) : 0;
  };
  const int64_t given = above_zero("max_relative_positions");
  const int64_t farthest = given != 0 ? given : length.positions;
  if (farthest == 0) {
    throw top_.missing("max_position_embeddings",
                       "or max_relative_positions: the farthest distance");
  }
  const int64_t buckets = above_zero("position_buckets");
  reading_.notes.field("max_distance", std::to_string(farthest),
                       given != 0 ? Provenance::kFile : Provenance::kDerived,
                       given != 0 ? "max_relative_positions" : "max_position_embeddings");
  if (buckets == 0) {
    result_.mechanisms.emplace_back(ClippedDistance{.limit = farthest});
    return;
  }
  reading_.notes.field_of_key("buckets", top_, "position_buckets");
  const DebertaBuckets table = {.n_buckets = buckets, .max_distance = farthest};
  validate(table);
  result_.mechanisms.emplace_back(table);
}

void MechanismReader::add_segments() {
  const std::string key = "type_vocab_size";
  if (family_.segments == 0) return;
  top_.mark(key);
  const Json* const value = top_.raw(key);
  if (value != nullptr && *value == 0) return;
  result_.mechanisms.emplace_back(
      SegmentTable{.n_types = number("segments", key, family_.segments)});
}

}  // namespace

HfMechanisms read_hf_mechanisms(HfReading& reading, const ModelShape& shape) {
  return MechanismReader(reading, shape).read();
}

}  // namespace ropewalk
