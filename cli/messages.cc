#include "cli/messages.h"

#include <cstdio>

#include "ropewalk/formats/printable.h"

namespace ropewalk {

void tell(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(const std::string& message) {
  tell("ropewalk: " + printable(message, message.size()) + "\n");
}

}  // namespace ropewalk
