// Source: transformers, configuration_<model type>.py: how layer_types are made where a file has
// none.
#include "ropewalk/config/hf_layers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using Layers = HfFamily::Layers;
using Nope = HfFamily::Nope;

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

// Layer types with queries and keys, then those without.
constexpr std::array<std::string_view, 10> kAttention = {kFull,
                                                         kSliding,
                                                         "chunked_attention",
                                                         "attention",
                                                         "hybrid",
                                                         "compressed_attention",
                                                         "compressed_sparse_attention",
                                                         "heavily_compressed_attention",
                                                         "minimax_m3_sparse",
                                                         "full"};
constexpr std::array<std::string_view, 8> kOthers = {
    "linear_attention", "conv", "recurrent", "mamba", "moe", "mlp", "linear", "ssm"};

class LayersReader {
 public:
  LayersReader(HfReading& reading, int64_t n_layers)
      : reading_(reading), top_(reading.top), family_(reading.family), n_layers_(n_layers) {}

  HfLayers read() {
    result_.counted = n_layers_ != 0;
    if (!from_list()) by_rule();
    read_nope();
    if (!result_.counted && result_.layers.size() > 1) {
      reading_.notes.info("num_hidden_layers",
                          "num_hidden_layers is absent: the kinds of layers are told, not which "
                          "layer is of which kind");
    }
    return std::move(result_);
  }

 private:
  bool from_list();
  void by_rule();
  void every(bool last);
  int64_t period();
  int64_t period_of_text(const std::string& key);
  void by_flags();
  void by_indices();
  void by_cycle();
  void from_layer();
  void note_no_window(const std::string& flag, const std::string& first);
  void by_ratios();
  void read_nope();
  void nope_from_list(const Json& list);
  void nope_by_interval();
  void make_chunks();

  size_t count() const { return result_.layers.size(); }
  void resize(int64_t n) { result_.layers.resize(static_cast<size_t>(n)); }
  int64_t known_or(int64_t fallback) const { return n_layers_ != 0 ? n_layers_ : fallback; }
  void check_length(const std::string& key, const Json& list, bool may_be_longer = false);
  void note_rule(const std::string& text) {
    reading_.notes.field("layer_types", text, Provenance::kFamilyDefault, "layer_types is absent");
  }

  HfReading& reading_;
  JsonFields& top_;
  const HfFamily& family_;
  int64_t n_layers_;
  HfLayers result_;
};

// A list with an entry for each layer also tells how many there are.
void LayersReader::check_length(const std::string& key, const Json& list, bool may_be_longer) {
  const auto entries = static_cast<int64_t>(list.size());
  if (n_layers_ == 0) {
    if (entries == 0 || entries > kMaxLayers) {
      throw Error(top_.place(key), "must have from 1 to " + std::to_string(kMaxLayers) + " entries",
                  std::to_string(entries) + " entries")
          .of(FaultKind::kWrongLength);
    }
    n_layers_ = entries;
    result_.counted = true;
  }
  if (entries == n_layers_ || (may_be_longer && entries > n_layers_)) return;
  throw Error(top_.place(key),
              "must have one entry for each of " + std::to_string(n_layers_) + " layers",
              std::to_string(entries) + " entries")
      .of(FaultKind::kWrongLength);
}

// ---- types

bool LayersReader::from_list() {
  const std::string key = top_.has_value("layer_types") ? "layer_types" : "layers_block_type";
  if (family_.layers == Layers::kCycle && key != "layer_types") return false;
  const Json* const types = top_.list(key);
  if (types == nullptr) return false;
  check_length(key, *types, top_.has_value("num_nextn_predict_layers"));
  for (int64_t i = 0; i < n_layers_; ++i) {
    const Json& type = (*types)[static_cast<size_t>(i)];
    const std::string place = top_.place(key) + "[" + std::to_string(i) + "]";
    if (!type.is_string()) {
      throw Error(place, "must be a string", json_text(type)).of(FaultKind::kBadType);
    }
    const auto name = type.get<std::string>();
    if (!has_attention(name) && std::ranges::find(kOthers, name) == kOthers.end()) {
      throw Error(place,
                  "must be a known layer type (full_attention, sliding_attention, "
                  "chunked_attention, linear_attention, conv, recurrent, mamba, ...)",
                  name)
          .of(FaultKind::kUnknownValue);
    }
    result_.layers.push_back({.type = name, .rotates = has_attention(name)});
  }
  reading_.notes.field("layer_types", std::to_string(n_layers_) + " entries", Provenance::kFile,
                       top_.name(key));
  return true;
}

