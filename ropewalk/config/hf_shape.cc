#include "ropewalk/config/hf_shape.h"

#include <vector>

#include "ropewalk/config/size_limits.h"

namespace ropewalk {
namespace {

constexpr int64_t kMostFfnRatio = 1024;  // far above every known model

// transformers maps all of these to one attribute.
const std::vector<std::string> kLayers = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                          "decoder_num_hidden_layers"};
const std::vector<std::string> kHidden = {"hidden_size", "n_embd", "n_embed", "d_model"};
const std::vector<std::string> kHeads = {
    "num_attention_heads",    "n_head", "n_heads", "num_heads", "decoder_num_attention_heads",
    "decoder_attention_heads"};

// Moonshine's encoder may have another number of heads than its decoder.
const std::string kEncoderHeads = "encoder_num_attention_heads";

std::string heads_key(JsonFields& top) {
  const std::string key = top.spelling(kHeads);
  return key.empty() && top.has_value(kEncoderHeads) ? kEncoderHeads : key;
}

// A size of at most so much, under any of its spellings: 0 where there is none.
int64_t size(HfReading& reading, const std::string& name, const std::vector<std::string>& keys,
             int64_t most) {
  const std::string key = reading.top.spelling(keys);
  if (key.empty()) return 0;
  const int64_t value = *reading.top.size(key);
  refuse_above(reading.top.place(key), value, most);
  reading.notes.field_of_key(name, reading.top, key);
  return value;
}

// The same; of a text model that is wrapped, as its class has it where there is none.
int64_t size_or(HfReading& reading, const std::string& name, const std::vector<std::string>& keys,
                int64_t most, int64_t HfClassSizes::*of_class) {
  const int64_t stated = size(reading, name, keys, most);
  if (stated != 0 || reading.class_sizes == nullptr) return stated;
  const int64_t assumed = reading.class_sizes->*of_class;
  reading.notes.field(name, std::to_string(assumed), Provenance::kFamilyDefault,
                      keys.front() + " is absent: as in the class of the text model");
  return assumed;
}

bool says(HfReading& reading, const std::string& key) {
  return reading.top.has_value(key) && *reading.top.flag(key);
}

// Falcon's: few heads of keys are a matter of flags.
int64_t multi_query_heads(HfReading& reading, const ModelShape& shape) {
  if (says(reading, "new_decoder_architecture"))
    return size(reading, "kv_heads", {"num_kv_heads"}, kMaxHeads);
  const bool one = !reading.top.has_value("multi_query") || says(reading, "multi_query");
  reading.notes.field("kv_heads", std::to_string(one ? 1 : shape.n_heads), Provenance::kDerived,
                      one ? "multi_query" : "multi_query is false: as many as heads");
  return one ? 1 : shape.n_heads;
}

int64_t key_heads(HfReading& reading, const ModelShape& shape) {
  const std::string key = "num_key_value_heads";
  const KeyHeads rule = reading.family.sizes.key_heads;
  if (rule == KeyHeads::kOwn) return shape.n_heads;
  if (rule == KeyHeads::kMultiQuery) return multi_query_heads(reading, shape);
  const int64_t stated = size_or(reading, "kv_heads", {key}, kMaxHeads, &HfClassSizes::key_heads);
  if (stated != 0 || shape.n_heads == 0 || rule == KeyHeads::kStated) return stated;
  reading.notes.field("kv_heads", std::to_string(shape.n_heads), Provenance::kFamilyDefault,
                      key + " is absent: as many as heads");
  return shape.n_heads;
}

void read_kv_heads(HfReading& reading, ModelShape& shape) {
  shape.n_kv_heads = key_heads(reading, shape);
  if (shape.n_heads == 0 || shape.n_kv_heads == 0) return;
  if (shape.n_heads % shape.n_kv_heads != 0) {
    throw Error(reading.top.place("num_key_value_heads"),
                "must divide the number of heads " + std::to_string(shape.n_heads),
                std::to_string(shape.n_kv_heads))
        .of(FaultKind::kNotDivisible);
  }
}

double class_epsilon(const HfReading& reading) {
  if (reading.class_sizes != nullptr) return reading.class_sizes->norm_epsilon;
  return reading.family.sizes.norm_epsilon;
}

void read_norm(HfReading& reading, ModelShape& shape) {
  const std::string keys(reading.family.sizes.norm_key);
  const std::string key = reading.top.spelling(spellings(keys));
  if (!key.empty()) {
    shape.norm_epsilon = *reading.top.number(key);
    if (shape.norm_epsilon < 0) throw reading.top.wrong(key, "must not be negative");
    reading.notes.field_of_key("norm_epsilon", reading.top, key);
  } else if (const double of_class = class_epsilon(reading); of_class != 0) {
    shape.norm_epsilon = of_class;
    reading.notes.field("norm_epsilon", json_text(shape.norm_epsilon), Provenance::kFamilyDefault,
                        keys.empty() ? "no key says it" : spellings(keys).front() + " is absent");
  }
}

int64_t ffn_width(HfReading& reading, const ModelShape& shape) {
  const HfSizes& sizes = reading.family.sizes;
  const std::string ratio_key(sizes.ffn_ratio_key);
  const int64_t stated =
      size_or(reading, "ffn", spellings(sizes.ffn_key), kMaxWidth, &HfClassSizes::ffn);
  if (stated != 0) return stated;
  if (sizes.ffn_ratio == 0) return 0;
  int64_t ratio = sizes.ffn_ratio;
  if (!ratio_key.empty() && reading.top.has_value(ratio_key)) ratio = *reading.top.size(ratio_key);
  if (ratio > kMostFfnRatio) {
    throw reading.top.wrong(ratio_key, "must not exceed " + std::to_string(kMostFfnRatio));
  }
  reading.notes.field("ffn", std::to_string(ratio * shape.hidden), Provenance::kFamilyDefault,
                      std::to_string(ratio) + " times the hidden width");
  return ratio * shape.hidden;
}

class HeadReader {
 public:
  HeadReader(HfReading& reading, const ModelShape& shape, HfNotes& notes)
      : reading_(reading),
        top_(reading.top),
        family_(reading.family),
        shape_(shape),
        notes_(notes) {}

