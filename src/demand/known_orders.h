// Products of networks in their cheapest order, as they were counted before: programs repeat themselves, layer by layer,
// with other terms in the same places.
#pragma once

#include <unordered_map>
#include <vector>

#include "demand/network.h"

namespace lightline::demand {

class KnownOrders {
 public:
  struct Answer {
    double products = 0;
    index::Losses losses{};  // on the way to it
  };
  // What the order of some factors of a network depends on, if no two of them are elements of one term: their forms, and
  // which of their terms come first.
  struct Question {
    const Network& network;
    const std::vector<size_t>& inner;
    std::vector<uint32_t> places;  // by factor, in the order of their terms
    bool transformed;              // windows by transforms
    uint64_t hash;

    Question(const Network& asked, const std::vector<size_t>& factors, bool by_transforms);
  };

  // Null if it was not asked yet.
  const Answer* find(const Question& question) const;
  // An answer with numbers of which nothing is known is new each time: it is not kept.
  void remember(const Question& question, Answer answer);

 private:
  static constexpr size_t most_kept = 1 << 14;

  struct Entry {
    Region region;
    uint64_t summed = 0;
    bool transformed = false;
    std::vector<Factor> factors;
    std::vector<uint32_t> places;
    Answer answer;

    bool is_of(const Question& question) const;
  };

  std::unordered_multimap<uint64_t, Entry> entries_;
};

}  // namespace lightline::demand
