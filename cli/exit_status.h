// How a command ends that has done its work and found something.
#ifndef ROPEWALK_CLI_EXIT_STATUS_H_
#define ROPEWALK_CLI_EXIT_STATUS_H_

namespace ropewalk {

// Thrown by a command's callback after it has printed all it has to say; main() exits with it.
struct ExitStatus {
  int code = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_EXIT_STATUS_H_
