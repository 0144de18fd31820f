// What was asked before of regions and forms, with the answers: programs repeat themselves, layer by layer.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/maths.h"
#include "index/digits.h"

namespace lightline::index {

class Answers {
 public:
  enum class Question : uint8_t { image, count, kindest_count, emptiness, single_affine };
  struct Answer {
    std::vector<Region> regions;
    double number = 0;
    Losses losses{};  // on the way to it
    std::optional<AffinePart> part = {};
  };

  // Null if it was not asked yet.
  const Answer* find(Question question, std::span<const Region> regions, std::span<const Form> forms) const {
    const auto [first, last] = entries_.equal_range(hash(question, regions, forms));
    for (auto it = first; it != last; ++it)
      if (it->second.is_of(question, regions, forms)) return &it->second.answer;
    return nullptr;
  }

  // An answer with numbers of which nothing is known is new each time: it is not kept.
  void remember(Question question, std::span<const Region> regions, std::span<const Form> forms, Answer answer) {
    if (answer.losses[size_t(Loss::numbers)] > 0) return;
    const size_t size = regions.size() + forms.size() * (answer.part ? 2 : 1) + answer.regions.size() + 1;
    if (size > most_kept / 4) return;
    if (kept_ + size > most_kept) *this = {};
    kept_ += size;
    entries_.emplace(
        hash(question, regions, forms),
        Entry{question, {regions.begin(), regions.end()}, {forms.begin(), forms.end()}, std::move(answer)});
  }

 private:
  static constexpr size_t most_kept = 1 << 17;  // regions and forms

  struct Entry {
    Question question;
    std::vector<Region> regions;
    std::vector<Form> forms;
    Answer answer;

    bool is_of(Question other, std::span<const Region> asked, std::span<const Form> by) const {
      return question == other && std::equal(forms.begin(), forms.end(), by.begin(), by.end()) &&
             std::equal(regions.begin(), regions.end(), asked.begin(), asked.end(),
                        [](const Region& a, const Region& b) { return a.points == b.points && a == b; });
    }
  };

  static uint64_t hash(Question question, std::span<const Region> regions, std::span<const Form> forms) {
    uint64_t result = mixed(uint64_t(question), regions.size());
    for (const Region& region : regions) result = mixed(result, hash_of(region));
    for (const Form& form : forms) result = mixed(result, hash_of(form));
    return result;
  }

  std::unordered_multimap<uint64_t, Entry> entries_;
  size_t kept_ = 0;
};

// Asks once: the answer of `ask()`, or what it was before.
template <class Ask>
Answers::Answer asked_once(Answers::Question question, std::span<const Region> regions, std::span<const Form> forms,
                           Atoms& atoms, const Ask& ask) {
  if (const Answers::Answer* known = atoms.answers().find(question, regions, forms)) {
    atoms.lose(known->losses);
    return *known;
  }
  const Losses before = atoms.losses();
  Answers::Answer answer = ask();
  for (size_t i = 0; i < kinds_of_loss; ++i) answer.losses[i] = atoms.losses()[i] - before[i];
  atoms.answers().remember(question, regions, forms, answer);
  return answer;
}

}  // namespace lightline::index
