// Options as JSON objects, for the C interface.
#pragma once

#include "api/analyze.h"
#include "api/validate.h"

namespace lightline::api {

// Unknown members and values of the wrong kind are errors that name the member; "" means no options.
Result<AnalyzeOptions> parse_analyze_options(const std::string& json);
Result<RunOptions> parse_run_options(const std::string& json);
Result<ValidateOptions> parse_validate_options(const std::string& json);

}  // namespace lightline::api
