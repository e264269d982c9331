#include "ropewalk/config/hf_text_model.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "ropewalk/config/hf_flags.h"
#include "ropewalk/config/hf_spelling.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kInside = {"text_config", "llm_config", "language_config",
                                                "thinker_config"};
constexpr std::array<const char*, 4> kTowers = {"vision_config", "audio_config", "vit_config",
                                                "vision_tower_config"};

// What is read by these is read by their text model alone where no image or sound stands in it.
// Logits of Cohere's two are scaled as their text model has it, by transformers 4 and vLLM; only
// transformers 5 leaves that out.
constexpr std::array<std::string_view, 20> kPlainWrappers = {
    "aya_vision",      "cohere2_vision", "gemma3",     "idefics3",    "internvl",
    "internvl_chat",   "llama4",         "llava",      "llava_next",  "llava_next_video",
    "llava_onevision", "mistral3",       "qwen2_5_vl", "qwen2_audio", "qwen2_vl",
    "qwen3_vl",        "qwen3_vl_moe",   "smolvlm",    "vipllava",    "voxtral"};

struct OtherWrapper {
  std::string_view start;  // of model_type
  const char* why;
};

constexpr OtherWrapper kOtherWrappers[] = {
    {"paligemma",
     "it reads a prompt both ways, text alone as well: the losses of its text model are not its "
     "own"},
    {"mllama",
     "it leaves out layers of its text model where there is no image, which is not done here"},
    {"qwen2_5_omni", "its text model lies beside one that speaks, which is not told apart here"},
    {"qwen3_omni", "its text model lies beside one that speaks, which is not told apart here"},
};

std::string known_families() {
  std::string names;
  for (const std::span<const HfFamily> group : hf_families()) {
    for (const HfFamily& family : group) {
      names += (names.empty() ? "" : ", ") + std::string(family.name);
    }
  }
  return names;
}

// The wrapped object, and its path; null where nothing is wrapped. A thinker wraps a text model.
const Json* inside(const Json& object, std::string& path, int deepest = 3) {
  if (deepest == 0) return nullptr;
  for (const char* const key : kInside) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_object()) continue;
    path += (path.empty() ? "" : ".") + std::string(key);
    const Json* const deeper = inside(*found, path, deepest - 1);
    return deeper != nullptr ? deeper : &*found;
  }
  return nullptr;
}

}  // namespace

HfTextPart find_hf_text_part(const Json& document) {
  HfTextPart part{.object = &document};
  if (const Json* const text = inside(document, part.path)) part.object = text;
  part.among_others =
      part.object != &document || std::ranges::any_of(kTowers, [&](const char* key) {
        const auto found = document.find(key);
        return found != document.end() && found->is_object();
      });
  return part;
}

HfTextModel::HfTextModel(const Json& document, const std::string& file)
    : outside_(std::make_shared<JsonFields>(document, file)), fields_(outside_) {
  std::string path;
  const Json* const text = inside(document, path);
  if (text != nullptr) fields_ = std::make_shared<JsonFields>(*text, file, path);
  outside_->mark("model_type");

  const std::string key = "model_type";
  JsonFields* const namer = fields_->has_value(key) ? fields_.get() : outside_.get();
  if (!namer->has_value(key)) throw namer->missing(key);
  model_type_ = *namer->text(key);
  family_ = find_hf_family(model_type_);
  if (family_ == nullptr && is_wrapped() && outside_->has_value(key)) {
    family_ = find_hf_family(*outside_->text(key));
  }
  if (family_ != nullptr) return;
  const std::string_view images = why_not_text(model_type_);
  const std::string nearest = nearest_hf_family(model_type_);
  std::string mend = nearest.empty() ? "" : "did you mean " + nearest + "?";
  if (!images.empty()) mend = "its positions are those of " + std::string(images);
  throw Error(namer->place(key), "must be one whose positions are known (" + known_families() + ")",
              printable(model_type_, 60), mend)
      .of(FaultKind::kUnknownValue);
}

void HfTextModel::require_text_alone() {
  const std::string key = "model_type";
  if (!is_wrapped()) return;
  const std::string wrapper = outside_->has_value(key) ? *outside_->text(key) : "nothing";
  if (std::ranges::find(kPlainWrappers, wrapper) != kPlainWrappers.end()) return;
  std::string names;
  for (const std::string_view name : kPlainWrappers)
    names += (names.empty() ? "" : ", ") + std::string(name);
  const auto* const other = std::ranges::find_if(
      kOtherWrappers, [&](const OtherWrapper& one) { return wrapper.starts_with(one.start); });
  throw Error(outside_->place(key),
              "must be one of those whose text model is run alone (" + names + ")",
              printable(wrapper, 60), other == std::end(kOtherWrappers) ? "" : other->why)
      .of(FaultKind::kUnknownValue);
}

void HfTextModel::refuse_other_than_flags() const {
  ropewalk::refuse_other_than_flags(*fields_);
  if (is_wrapped()) ropewalk::refuse_other_than_flags(*outside_);
}

void HfTextModel::note_outside(HfNotes& notes) {
  if (outside_->has_value("model_type")) {
    notes.field_of_key("wrapper", *outside_, "model_type");
  }
  const std::string type = "model_type";
  if (fields_->has_value(type) && find_hf_family(*fields_->text(type)) == nullptr) {
    notes.unused(*fields_, type, "it is not known, and the wrapper's is");
  }
  for (const char* const key : kTowers) {
    if (!outside_->has_value(key)) continue;
    outside_->mark(key);
    notes.info(key, std::string(key) +
                        " is there: positions of that tower are its own and are not told here");
  }
  // Files that hold the text model's keys twice.
  for (const std::string& key : outside_->unread()) {
    const Json* const other = outside_->raw(key);
    if (!fields_->has_value(key) || other->is_null() || *other == *fields_->raw_unread(key)) {
      continue;
    }
    const bool counts = key.find("rope") != key.npos || key.find("position") != key.npos ||
                        key.find("head") != key.npos || key == "hidden_size";
    if (!counts) continue;
    notes.warn(key,
               key + " = " + outside_->spelled(key) + " beside " + fields_->name(key) + " = " +
                   fields_->spelled(key) + ": the text model's own counts",
               FaultKind::kConflict);
  }
}

}  // namespace ropewalk
