// The "model" of a tokenizer.json: what cuts a word into tokens. Source:
// github.com/huggingface/tokenizers.
#ifndef ROPEWALK_TEXT_HF_MODELS_H_
#define ROPEWALK_TEXT_HF_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ropewalk/text/hf_node.h"

namespace ropewalk {

// Looks strings up by views.
struct SpellingHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// The model's own tokens, without those that were added.
class HfVocabulary {
 public:
  // Of equal spellings the last holds. Throws Error on an id that comes twice.
  void add(const std::string& spelling, int32_t id, const std::string& place);

  std::optional<int32_t> find(std::string_view spelling) const;

  // By id; empty where there is no such token. Not longer than the largest id demands.
  const std::vector<std::string>& spellings() const { return spellings_; }

  // The ids of "<0x00>" and on, -1 where there is none.
  std::vector<int32_t> byte_ids() const;

  size_t size() const { return ids_.size(); }

 private:
  std::unordered_map<std::string, int32_t, SpellingHash, std::equal_to<>> ids_;
  std::vector<std::string> spellings_;
};

class HfModel {
 public:
  virtual ~HfModel() = default;

  const HfVocabulary& vocabulary() const { return *vocabulary_; }

  // What stands for text that cannot be spelled, if anything does.
  std::optional<int32_t> unknown() const { return unknown_; }
  bool spells_bytes() const { return spells_bytes_; }

  // Appends the tokens of a word.
  //   word  not empty, any bytes
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;

 protected:
  std::unique_ptr<HfVocabulary> vocabulary_ = std::make_unique<HfVocabulary>();
  std::optional<int32_t> unknown_;
  bool spells_bytes_ = false;
};

// special  spellings of added special tokens: no text builds them
// Throws Error on a type or a setting we do not know.
std::unique_ptr<HfModel> make_hf_model(const HfNode& node,
                                       const std::unordered_set<std::string>& special);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_MODELS_H_
