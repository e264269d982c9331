#include "ropewalk/engine/text_part.h"

#include <algorithm>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

struct Root {
  const char* body;
  const char* head;
};

constexpr Root kRoots[] = {
    {"model.", "lm_head"},  // Qwen2-VL as published, beside visual.
    {"model.language_model.", "lm_head"},
    {"language_model.model.", "language_model.lm_head"},
    {"language_model.", "lm_head"},  // of a class without a head
    {"model.text_model.", "lm_head"},
};

constexpr const char* kTowers[] = {
    "vision_tower.",
    "vision_model.",
    "visual.",
    "multi_modal_projector.",
    "vision_projection.",
    "connector.",
    "image_newline",
    "audio_tower.",
    "mlp1.",
    "patch_merger.",
    "vision_language_adapter.",
    "vision_encoder.",
};

bool in_use(const TensorSource& source, const std::string& start) {
  return std::ranges::any_of(source.tensors(),
                             [&](const TensorInfo& info) { return info.name.starts_with(start); });
}

const Root& find_root(const TensorSource& source) {
  const Root* found = nullptr;
  std::string known;
  for (const Root& root : kRoots) {
    const std::string layers = std::string(root.body) + "layers.";
    known += (known.empty() ? "" : ", ") + layers;
    if (!in_use(source, layers)) continue;
    if (found != nullptr) {
      throw Error(source.name(), "must hold one text model",
                  "tensors of " + std::string(found->body) + "layers. and " + layers)
          .of(FaultKind::kConflict);
    }
    found = &root;
  }
  if (found != nullptr) return *found;
  throw Error(source.name(), "must hold a text model: tensors of one of " + known, "none of them")
      .of(FaultKind::kMissingKey);
}

}  // namespace

TextPart find_text_part(const TensorSource& source) {
  const Root& root = find_root(source);
  TextPart part{.body = root.body, .head = root.head, .towers = {}, .left_out = 0};
  for (const char* const tower : kTowers) {
    for (const std::string& start : {std::string(tower), "model." + std::string(tower)}) {
      if (in_use(source, start)) part.towers.push_back(start);
    }
  }
  part.left_out = std::ranges::count_if(source.tensors(), [&](const TensorInfo& info) {
    return std::ranges::any_of(
        part.towers, [&](const std::string& start) { return info.name.starts_with(start); });
  });
  return part;
}

void move_names(const TextPart& part, TensorNames& names) {
  const TextPart own;
  const auto move = [&](std::string& name) {
    if (name.starts_with(own.body)) {
      name.replace(0, own.body.size(), part.body);
    } else if (name.starts_with(own.head)) {
      name.replace(0, own.head.size(), part.head);
    }
  };
  move(names.layer);
  for (Rename& rename : names.renames) move(rename.theirs);
  names.ignored_starts = part.towers;
}

}  // namespace ropewalk