  HfHead read(const std::string& layer_type) {
    HfHead head = family_.mla_rope != 0 && family_.head_dim == 0 ? latent() : whole(layer_type);
    refuse_above(top_.place(head.key), head.dim, kMaxHeadDim);
    head.rotated = family_.mla_rope == 0 ? head.dim : part("qk_rope_head_dim", family_.mla_rope);
    return head;
  }

 private:
  int64_t part(const std::string& key, int64_t fallback) {
    top_.mark(key);
    return top_.has_value(key) ? *top_.size(key) : fallback;
  }

  // head_dim says another thing in each of these families: it is not looked at.
  HfHead latent() {
    const int64_t rope = part("qk_rope_head_dim", family_.mla_rope);
    const int64_t nope = part("qk_nope_head_dim", family_.mla_nope);
    notes_.field("head_dim", std::to_string(nope + rope), Provenance::kDerived,
                 "qk_nope_head_dim + qk_rope_head_dim");
    return {.dim = nope + rope, .key = "qk_nope_head_dim"};
  }

  HfHead given(const std::string& key) {
    notes_.field_of_key("head_dim", top_, key);
    return {.dim = *top_.size(key), .key = key};
  }

  HfHead fallback(int64_t dim, const std::string& key, const std::string& from) {
    notes_.field("head_dim", std::to_string(dim), Provenance::kFamilyDefault, from);
    return {.dim = dim, .key = key};
  }

  HfHead whole(const std::string& layer_type) {
    const bool sliding = layer_type == "sliding_attention";
    const std::string own(sliding ? family_.sliding_head_key : family_.full_head_key);
    std::vector<std::string> keys = spellings(family_.head_keys);
    keys.insert(keys.begin(), "head_dim");
    const std::string shared = top_.spelling(keys);
    if (!own.empty() && layer_type != "linear_attention") {
      top_.mark(own);
      if (top_.has_value(own)) return given(own);
      if (!sliding && family_.full_head_dim != 0) {
        return fallback(family_.full_head_dim, own, own + " is absent");
      }
    }
    if (!shared.empty()) return given(shared);
    if (family_.head_dim != 0) return fallback(family_.head_dim, "head_dim", "head_dim is absent");
    return derived();
  }

