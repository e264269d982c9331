// One parameter's value, between the text of a scheme string and its type.
#ifndef ROPEWALK_SCHEMES_PARAM_VALUE_H_
#define ROPEWALK_SCHEMES_PARAM_VALUE_H_

#include <string>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {

// Throws Error where the text breaks the parameter's type or bounds.
//   place  named in the Error: "scheme cap, parameter window"
ParamValue parse_param_value(const ParamInfo& param, const std::string& place,
                             const std::string& text);

// Text that parses to the same value; lists written out.
std::string to_text(const ParamValue& value);

// What the parameter takes, for help and documents: "number >= 1", "zero|freeze", "first:last".
std::string describe_type(const ParamInfo& param);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_PARAM_VALUE_H_
