// The one exception type of the library.
#ifndef ROPEWALK_BASE_ERROR_H_
#define ROPEWALK_BASE_ERROR_H_

#include <stdexcept>
#include <string>

namespace ropewalk {

// What sort of fault, for programs that sort them; people read the sentence.
enum class FaultKind {
  kUnspecified,
  kMissingKey,
  kBadType,
  kOutOfRange,
  kOddDimension,
  kNotDivisible,
  kWrongLength,
  kSumMismatch,
  kOrder,  // two values are the wrong way round
  kUnknownValue,
  kConflict,      // two places say different things of one setting
  kInconsistent,  // settings that need not agree, but do in every sound model
  kAssumedValue,  // the file does not say; what is taken is stated
  kDerivedValue,  // the file does not say, other keys imply it
};

// "missing_key", "bad_type" and so on; "unspecified".
std::string to_string(FaultKind kind);

// Thrown where data enters or a value is built: hostile files, wrong parameters, unsupported
// models. A caller's own bug is an assertion instead, never an Error.
//
// what() reads "place: rule, got value; mend", the last two only where given:
//   place  where it went wrong: a file's key, a tensor's name, a parameter ("llama.rope.freq_base")
//   rule   what must hold ("must be positive")
//   value  what was found, as text
//   mend   what the reader can do about it
class Error : public std::runtime_error {
 public:
  Error(std::string place, std::string rule, std::string value = {}, std::string mend = {});

  // The same error, sorted: throw Error(...).of(FaultKind::kOrder).
  Error of(FaultKind kind) const {
    Error sorted = *this;
    sorted.kind_ = kind;
    return sorted;
  }

  FaultKind kind() const { return kind_; }
  const std::string& place() const { return place_; }
  const std::string& rule() const { return rule_; }
  const std::string& value() const { return value_; }
  const std::string& mend() const { return mend_; }

 private:
  std::string place_;
  std::string rule_;
  std::string value_;
  std::string mend_;
  FaultKind kind_ = FaultKind::kUnspecified;
};

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_ERROR_H_
