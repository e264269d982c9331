#ifndef ROPEWALK_CLI_STUDY_PAGE_H_
#define ROPEWALK_CLI_STUDY_PAGE_H_

#include "cli/study_summary.h"
#include "ropewalk/report/page.h"

namespace ropewalk {

// The whole report: words, pictures, tables. Tables that the study has besides (record.h) follow as
// sections of their own. Throws Error where one of those is none.
Page study_page(const StudySummary& study);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_PAGE_H_
