#include "cli/option_checks.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace ropewalk {

CLI::Validator names_file() {
  return {[](std::string& name) { return name.empty() ? "must name a file" : ""; }, "FILE"};
}

CLI::Validator names_output() {
  return {[](std::string& name) {
            if (name.empty()) return "must name a file";
            return name == "-" ? "must name a file: ./- where that is its name" : "";
          },
          "FILE"};
}

CLI::Validator whole_number() {
  return {[](std::string& text) {
            uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && stop == end) return std::string();
            return "must be a whole number from 0 to 18446744073709551615, got '" + text + "'";
          },
          "NUMBER"};
}

CLI::Validator finite_number() {
  return {[](std::string& text) {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && std::isfinite(value))
              return std::string();
            return "must be a number, got '" + text + "'";
          },
          ""};
}

}  // namespace ropewalk
