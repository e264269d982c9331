// The objects in which a config.json declares its rotation: rope_scaling, or rope_parameters since
// transformers 5, flat or with a block for each layer type.
#ifndef ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_
#define ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_

#include <deque>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/config/hf_layers.h"
#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

// What makes scheme strings of a block: hf_scaling.h.
enum class HfScalingRule {
  kPlain,
  kLinear,
  kDynamic,
  kYarn,
  kLlama3,
  kLongrope,
  kNtk,
  kAlpha,
  kProportional,
};

// A rope_type, canonical where it has several names.
struct HfScalingType {
  std::string_view name;
  HfScalingRule rule;
};
std::span<const HfScalingType> hf_scaling_types();

// Where the keys of one layer type may stand. Points into HfBlocks and the document.
class HfKeys {
 public:
  // What the block says of the type, canonical: "default" where it says nothing.
  std::string type = "default";
  std::string type_key;  // as it was spelled: "rope_type", "type"; empty where the type is absent

  // The block with the scaling of these layers; null where they have none.
  JsonFields* block = nullptr;

  // The block first, then others that declare the same, then the top level.
  std::vector<JsonFields*> holders;
  bool must_agree = true;  // else the first one that has a key counts

  // The first holder in which the key is not null; null where there is none. The key counts as
  // read in all. Throws Error where two differ that must not.
  JsonFields* find(const std::string& key) const;
};

class HfBlocks {
 public:
  // Finds the blocks. Two forms or spellings that say different things, unknown types, and blocks
  // that mix layer types with keys are refused with an Error naming the key.
  HfBlocks(HfReading& reading, const HfLayers& layers);
  HfBlocks(const HfBlocks&) = delete;
  HfBlocks& operator=(const HfBlocks&) = delete;

  bool is_nested() const { return nested_; }

  // Whether the file says that these layers are not rotated: null in place of a block.
  bool says_none(const std::string& layer_type) const;

  // Throws Error where a nested form leaves the layer type out.
  HfKeys keys(const std::string& layer_type);

  // Keys of the blocks that nobody read.
  void note_unread();

 private:
  struct Block {
    std::string label;             // layer type, or empty for all
    JsonFields* fields = nullptr;  // null: the file has null
    std::string type;
    std::string type_key;
  };

  JsonFields* add(const nlohmann::ordered_json& object, const std::string& path);
  void add_block(const std::string& label, const nlohmann::ordered_json& object,
                 const std::string& path);
  const Block* find(const std::string& layer_type) const;
  void add_nested(const nlohmann::ordered_json& object);
  void compare_forms(const nlohmann::ordered_json& legacy, const nlohmann::ordered_json& modern);
  void compare_labels(const nlohmann::ordered_json& chosen, const nlohmann::ordered_json& other,
                      const std::string& other_path);
  void compare_flat(const nlohmann::ordered_json& chosen, const nlohmann::ordered_json& other,
                    const std::string& other_path);
  bool is_same(const Block& block, const nlohmann::ordered_json& chosen, JsonFields& twin,
               const nlohmann::ordered_json& other);
  Error forms_differ(const std::string& where) const;
  void add_defaults();

  HfReading& reading_;
  std::vector<std::string> layer_types_;
  bool nested_ = false;
  std::string path_;                // "rope_scaling", "rope_parameters"
  std::deque<JsonFields> storage_;  // of all blocks, in order
  std::vector<Block> blocks_;       // one, or one for each layer type
  JsonFields* twin_ = nullptr;      // the other form where both are there, flat
  nlohmann::ordered_json defaults_;
};

// A key of a block that some type reads.
struct HfScalingKey {
  enum class Says {
    kBeside,       // nothing of the scaling
    kScaling,      // of the scaling; a block of another type may misread it
    kInformation,  // nothing that counts
  };

  std::string_view name;
  Says says;
};
std::span<const HfScalingKey> hf_scaling_keys();

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_
