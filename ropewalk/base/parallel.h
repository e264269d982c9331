// The one way in which work is shared between threads.
#ifndef ROPEWALK_BASE_PARALLEL_H_
#define ROPEWALK_BASE_PARALLEL_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

namespace ropewalk {

// Calls body(index, state) once for every 0 <= index < n, on all threads OpenMP offers; which thread
// gets which index is left open, so indices must not depend on each other.
//   make_state  makes what one thread keeps between its indices: scratch memory
// The first exception of make_state or body is thrown again on the calling thread, when all threads
// have ended; indices that were not begun by then are left out.
template <typename MakeState, typename Body>
void parallel_for(int64_t n, const MakeState& make_state, const Body& body) {
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  const auto guarded = [&](const auto& work) {
    try {
      if (!failed) work();
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
#pragma omp parallel
  {
    using State = decltype(make_state());
    std::unique_ptr<State> state;
    guarded([&] { state = std::make_unique<State>(make_state()); });
#pragma omp for schedule(dynamic, 1)
    for (int64_t index = 0; index < n; ++index) {
      guarded([&] {
        if (state != nullptr) body(index, *state);
      });
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_PARALLEL_H_
