#ifndef ROPEWALK_ENGINE_PART_OF_PROGRESS_H_
#define ROPEWALK_ENGINE_PART_OF_PROGRESS_H_

#include "ropewalk/engine/decoder.h"

namespace ropewalk {

// What tells a whole of one of its parts; none where nobody listens to the whole.
//   whole   must outlive the result
//   before  of the parts that are done
//   part    of this one
//   total   of all: of one unit, tokens say
inline Progress part_of_progress(const Progress& whole, double before, double part, double total) {
  if (!whole) return {};
  return [&whole, before, part, total](double share) { whole((before + share * part) / total); };
}

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_PART_OF_PROGRESS_H_
