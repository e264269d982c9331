// How fast the engine goes through a model: one line of JSON for each repetition.
//
//   model_speed MODEL PROMPT DECODED THREADS PRECISION REPEATS
//
// PROMPT tokens are read at once, with the losses of all of them; then as many are read into a cache and DECODED more one
// by one, with their logits. Prints {"prefill": seconds, "decode": seconds, "peak": KiB}. PRECISION is f32 or bf16.
#include <omp.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ropewalk/engine/model.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(char** argv) {
  using namespace ropewalk;
  const int prompt = std::atoi(argv[2]), decoded = std::atoi(argv[3]);
  omp_set_num_threads(std::atoi(argv[4]));
  const auto precision = std::string(argv[5]) == "f32" ? Precision::kF32 : Precision::kBf16;
  const Model model = Model::load(argv[1], precision);
  const Positions positions = make_positions(model.config(), {});
  const auto n_vocab = static_cast<int>(model.config().shape.vocabulary);
  for (int repeat = 0; repeat < std::atoi(argv[6]); ++repeat) {
    std::vector<int32_t> ids;
    for (int t = 0; t < prompt; ++t) ids.push_back(3 + (t * 7919 + repeat * 31) % (n_vocab - 3));
    auto start = std::chrono::steady_clock::now();
    model.losses(ids, positions);
    const double prefill = seconds_since(start);
    double decode = 0;
    if (decoded > 0) {
      Sequence sequence(model, positions, prompt + decoded);
      sequence.append(ids);
      start = std::chrono::steady_clock::now();
      for (int t = 0; t < decoded; ++t) {
        const int32_t id = 3 + t * 13 % (n_vocab - 3);
        sequence.append(std::span(&id, 1));
      }
      decode = seconds_since(start);
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"prefill\": %.6f, \"decode\": %.6f, \"peak\": %ld}\n", prefill, decode,
                usage.ru_maxrss);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("arguments: MODEL PROMPT DECODED THREADS f32|bf16 REPEATS\n", stderr);
    return 2;
  }
  try {
    run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_speed: %s\n", error.what());
    return 1;
  }
}
