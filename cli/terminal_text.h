// Text that goes to a terminal, whatever a stranger put into it.
#ifndef ROPEWALK_CLI_TERMINAL_TEXT_H_
#define ROPEWALK_CLI_TERMINAL_TEXT_H_

#include <string>
#include <string_view>

namespace ropewalk {

// `text` as printable() has it, uncut, with bytes that are no UTF-8 as \xNN: names of files may hold
// any.
std::string terminal_text(std::string_view text);

// The same of a text: line breaks and tabs stay.
std::string terminal_lines(std::string_view text);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_TERMINAL_TEXT_H_
