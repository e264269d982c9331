// Source: transformers, configuration_<model type>.py and modeling_rope_utils.py.
#include "ropewalk/config/hf_width.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// A rotated share of the head, and where it is from.
struct Share {
  double value = 1;
  JsonFields* fields = nullptr;  // null: the model type's default
  std::string key;
};

class WidthReader {
 public:
  WidthReader(HfReading& reading, const HfKeys& keys, const std::string& layer_type,
              const HfHead& head, HfNotes& notes)
      : reading_(reading),
        family_(reading.family),
        keys_(keys),
        layer_type_(layer_type),
        head_(head),
        notes_(notes) {}

  HfWidth read() {
    HfWidth width;
    width.layout.order = read_order();
    width.layout.head_dim = head_.rotated;
    const Share share = read_share();
    if (keys_.type == "proportional") {
      require_even_head();
      width.layout.rotary_dim = head_.rotated;
      width.rotating = rotating_pairs(share);
    } else {
      width.layout.rotary_dim = read_rotary_dim(share);
    }
    return width;
  }

 private:
  PairOrder read_order();
  Share read_share();
  static Share checked(const Share& share);
  int64_t width_of(const Share& share) const;
  int64_t rotating_pairs(const Share& share);
  int64_t read_rotary_dim(const Share& share);
  int64_t explicit_width(const std::string& key, const Share& share);
  int64_t latent_width();
  int64_t default_width();
  int64_t share_width(const Share& share);
  void require_even_head() const;
  void note_converter(int64_t width);

  HfReading& reading_;
  const HfFamily& family_;
  const HfKeys& keys_;
  const std::string& layer_type_;
  const HfHead& head_;
  HfNotes& notes_;
};

PairOrder WidthReader::read_order() {
  const std::string key(family_.order_key);
  if (!key.empty() && reading_.top.has_value(key)) {
    const bool interleaved = *reading_.top.flag(key);
    notes_.field("layout", interleaved ? "interleaved" : "half", Provenance::kFile, key);
    return interleaved ? PairOrder::kInterleaved : PairOrder::kHalf;
  }
  if (!key.empty()) reading_.top.mark(key);
  notes_.field("layout", family_.order == PairOrder::kHalf ? "half" : "interleaved",
               Provenance::kFamilyDefault, "implied by model_type " + std::string(family_.name));
  return family_.order;
}

Share WidthReader::read_share() {
  const std::string general = "partial_rotary_factor";
  Share share = {.value = family_.fraction, .key = general};
  if (JsonFields* const fields = keys_.find(general)) share.fields = fields;
  const std::string lists = "partial_rotary_factors";
  if (family_.lists_by_layer && reading_.top.has_value(lists)) {
    const HfLayerValue value = value_of_hf_layers(reading_.top, lists, layer_type_);
    share = {.value = value.number, .fields = &reading_.top, .key = lists};
    return checked(share);
  }
  const std::string own = reading_.top.spelling(spellings(family_.fraction_keys));
  if (!own.empty()) {
    const double value = *reading_.top.number(own);
    if (share.fields != nullptr && *share.fields->number(general) != value) {
      throw reading_.top.wrong(
          own,
          "must agree with " + share.fields->name(general) + " " + share.fields->spelled(general),
          FaultKind::kConflict);
    }
    share.fields = &reading_.top;
    share.key = own;
  }
  if (share.fields == nullptr) return share;
  share.value = *share.fields->number(share.key);
  return checked(share);
}

Share WidthReader::checked(const Share& share) {
  if (share.value > 0 && share.value <= 1) return share;
  throw share.fields->wrong(share.key, "must be above 0, at most 1");
}

// Cut off, not rounded: int(192 * 0.334) is 64.
int64_t WidthReader::width_of(const Share& share) const {
  return static_cast<int64_t>(static_cast<double>(head_.rotated) * share.value);
}

// Of the whole head in halves; the others stand still.
int64_t WidthReader::rotating_pairs(const Share& share) {
  const auto pairs =
      static_cast<int64_t>(std::floor(share.value * static_cast<double>(head_.rotated) / 2));
  if (pairs < 1) {
    throw reading_.top.wrong(share.key, "must leave one pair at least that turns");
  }
  notes_.field("rotary_dim", std::to_string(head_.rotated), Provenance::kDerived,
               "proportional: the whole head");
  if (share.fields != nullptr && share.fields->is_defaults()) {
    notes_.field("rotating_pairs", std::to_string(pairs), Provenance::kFamilyDefault,
                 "the model type's own partial_rotary_factor");
  } else if (share.fields != nullptr) {
    notes_.field("rotating_pairs", std::to_string(pairs), Provenance::kDerived,
                 "head_dim * " + share.fields->name(share.key) + " " +
                     share.fields->spelled(share.key) + " / 2");
  } else {
    notes_.field("rotating_pairs", std::to_string(pairs), Provenance::kFamilyDefault,
                 "partial_rotary_factor is absent: every pair");
  }
  return pairs;
}

