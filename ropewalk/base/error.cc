#include "ropewalk/base/error.h"

#include <utility>

namespace ropewalk {
namespace {

std::string sentence(const std::string& place, const std::string& rule, const std::string& value,
                     const std::string& mend) {
  std::string text = place.empty() ? rule : place + ": " + rule;
  if (!value.empty()) text += ", got " + value;
  if (!mend.empty()) text += "; " + mend;
  return text;
}

}  // namespace

Error::Error(std::string place, std::string rule, std::string value, std::string mend)
    : std::runtime_error(sentence(place, rule, value, mend)),
      place_(std::move(place)),
      rule_(std::move(rule)),
      value_(std::move(value)),
      mend_(std::move(mend)) {}

}  // namespace ropewalk
