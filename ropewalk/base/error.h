// The one exception type of the library.
#ifndef ROPEWALK_BASE_ERROR_H_
#define ROPEWALK_BASE_ERROR_H_

#include <stdexcept>
#include <string>

namespace ropewalk {

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

  const std::string& place() const { return place_; }
  const std::string& rule() const { return rule_; }
  const std::string& value() const { return value_; }
  const std::string& mend() const { return mend_; }

 private:
  std::string place_;
  std::string rule_;
  std::string value_;
  std::string mend_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_ERROR_H_