void LayersReader::by_rule() {
  switch (family_.layers) {
    case Layers::kAlike:
    case Layers::kChunks:
      return resize(known_or(1));
    case Layers::kLastOfEvery:
      return every(true);
    case Layers::kFirstOfEvery:
      return every(false);
    case Layers::kFlags:
      return by_flags();
    case Layers::kIndices:
      return by_indices();
    case Layers::kCycle:
      return by_cycle();
    case Layers::kFromLayer:
      return from_layer();
    case Layers::kRatios:
      return by_ratios();
  }
}

// "LLLG": three local layers, then a global one.
int64_t LayersReader::period_of_text(const std::string& key) {
  const std::string pattern = *top_.text(key);
  const bool fits =
      !pattern.empty() && pattern.back() == 'G' &&
      std::count(pattern.begin(), pattern.end(), 'L') + 1 == static_cast<int64_t>(pattern.size());
  if (!fits) {
    throw top_.wrong(key, "must be L for each local layer, then one G, as in LLLG",
                     FaultKind::kUnknownValue);
  }
  return static_cast<int64_t>(pattern.size());
}

int64_t LayersReader::period() {
  const std::string key(family_.layers_key);
  if (key.empty() || !top_.has_value(key)) {
    top_.mark(key);
    note_rule("one in " + std::to_string(family_.period) + " is full_attention");
    return family_.period;
  }
  const Json& value = *top_.raw(key);
  const int64_t every = value.is_string() ? period_of_text(key) : *top_.size(key);
  reading_.notes.field("layer_types", "one in " + std::to_string(every) + " is full_attention",
                       Provenance::kDerived, top_.name(key));
  return every;
}

