// Files that commands write their results into.
#ifndef ROPEWALK_CLI_RESULT_FILE_H_
#define ROPEWALK_CLI_RESULT_FILE_H_

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// Throws Error where `output` is one of `inputs`, by whatever name or link.
//   option  that names the output
void refuse_inputs(const std::string& option, const std::string& output,
                   const std::vector<std::string>& inputs);

// Throws Error where a result must not be written to `output`: where that is an input, no regular
// file, or holds anything but a result of the same kind, and where no file can be made there.
//   beginning  of every file of this kind
void check_result(const std::string& option, const std::string& output, std::string_view beginning,
                  const std::vector<std::string>& inputs);

// Whole or not at all. Throws Error where the system refuses.
void write_result(const std::string& output, std::string_view content);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_RESULT_FILE_H_
