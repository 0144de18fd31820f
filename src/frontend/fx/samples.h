// GraphNet samples on disk: a folder with a model.py and its tensor metadata is one program; folders of such folders
// and tar archives of them are corpora.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace lightline::frontend {

bool is_sample_folder(const std::string& path);   // holds a model.py
bool is_sample_archive(const std::string& path);  // .tar, also with .xz, .zst or .gz
bool is_folder(const std::string& path);

// The Python files of one sample as one text, as parse_fx_text takes them.
Result<std::string> read_sample(const std::string& folder);

// Every sample of a folder (in the order of their names) or of an archive (in its order), by its path inside.
using SampleVisitor = std::function<Status(const std::string& name, std::string text)>;
Status for_each_sample(const std::string& path, const SampleVisitor& visit);

}  // namespace lightline::frontend
