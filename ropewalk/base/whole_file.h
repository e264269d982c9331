// All bytes of what a user names: a file, or what a process sends through a pipe.
#ifndef ROPEWALK_BASE_WHOLE_FILE_H_
#define ROPEWALK_BASE_WHOLE_FILE_H_

#include <cstddef>
#include <string>

namespace ropewalk {

// Never waits for somebody to open a pipe: one without a writer is empty. Throws Error naming the path
// where it cannot be read, is no regular file and no pipe (a folder, a device), or holds more than
// `most` bytes.
std::string read_whole_file(const std::string& path, size_t most);

// The same of a descriptor that is open, whatever it stands for, up to its end.
//   place  names it in messages
std::string read_whole_stream(int descriptor, const std::string& place, size_t most);

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_WHOLE_FILE_H_
