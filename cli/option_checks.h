// What values options may have, beyond what CLI11 knows of.
#ifndef ROPEWALK_CLI_OPTION_CHECKS_H_
#define ROPEWALK_CLI_OPTION_CHECKS_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

// Refuses an empty name, which would stand for no file.
CLI::Validator names_file();

// The same of a file to be written: "-" is no standard output.
CLI::Validator names_output();

// Digits alone, of a number below 2^64: what does not fit is otherwise taken for another number.
CLI::Validator whole_number();

// Refuses nan, which lies within any range, and an empty text.
CLI::Validator finite_number();

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_OPTION_CHECKS_H_
