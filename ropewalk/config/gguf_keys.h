// The "<architecture>.*" keys of a GGUF file: typed and ranged reading that remembers what was
// read.
#ifndef ROPEWALK_CONFIG_GGUF_KEYS_H_
#define ROPEWALK_CONFIG_GGUF_KEYS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// A value as text: the shortest decimal that reads back the same, of a float32 as a float32.
std::string spelled(const GgufValue& value);

// A `suffix` is the key without its architecture: "rope.freq_base" for "llama.rope.freq_base".
// Getters return nothing where the key is absent and throw Error, naming the key, where its type or
// range does not fit.
class GgufKeys {
 public:
  // Throws Error where general.architecture is missing.
  explicit GgufKeys(const GgufFile& file);

  const std::string& architecture() const { return architecture_; }

  std::string key(std::string_view suffix) const;    // "llama.rope.freq_base"
  std::string place(std::string_view suffix) const;  // "model.gguf: llama.rope.freq_base"
  bool has(std::string_view suffix) const;

  // As the file spells it; empty where the key is absent.
  std::string spelled(std::string_view suffix) const;

  bool is_list(std::string_view suffix) const;

  std::optional<int64_t> size(std::string_view suffix);   // an integer in [1, 2^31]
  std::optional<int64_t> count(std::string_view suffix);  // an integer in [0, 2^31]
  std::optional<double> number(std::string_view suffix);  // finite; a float32's exact value
  std::optional<bool> flag(std::string_view suffix);
  std::optional<std::string> text(std::string_view suffix);

  // A list of integers in [0, 2^31] or of bools, or one of either that stands for n of them. Throws
  // Error where a list has fewer than n.
  //   n  0: unknown; one number is then a list of one
  std::optional<std::vector<int64_t>> counts(std::string_view suffix, int64_t n);

  // Counts as read.
  void mark(std::string_view suffix);

  // Keys, in file order, that start with one of the prefixes and that nobody asked for.
  std::vector<std::string> unread(std::initializer_list<std::string_view> prefixes) const;

 private:
  void check_count(std::string_view suffix, int64_t value) const;

  const GgufFile& file_;
  std::string architecture_;
  std::set<std::string> read_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_KEYS_H_