  HfHead derived() {
    if (shape_.hidden == 0 && shape_.n_heads == 0 && family_.class_head_dim != 0) {
      notes_.warn("head_dim",
                  "head_dim, hidden_size and num_attention_heads are absent: the head width " +
                      std::to_string(family_.class_head_dim) +
                      " is what the model type's class would have, not what this model says",
                  FaultKind::kAssumedValue);
      return fallback(family_.class_head_dim, "head_dim",
                      "hidden_size and num_attention_heads are absent: those of the class");
    }
    if (shape_.hidden == 0) throw top_.missing("hidden_size", "or head_dim");
    if (shape_.n_heads == 0) throw top_.missing("num_attention_heads", "or head_dim");
    const std::string heads = heads_key(top_).empty() ? kHeads.front() : heads_key(top_);
    if (shape_.hidden % shape_.n_heads != 0) return usual(heads);
    const std::string hidden = top_.spelling(kHidden);
    notes_.field("head_dim", std::to_string(shape_.hidden / shape_.n_heads), Provenance::kDerived,
                 (hidden.empty() ? kHidden.front() : hidden) + " / " + heads);
    return {.dim = shape_.hidden / shape_.n_heads, .key = "head_dim"};
  }

  HfHead usual(const std::string& heads) {
    if (family_.usual_head_dim == 0) {
      throw top_.wrong(
          heads,
          "must divide hidden_size " + std::to_string(shape_.hidden) + ", as head_dim is absent",
          FaultKind::kNotDivisible);
    }
    notes_.warn("head_dim",
                "head_dim is absent and " + heads + " " + std::to_string(shape_.n_heads) +
                    " does not divide hidden_size " + std::to_string(shape_.hidden) + ": " +
                    std::to_string(family_.usual_head_dim) +
                    " is assumed, the width of every released model of the type",
                FaultKind::kAssumedValue);
    notes_.field("head_dim", std::to_string(family_.usual_head_dim), Provenance::kAssumed,
                 "head_dim is absent and the sizes do not divide: as in released models");
    return {.dim = family_.usual_head_dim, .key = "head_dim"};
  }

  HfReading& reading_;
  JsonFields& top_;
  const HfFamily& family_;
  const ModelShape& shape_;
  HfNotes& notes_;
};

HfLength most_positions(HfReading& reading) {
  std::vector<std::string> keys = {"max_position_embeddings", "n_positions"};
  for (const std::string& key : spellings(reading.family.length_keys)) keys.push_back(key);
  // The first one counts: others may be of another time, or of the tokenizer.
  for (const std::string& key : keys) {
    if (!reading.top.has_value(key)) {
      reading.top.mark(key);
      continue;
    }
    reading.notes.field_of_key("context_length", reading.top, key);
    return {.positions = *reading.top.size(key), .key = key};
  }
  const int64_t length = reading.family.trained_length;
  if (length != 0) {
    reading.notes.field("context_length", std::to_string(length), Provenance::kFamilyDefault,
                        keys.front() + " is absent");
    reading.notes.info(keys.front(), keys.front() + " is absent: " + std::to_string(length) +
                                         " is the model type's default");
  }
  return {.positions = length, .key = {}};
}

}  // namespace

ModelShape read_hf_shape(HfReading& reading) {
  ModelShape shape;
  shape.n_layers = size_or(reading, "layers", kLayers, kMaxLayers, &HfClassSizes::layers);
  shape.hidden = size_or(reading, "hidden", kHidden, kMaxWidth, &HfClassSizes::hidden);
  const std::string heads = heads_key(reading.top);
  shape.n_heads = size_or(reading, "heads", heads.empty() ? kHeads : std::vector{heads}, kMaxHeads,
                          &HfClassSizes::heads);
  read_kv_heads(reading, shape);
  shape.head_dim = size(reading, "head_dim", spellings(reading.family.sizes.head_key), kMaxHeadDim);
  shape.ffn = ffn_width(reading, shape);
  shape.vocabulary =
      size_or(reading, "vocabulary", {"vocab_size"}, kMaxVocabulary, &HfClassSizes::vocabulary);
  read_norm(reading, shape);
  const std::string tied = "tie_word_embeddings";
  shape.tied_output = reading.top.has_value(tied) && *reading.top.flag(tied);
  return shape;
}

HfHead read_hf_head(HfReading& reading, const ModelShape& shape, const std::string& layer_type,
                    HfNotes& notes) {
  return HeadReader(reading, shape, notes).read(layer_type);
}

const HfLength& read_hf_length(HfReading& reading) {
  if (!reading.length) reading.length = most_positions(reading);
  return *reading.length;
}

}  // namespace ropewalk