int64_t WidthReader::read_rotary_dim(const Share& share) {
  if (family_.mla_rope != 0) return latent_width();
  const std::string key = reading_.top.spelling({"rotary_dim", "rotary_ndims"});
  if (!key.empty()) return explicit_width(key, share);
  if (share.fields != nullptr) return share_width(share);
  return default_width();
}

int64_t WidthReader::latent_width() {
  const std::string key = "qk_rope_head_dim";
  const int64_t width = head_.rotated;
  if (width % 2 != 0) {
    throw reading_.top.wrong(key, "must be even", FaultKind::kOddDimension);
  }
  if (reading_.top.has_value(key)) {
    notes_.field_of_key("rotary_dim", reading_.top, key);
  } else {
    notes_.field("rotary_dim", std::to_string(width), Provenance::kFamilyDefault,
                 key + " is absent");
  }
  notes_.field("rotated part",
               "the last " + std::to_string(width) + " of " + std::to_string(head_.dim),
               Provenance::kFamilyDefault,
               "model_type " + std::string(family_.name) + ": the others carry no position");
  return width;
}

int64_t WidthReader::explicit_width(const std::string& key, const Share& share) {
  const JsonFields& top = reading_.top;
  const int64_t width = *reading_.top.size(key);
  if (width % 2 != 0) throw top.wrong(key, "must be even", FaultKind::kOddDimension);
  if (width > head_.rotated) {
    throw top.wrong(key, "must not exceed head_dim " + std::to_string(head_.rotated));
  }
  if (share.fields != nullptr && width_of(share) != width) {
    throw top.wrong(
        key,
        "must agree with " + share.fields->name(share.key) + ": " + std::to_string(width_of(share)),
        FaultKind::kConflict);
  }
  notes_.field_of_key("rotary_dim", top, key);
  return width;
}

int64_t WidthReader::share_width(const Share& share) {
  const int64_t width = width_of(share);
  if (width < 2 || width % 2 != 0) {
    throw share.fields->wrong(share.key,
                              "must give an even width, gives " + std::to_string(width) + " of " +
                                  std::to_string(head_.rotated),
                              FaultKind::kOddDimension);
  }
  notes_.field(
      "rotary_dim", std::to_string(width), Provenance::kDerived,
      "head_dim * " + share.fields->name(share.key) + " " + share.fields->spelled(share.key));
  note_converter(width);
  return width;
}

void WidthReader::require_even_head() const {
  if (head_.rotated % 2 == 0) return;
  throw Error(reading_.top.place(head_.key), "must be even: the whole head is rotated",
              std::to_string(head_.rotated))
      .of(FaultKind::kOddDimension);
}

int64_t WidthReader::default_width() {
  if (family_.rotary_dim > head_.rotated) {
    throw reading_.top.missing("rotary_dim",
                               "the model type's " + std::to_string(family_.rotary_dim) +
                                   " exceed head_dim " + std::to_string(head_.rotated));
  }
  if (family_.rotary_dim != 0) {
    notes_.field("rotary_dim", std::to_string(family_.rotary_dim), Provenance::kFamilyDefault,
                 "rotary_dim is absent");
    return family_.rotary_dim;
  }
  const std::string absent = family_.fraction_keys.empty()
                                 ? "partial_rotary_factor"
                                 : spellings(family_.fraction_keys).front();
  if (family_.fraction == 1) {
    require_even_head();
    notes_.field("rotary_dim", std::to_string(head_.rotated), Provenance::kFamilyDefault,
                 absent + " is absent: the whole head");
    return head_.rotated;
  }
  const int64_t width = width_of({.value = family_.fraction, .fields = nullptr, .key = absent});
  if (width < 2 || width % 2 != 0) {
    throw Error(reading_.top.place(head_.key),
                "must have an even part that is rotated: " + to_text(family_.fraction) +
                    " of it by default",
                std::to_string(head_.rotated))
        .of(FaultKind::kOddDimension);
  }
  notes_.field("rotary_dim", std::to_string(width), Provenance::kFamilyDefault,
               absent + " is absent: " + to_text(family_.fraction) + " of head_dim");
  note_converter(width);
  return width;
}

// llama.cpp's converter cuts the share from hidden_size, whatever the head is.
void WidthReader::note_converter(int64_t width) {
  if (!family_.cut_from_hidden || !reading_.top.has_value("hidden_size") ||
      !reading_.top.has_value("num_attention_heads")) {
    return;
  }
  const int64_t hidden = *reading_.top.size("hidden_size");
  const int64_t heads = *reading_.top.size("num_attention_heads");
  if (hidden == heads * head_.rotated) return;
  const auto rotated =
      static_cast<int64_t>(static_cast<double>(width) / static_cast<double>(head_.rotated) *
                           static_cast<double>(hidden)) /
      heads;
  if (rotated == width) return;
  notes_.remark(head_.key, remarks::kCutFromHidden,
                {std::to_string(width), std::to_string(rotated)});
}

}  // namespace

HfWidth read_hf_width(HfReading& reading, const HfKeys& keys, const std::string& layer_type,
                      const HfHead& head, HfNotes& notes) {
  return WidthReader(reading, keys, layer_type, head, notes).read();
}

}  // namespace ropewalk
