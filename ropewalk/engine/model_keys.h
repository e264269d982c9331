// ModelKeys: what a model file says beside sizes and positions, by name, from either kind of file.
#ifndef ROPEWALK_ENGINE_MODEL_KEYS_H_
#define ROPEWALK_ENGINE_MODEL_KEYS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// Numbers, flags and words. Where both kinds of file have a number, two names are given: GGUF's
// without its architecture ("attention.scale"), and config.json's, which may lie in an object
// ("attn_config.clip_qkv") or be the first entry of a list ("architectures.0").
class ModelKeys {
 public:
  explicit ModelKeys(bool is_gguf = false) : is_gguf_(is_gguf) {}  // none at all
  static ModelKeys of(const GgufFile& file);
  //   place  names the file in messages
  //   path   of `config` inside it, empty for the whole: "text_config"
  static ModelKeys of(const nlohmann::ordered_json& config, const std::string& place,
                      const std::string& path = {});

  bool is_gguf() const { return is_gguf_; }

  // Nothing where the key is absent or null. Throw Error, naming the key, where it holds another
  // type or is not finite.
  std::optional<double> number(const std::string& gguf, const std::string& hf = "") const;
  std::optional<int64_t> whole(const std::string& gguf, const std::string& hf = "") const;
  std::optional<bool> flag(const std::string& gguf, const std::string& hf = "") const;
  std::optional<std::string> text(const std::string& gguf, const std::string& hf = "") const;

  // Whether config.json says null, where that is not the same as saying nothing.
  bool is_null(const std::string& hf) const { return nulls_.contains(hf); }

  // The same, and throws Error where it is absent.
  int64_t needed(const std::string& gguf, const std::string& hf = "") const;

 private:
  struct List {};  // of anything
  using Value = std::variant<bool, double, std::string, List>;

  const Value* find(const std::string& gguf, const std::string& hf) const;
  const std::string& name(const std::string& gguf, const std::string& hf) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& rule) const;

  bool is_gguf_;
  std::string place_;  // "model.gguf: llama."
  std::map<std::string, Value> values_;
  std::set<std::string> nulls_;  // of config.json, at its top
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_MODEL_KEYS_H_
