#ifndef ROPEWALK_STUDY_SPACE_H_
#define ROPEWALK_STUDY_SPACE_H_

namespace ropewalk {

// ASCII's white space, whatever the locale.
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SPACE_H_
