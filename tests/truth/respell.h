// The same program in other words: neutral ones, which must change no tier, and wasteful ones, whose tiers must stay at
// or below the truth of the program they were made from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "truth/fuzz.h"

namespace lightline::truth {

struct Respelled {
  Sketch sketch;
  std::string rule;
};

const std::vector<std::string>& neutral_rules();
const std::vector<std::string>& wasteful_rules();

// By one rule, at a random place; nothing if the rule has no place in the program.
std::optional<Respelled> respelled(const Sketch& sketch, const std::string& rule, uint64_t seed);

// A cheap program and a wasteful way to say the same, by name: cumulative sums as products, and the like.
struct Pair {
  std::string name;
  Sketch cheap;
  Sketch wasteful;
};
std::vector<Pair> wasteful_pairs(uint64_t seed);

// What a respelling did: how tiers moved, or that the meaning did.
struct RespellVerdict {
  std::vector<Violation> violations;
  std::optional<std::string> other_meaning;
};
struct RespellReport {
  std::map<std::string, std::pair<uint64_t, uint64_t>> rules;  // moved or too high, tried
  std::map<std::string, std::string> examples;                 // of each rule: the program, respelled, and what moved
  std::map<std::string, std::map<uint64_t, std::vector<Violation>>> violations;  // by rule and seed of the program
  std::vector<std::string> faults;  // another meaning, or no program any more
};
// Random programs, each respelled by every rule that has a place in it; the pairs too.
RespellReport respell_all(uint64_t seed, uint64_t count, bool wasteful);

// What differs between the tiers of a program and of the same in other words.
std::vector<Violation> moved_tiers(const std::vector<Tier>& old_tiers, const std::vector<Tier>& new_tiers);

// Programs of the files, each time one of them by one rule, both at random. Only tiers are held: such programs are too
// large to run.
Result<RespellReport> respell_files(const std::vector<std::string>& files, uint64_t seed, uint64_t count);

Result<RespellVerdict> judge_neutral(const Sketch& from, const Sketch& to, uint64_t seed);
Result<RespellVerdict> judge_wasteful(const Sketch& from, const Sketch& to, uint64_t seed);

}  // namespace lightline::truth
