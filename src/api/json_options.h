// Options as JSON objects, for the C interface.
#pragma once

#include "api/analyze.h"
#include "api/validate.h"

namespace lightline::api {

struct AnalyzeRequest {
  MachineChoice machines;
  AnalyzeOptions options;
  std::string retype;
  size_t top = 10;
};
// Unknown members and values of the wrong kind are errors that name the member; "" means no options.
Result<AnalyzeRequest> parse_analyze_request(const std::string& json);
Result<ValidateOptions> parse_validate_options(const std::string& json);

}  // namespace lightline::api
