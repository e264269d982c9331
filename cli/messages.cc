#include "cli/messages.h"

#include <cstdio>

#include "cli/terminal_text.h"

namespace ropewalk {

void tell(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(const std::string& message) { tell("ropewalk: " + terminal_text(message) + "\n"); }

}  // namespace ropewalk
