// Where fields and findings go while a config.json is read, and what all parts of the reader share.
#ifndef ROPEWALK_CONFIG_HF_NOTES_H_
#define ROPEWALK_CONFIG_HF_NOTES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/config/engine_remarks.h"
#include "ropewalk/config/hf_class_sizes.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/json_fields.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

struct HfNotes {
  std::vector<DeclaredField> fields;
  std::vector<Finding> findings;

  void field(std::string name, std::string value, Provenance provenance, std::string from);

  // A value as the file spells it, or as the model type's own block has it.
  void field_of_key(std::string name, const JsonFields& from, const std::string& key);

  // None twice.
  //   key  as the file has it: "rope_scaling.factor"
  void info(const std::string& key, const std::string& text,
            FaultKind kind = FaultKind::kUnspecified);
  void warn(const std::string& key, const std::string& text, FaultKind kind);
  void add(Finding finding);

  //   fills  what the {} of its text stand for, in order
  void remark(const std::string& key, const EngineRemark& remark,
              std::initializer_list<std::string> fills = {});

  // Marks a key that counts for nothing here, and says so where it has a value.
  //   why  "layer_types says which layers they are"
  void unused(JsonFields& from, const std::string& key, const std::string& why);
};

// Most positions that a file declares, before any scaling is looked at.
struct HfLength {
  int64_t positions = 0;  // 0: unknown
  std::string key;  // "max_position_embeddings"; empty where the model type's default is taken
  bool is_default() const { return key.empty(); }
};

// A document under reading.
struct HfReading {
  std::string file;        // names it in messages
  JsonFields& top;         // the object that describes the text model
  const HfFamily& family;  // of its model type
  HfNotes& notes;          // of all layers
  // What a text model that is wrapped takes where it says no size; null: absent ones are unknown.
  const HfClassSizes* class_sizes = nullptr;

  std::optional<HfLength> length;  // kept by read_hf_length
};

// "a|b" as {"a", "b"}; the spellings of one key in the table of families.
std::vector<std::string> spellings(std::string_view keys);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_NOTES_H_
