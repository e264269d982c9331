// What the command says on standard error. Where that cannot be written, words are lost and the work
// goes on.
#ifndef ROPEWALK_CLI_MESSAGES_H_
#define ROPEWALK_CLI_MESSAGES_H_

#include <string>

namespace ropewalk {

// As it is.
void tell(const std::string& text);

// "ropewalk: MESSAGE" on a line of its own, whatever a file's name in it may hold.
void complain(const std::string& message);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_MESSAGES_H_
