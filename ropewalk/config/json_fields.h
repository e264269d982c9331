// One object of a config.json: typed and ranged reading that remembers what was read.
#ifndef ROPEWALK_CONFIG_JSON_FIELDS_H_
#define ROPEWALK_CONFIG_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {

// Getters return nothing where the key is absent, and throw Error naming it where type or range
// does not fit. A null is of the wrong type for all but has_value().
class JsonFields {
 public:
  //   object  an object; must outlive this
  //   file    names the document in messages
  //   path    of the object inside it, empty for the whole: "rope_scaling"
  JsonFields(const nlohmann::ordered_json& object, std::string file, std::string path = {});

  std::string name(const std::string& key) const;   // "rope_scaling.factor"
  std::string place(const std::string& key) const;  // "config.json: rope_scaling.factor"

  bool has(const std::string& key) const { return find(key) != nullptr; }
  bool has_value(const std::string& key) const;  // present and not null

  // Null where the key is absent. Counts as read.
  const nlohmann::ordered_json* raw(const std::string& key);

  // The same, not counted as read.
  const nlohmann::ordered_json* raw_unread(const std::string& key) const { return find(key); }

  // As the file spells it.
  std::string spelled(const std::string& key) const;

  std::optional<int64_t> size(const std::string& key);   // an integer in [1, 2^53]
  std::optional<double> number(const std::string& key);  // finite, not a bool
  std::optional<bool> flag(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  std::optional<std::vector<double>> numbers(const std::string& key);  // each finite
  const nlohmann::ordered_json* object(const std::string& key);        // null: absent or null
  const nlohmann::ordered_json* list(const std::string& key);          // null: absent or null

  double required_number(const std::string& key);
  int64_t count(const std::string& key);  // present; an integer in [0, 2^53]
  int64_t required_size(const std::string& key);

  // Counts as read.
  void mark(const std::string& key) { read_.insert(key); }
  bool is_read(const std::string& key) const { return read_.contains(key); }

  // Nobody wrote this object: it is what the model type takes where a file has none.
  void set_defaults() { is_defaults_ = true; }
  bool is_defaults() const { return is_defaults_; }

  // The first of the keys that is there and not null; empty where none is. All count as read. Two
  // that differ are refused: they are spellings of one setting.
  std::string spelling(const std::vector<std::string>& keys);

  // Keys in the file's order that nobody asked for.
  std::vector<std::string> unread() const;

  Error missing(const std::string& key, const std::string& mend = {}) const;
  Error wrong(const std::string& key, const std::string& rule,
              FaultKind kind = FaultKind::kOutOfRange) const;

 private:
  const nlohmann::ordered_json* find(const std::string& key) const;

  const nlohmann::ordered_json* object_;
  std::string file_;
  std::string path_;
  std::set<std::string> read_;
  bool is_defaults_ = false;
};

// `value` as one short line.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_JSON_FIELDS_H_
