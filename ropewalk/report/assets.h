// Files that the build put into the program; see cmake/report_assets.cmake.
#ifndef ROPEWALK_REPORT_ASSETS_H_
#define ROPEWALK_REPORT_ASSETS_H_

#include <string_view>

namespace ropewalk {

extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // page.js

// Vega, Vega-Lite and Vega-Embed as one script, and the licences of all that is in it; empty where
// the build did not have them.
extern const std::string_view kVegaScript;
extern const std::string_view kVegaLicences;

}  // namespace ropewalk

#endif  // ROPEWALK_REPORT_ASSETS_H_
