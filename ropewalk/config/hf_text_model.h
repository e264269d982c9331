// The object of a config.json that describes the text model: the whole, or what a multimodal one
// wraps.
#ifndef ROPEWALK_CONFIG_HF_TEXT_MODEL_H_
#define ROPEWALK_CONFIG_HF_TEXT_MODEL_H_

#include <memory>
#include <string>

#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

// The same, for readers of other keys.
struct HfTextPart {
  const nlohmann::ordered_json* object = nullptr;  // inside the document, or the whole
  std::string path;                                // "text_config"; empty: the whole
  bool among_others = false;                       // there are towers for images or sounds, too
};
HfTextPart find_hf_text_part(const nlohmann::ordered_json& document);

class HfTextModel {
 public:
  // Throws Error where there is no model_type, or one that is not known.
  //   document  must outlive this
  HfTextModel(const nlohmann::ordered_json& document, const std::string& file);

  JsonFields& fields() { return *fields_; }
  const HfFamily& family() const { return *family_; }
  const std::string& model_type() const { return model_type_; }

  bool is_wrapped() const { return fields_.get() != outside_.get(); }

  // Throws Error where it is wrapped by a model that is not known to leave a text without images as
  // its text model alone would read it.
  void require_text_alone();

  // Throws Error where a flag of the model or of its wrapper is neither true nor false.
  void refuse_other_than_flags() const;

  // What the wrapper holds beside the text model: towers for images and sounds, and position keys
  // that say other things than the text model's.
  void note_outside(HfNotes& notes);

 private:
  std::shared_ptr<JsonFields> outside_;
  std::shared_ptr<JsonFields> fields_;
  const HfFamily* family_ = nullptr;
  std::string model_type_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_TEXT_MODEL_H_