void LayersReader::every(bool last) {
  // EXAONE-4 without a window has full layers only.
  const std::string window(family_.window_key);
  if (family_.nope == Nope::kFull && top_.has(window) && !top_.has_value(window)) {
    top_.mark(window);
    top_.mark(std::string(family_.layers_key));
    return resize(known_or(1));
  }
  const int64_t length = period();
  if (length > kMaxLayers) {
    throw top_.wrong(std::string(family_.layers_key),
                     "must not exceed " + std::to_string(kMaxLayers));
  }
  resize(known_or(length));
  for (size_t i = 0; i < count(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const bool full = last ? (layer + 1) % length == 0 : layer % length == 0;
    if (!full) result_.layers[i].type = family_.other;
  }
}

void LayersReader::by_flags() {
  const std::string key(family_.layers_key);
  const Json* const list = top_.list(key);
  if (list == nullptr) {
    if (family_.other == kSliding) throw top_.missing(key, "or layer_types");
    throw top_.missing("layer_types", "or " + key);
  }
  check_length(key, *list);
  for (const Json& flag : *list) {
    if (!flag.is_number_integer() || (flag != 0 && flag != 1)) {
      throw Error(top_.place(key) + "[" + std::to_string(count()) + "]", "must be 0 or 1",
                  json_text(flag))
          .of(FaultKind::kOutOfRange);
    }
    const bool full = flag.get<int64_t>() == family_.full_flag;
    result_.layers.push_back({.type = full ? kFull : std::string(family_.other)});
  }
  reading_.notes.field("layer_types", std::to_string(n_layers_) + " entries", Provenance::kDerived,
                       top_.name(key));
}

void LayersReader::by_indices() {
  const std::string key(family_.layers_key);
  const Json* const list = top_.list(key);
  if (list == nullptr) {  // LFM2's class: every layer has attention
    note_rule("every layer is full_attention");
    return resize(known_or(1));
  }
  if (n_layers_ == 0) throw top_.missing("num_hidden_layers");
  result_.layers.assign(static_cast<size_t>(n_layers_), {.type = std::string(family_.other)});
  for (const Json& index : *list) {
    const bool fits = index.is_number_integer() && index >= 0 && index < n_layers_;
    if (!fits) {
      throw Error(top_.place(key), "must hold indices of layers below " + std::to_string(n_layers_),
                  json_text(index))
          .of(FaultKind::kOutOfRange);
    }
    result_.layers[index.get<size_t>()].type = kFull;
  }
  reading_.notes.field("layer_types", std::to_string(list->size()) + " with attention",
                       Provenance::kDerived, top_.name(key));
}

void LayersReader::by_cycle() {
  std::vector<std::string> cycle = {"recurrent", "recurrent", "attention"};
  const std::string key = top_.spelling(spellings(family_.layers_key));
  if (key.empty()) {
    note_rule("two recurrent, then one with attention");
  } else {
    cycle.clear();
    for (const Json& type : *top_.list(key)) {
      if (type != "recurrent" && type != "attention") {
        throw Error(top_.place(key), "must hold recurrent or attention", json_text(type))
            .of(FaultKind::kUnknownValue);
      }
      cycle.push_back(type.get<std::string>());
    }
    if (cycle.empty() || cycle.size() > kMaxLayers) {
      throw top_.wrong(key, "must hold from 1 to " + std::to_string(kMaxLayers) + " types",
                       FaultKind::kWrongLength);
    }
    reading_.notes.field_of_key("layer_types", top_, key);
  }
  resize(known_or(static_cast<int64_t>(cycle.size())));
  for (size_t i = 0; i < count(); ++i) result_.layers[i].type = cycle[i % cycle.size()];
}

// Values that wait for a switch are told, so that none is lost in silence.
void LayersReader::note_no_window(const std::string& flag, const std::string& first) {
  const std::string window(family_.window_key);
  top_.mark(window);
  if (!top_.has_value(flag) && !top_.has_value(window) && !top_.has_value(first)) return;
  const bool off = top_.has_value(flag) && !*top_.flag(flag);
  const std::string why = off                    ? flag + " is false"
                          : top_.has_value(flag) ? window + " is null"
                                                 : flag + " is absent";
  reading_.notes.field("window", "none", off ? Provenance::kFile : Provenance::kFamilyDefault, why);
  for (const std::string& key : {window, first}) reading_.notes.unused(top_, key, why);
  if (!off) reading_.notes.unused(top_, flag, why);
}

void LayersReader::from_layer() {
  const std::string flag = "use_sliding_window";
  const std::string first = "max_window_layers";
  top_.mark(flag);
  top_.mark(first);
  const bool on = top_.has_value(flag) && *top_.flag(flag);
  const std::string window(family_.window_key);
  if (!on || (top_.has(window) && !top_.has_value(window))) {
    note_no_window(flag, first);
    return resize(known_or(1));
  }
  constexpr int64_t kDefault = 28;
  const int64_t from = top_.has_value(first) ? top_.count(first) : kDefault;
  reading_.notes.field("layer_types",
                       "sliding_attention from layer " + std::to_string(from) + " on",
                       top_.has_value(first) ? Provenance::kFile : Provenance::kFamilyDefault,
                       top_.has_value(first) ? top_.name(first) : first + " is absent");
  if (n_layers_ == 0) throw top_.missing("num_hidden_layers");
  resize(n_layers_);
  for (int64_t i = from; i < n_layers_; ++i) result_.layers[static_cast<size_t>(i)].type = kSliding;
}

void LayersReader::by_ratios() {
  const std::string key(family_.layers_key);
  const Json* const list = top_.list(key);
  if (list == nullptr) throw top_.missing(key, "or layer_types");
  check_length(key, *list, true);
  if (static_cast<int64_t>(list->size()) > n_layers_) {
    const Json rest(list->begin() + n_layers_, list->end());
    reading_.notes.info(
        key, key + " has more entries than there are layers; not used: " + json_text(rest));
  }
  for (int64_t i = 0; i < n_layers_; ++i) {
    const Json& ratio = (*list)[static_cast<size_t>(i)];
    if (!ratio.is_number_integer() || ratio < 0) {
      throw Error(top_.place(key) + "[" + std::to_string(i) + "]",
                  "must be an integer that is not negative", json_text(ratio))
          .of(FaultKind::kOutOfRange);
    }
    result_.layers.push_back({.type = ratio == 0 ? kSliding : "compressed_attention"});
  }
  reading_.notes.field("layer_types", std::to_string(n_layers_) + " entries", Provenance::kDerived,
                       top_.name(key));
}

// ---- layers without rotation

void LayersReader::read_nope() {
  for (HfLayer& layer : result_.layers) layer.rotates = has_attention(layer.type);
  if (family_.nope == Nope::kFull) {
    const bool some_slide =
        std::ranges::find(result_.layers, kSliding, &HfLayer::type) != result_.layers.end();
    for (HfLayer& layer : result_.layers) {
      if (some_slide && layer.type == kFull) layer.rotates = false;
    }
  } else if (family_.nope == Nope::kList) {
    const std::string key = "no_rope_layers";
    const Json* const list = top_.list(key);
    const std::string interval = "no_rope_layer_interval";
    if (list != nullptr && !list->empty()) {
      reading_.notes.unused(top_, interval, key + " says which layers are rotated");
      nope_from_list(*list);
    } else {
      top_.mark(interval);
      nope_by_interval();
    }
    if (family_.layers == Layers::kChunks && !top_.has_value("layer_types")) make_chunks();
  }
}

// In spite of the name, 1 means that the layer is rotated.
void LayersReader::nope_from_list(const Json& list) {
  const std::string key = "no_rope_layers";
  const bool was_counted = n_layers_ != 0;
  check_length(key, list);
  if (!was_counted) resize(n_layers_);
  int64_t still = 0;
  for (size_t i = 0; i < count(); ++i) {
    if (!list[i].is_number_integer() || (list[i] != 0 && list[i] != 1)) {
      throw Error(top_.place(key) + "[" + std::to_string(i) + "]",
                  "must be 0 (not rotated) or 1 (rotated)", json_text(list[i]))
          .of(FaultKind::kOutOfRange);
    }
    if (list[i] == 0) result_.layers[i].rotates = false;
    still += list[i] == 0 ? 1 : 0;
  }
  reading_.notes.field("layers without rotation", std::to_string(still), Provenance::kFile, key);
  if (still * 2 <= n_layers_) return;
  reading_.notes.warn(key,
                      key + " leaves " + std::to_string(100 * still / n_layers_) +
                          "% of layers without rotation: is it inverted? 1 means that a layer is "
                          "rotated",
                      FaultKind::kInconsistent);
}

void LayersReader::nope_by_interval() {
  const std::string key = "no_rope_layer_interval";
  constexpr int64_t kDefault = 4;
  const bool given = top_.has_value(key);
  const int64_t interval = given ? *top_.size(key) : kDefault;
  if (interval > kMaxLayers) {
    throw top_.wrong(key, "must not exceed " + std::to_string(kMaxLayers));
  }
  if (n_layers_ == 0) resize(interval);
  for (size_t i = 0; i < count(); ++i) {
    if ((static_cast<int64_t>(i) + 1) % interval == 0) result_.layers[i].rotates = false;
  }
  reading_.notes.field("layers without rotation", "every " + std::to_string(interval) + "th",
                       given ? Provenance::kFile : Provenance::kFamilyDefault,
                       given ? key : "no_rope_layers and " + key + " are absent");
}

// Llama-4's rotated layers look at the chunk they are in.
void LayersReader::make_chunks() {
  const std::string key = "attention_chunk_size";
  const bool has_none = top_.has(key) && !top_.has_value(key);
  top_.mark(key);
  if (has_none) return;
  constexpr int64_t kDefault = 8192;
  const bool given = top_.has_value(key);
  const int64_t chunk = given ? *top_.size(key) : kDefault;
  reading_.notes.field("chunk", std::to_string(chunk),
                       given ? Provenance::kFile : Provenance::kFamilyDefault,
                       given ? key : key + " is absent");
  reading_.notes.info(key, "rotated layers see the keys of their own chunk of " +
                               std::to_string(chunk) + " tokens only; no scheme string says this");
  for (HfLayer& layer : result_.layers) {
    if (layer.rotates) layer.type = "chunked_attention";
  }
}

}  // namespace

bool has_attention(const std::string& layer_type) {
  return std::ranges::find(kAttention, layer_type) != kAttention.end();
}

HfLayers read_hf_layers(HfReading& reading, int64_t n_layers) {
  return LayersReader(reading, n_layers).read();
}

}  // namespace ropewalk
