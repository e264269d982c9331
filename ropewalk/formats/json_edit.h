// JSON texts with some values changed, everything else as it was spelled.
#ifndef ROPEWALK_FORMATS_JSON_EDIT_H_
#define ROPEWALK_FORMATS_JSON_EDIT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ropewalk {

// `text` with what differs between `before` and `after` changed. Members of objects that are in
// both keep their place, and where they are equal their spelling, numbers included: 1e-5 stays 1e-5.
// What is new in an object comes last, laid out as its neighbours are. Arrays that differ are
// written anew.
//   text    one JSON document, which parse_json() takes
//   before  what it parses to
std::string edited_json(std::string_view text, const nlohmann::ordered_json& before,
                        const nlohmann::ordered_json& after);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_JSON_EDIT_H_
