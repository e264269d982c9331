// Studies of one thing made in several places, put together.
#ifndef ROPEWALK_STUDY_MERGE_H_
#define ROPEWALK_STUDY_MERGE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ropewalk/study/store.h"

namespace ropewalk {

// The union of two studies. A cell that both have must be the same to the last bit; seconds, facts
// and tables are the first's. It is finished where both are, and a finalist of either is one of
// both. What either run printed at its end is left out: candidates_of() tells anew.
// Throws Error naming what differs: version, model, text, length or precision; or the first cell
// that contradicts.
StudyContents merged(StudyContents a, const StudyContents& b);

// Writes a study that is not there yet; the name appears when all of it is on disk. Throws Error
// where something has the name, or a living process holds it.
void write_study(const StudyContents& study, const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_MERGE_H_
