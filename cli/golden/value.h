// What the library computes for a case, in the shape of the case's own fields, and how near it must
// be to what the case says.
#ifndef ROPEWALK_CLI_GOLDEN_VALUE_H_
#define ROPEWALK_CLI_GOLDEN_VALUE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::golden {

using Json = nlohmann::ordered_json;

// A computed value: an exact one (integer, text, flag, null), a real number, a list or an object.
class Value {
 public:
  Value() = default;  // null

  static Value exact(Json value);
  // Compared within `bound`, or within 4 units in the last place where that is more.
  static Value real(double value, double bound = 0);
  static Value list(std::vector<Value> items = {});
  static Value object();
  // Of which the golden files themselves say two things: what differs is noted, with the reason,
  // and fails nothing.
  static Value disputed(Json value, std::string reason);
  // A text for which the case has other words that mean the same: these are taken, with a note.
  static Value reworded(const std::string& ours, const std::string& theirs);
  // The case's own value of a field that is given, not computed: echoed.
  static Value given(const Json& value);

  // Each real, within 4 units in the last place.
  static Value reals(const std::vector<double>& values);

  Value& set(const std::string& name, Value value);
  Value& push(Value value);

  // What a reader of the result must know of how it was computed.
  Value& note(std::string text);

  // As golden files write it: reals as decimal strings of 17 digits.
  Json to_json() const;

 private:
  friend class Comparison;
  enum class Kind { kExact, kReal, kList, kObject };

  Kind kind_ = Kind::kExact;
  Json exact_;
  std::string dispute_;
  bool is_given_ = false;
  std::vector<std::string> notes_;
  double real_ = 0;
  double bound_ = 0;
  std::vector<Value> items_;
  std::vector<std::pair<std::string, Value>> fields_;
};

struct Failure {
  std::string where;     // field and indices: "variants[2].inv_freq[17]"
  std::string what;      // what was got, what was wanted, and the bound
  bool is_note = false;  // fails nothing
};

// The failures of `computed` against a case, `ignored` fields of its outermost object left out, and
// its notes, each text once. What the case holds and nobody computed is a failure too, and so is a
// case that holds no value to be compared with.
std::vector<Failure> compare(const Value& computed, const Json& golden,
                             const std::vector<std::string>& ignored);

}  // namespace ropewalk::golden

#endif  // ROPEWALK_CLI_GOLDEN_VALUE_H_
