// What nlohmann-json says of a value that is not what was asked for, in words for people.
#ifndef ROPEWALK_BASE_JSON_REASON_H_
#define ROPEWALK_BASE_JSON_REASON_H_

#include <exception>
#include <string>

namespace ropewalk {

// "type must be string, but is number": without the exception's name and number that go before it.
inline std::string json_reason(const std::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return text.starts_with("[json.exception.") && end != std::string::npos ? text.substr(end + 2)
                                                                          : text;
}

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_JSON_REASON_H_
