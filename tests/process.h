// A program that runs beside a test, and may be killed.
#ifndef ROPEWALK_TESTS_PROCESS_H_
#define ROPEWALK_TESTS_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

class Process {
 public:
  //   more  variables of its environment, beside the test's own
  Process(const std::vector<std::string>& arguments, const std::filesystem::path& out,
          const std::filesystem::path& error, const std::map<std::string, std::string>& more = {}) {
    id_ = fork();
    if (id_ != 0) return;
    const auto redirect = [](const std::filesystem::path& path, int to) {
      const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      if (file < 0 || dup2(file, to) < 0) _exit(126);
    };
    redirect(out, STDOUT_FILENO);
    redirect(error, STDERR_FILENO);
    for (const auto& [name, value] : more) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  Process(Process&& other) noexcept
      : id_(std::exchange(other.id_, -1)), status_(other.status_), done_(other.done_) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (id_ > 0) kill_now();
  }

  bool running() {
    if (!done_ && waitpid(id_, &status_, WNOHANG) != 0) done_ = true;
    return !done_;
  }
  void kill_now() {
    if (running()) kill(id_, SIGKILL);
    wait();
  }
  // The exit status; -1 where a signal ended it.
  int wait() {
    if (!done_) waitpid(id_, &status_, 0);
    done_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t id_ = -1;
  int status_ = -1;
  bool done_ = false;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTS_PROCESS_H_
