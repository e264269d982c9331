// The ranks of one job: processes that Open MPI's mpirun has started together. All that is asked of
// it is who one is, which it tells by the environment: no MPI library is needed.
#ifndef ROPEWALK_STUDY_RANKS_H_
#define ROPEWALK_STUDY_RANKS_H_

#include <functional>
#include <optional>
#include <string>

namespace ropewalk {

struct Ranks {
  int rank = 0;  // from 0
  int size = 2;
  int local_size = 1;  // ranks on this machine, this one included
  std::string job;     // equal for all ranks of a job, and for no other
};

// Nothing without mpirun, and where there is one rank alone.
//   variable  a variable of the environment by its name, null where it is not set
// Throws Error, naming the variable, where one is missing or says what cannot be.
std::optional<Ranks> read_ranks(const std::function<const char*(const char*)>& variable);

// Threads of each rank, at least one, so that those on one machine share its cores.
//   cores    of the machine
//   allowed  cores that this process may run on: mpirun may have bound it to some
int threads_of_a_rank(const Ranks& ranks, int cores, int allowed);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RANKS_H_
