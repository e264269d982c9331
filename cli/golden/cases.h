// The cases of a folder.
#ifndef ROPEWALK_CLI_GOLDEN_CASES_H_
#define ROPEWALK_CLI_GOLDEN_CASES_H_

#include <filesystem>
#include <string>
#include <vector>

namespace ropewalk::golden {

// Case files in order of their paths: those of `folder`, and where it has an index.json or none of
// its own, those of the folders in it. Lists (index.json, and atlas.json beside it) are no cases; a
// file that the index lists and that is not there is among the paths all the same.
// Throws Error where the folder cannot be read or holds no case.
std::vector<std::filesystem::path> case_files(const std::filesystem::path& folder);

}  // namespace ropewalk::golden

#endif  // ROPEWALK_CLI_GOLDEN_CASES_H_
