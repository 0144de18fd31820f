// Which terms the outputs need, in which order they can be made, how far their coordinates run, and which of them are
// arrays of their own.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "demand/hulls.h"
#include "demand/normal_form.h"

namespace lightline::demand {

DType result_type(const Term& term);  // the type of its values

class NormalLayout {
 public:
  explicit NormalLayout(NormalForm& form);

  // ---- what arrays are ----
  // Whether the original statement must stay, since not all that the array is made of can be written.
  bool is_spelled(loops::ArrayId array);
  // An array that is wanted as it is: its terms are needed.
  void want(loops::ArrayId array);
  void run();

  // ---- results ----
  // Terms, or of terms that are made together one, each after those that it is made of.
  const std::vector<TermId>& order() const { return order_; }
  const std::vector<Range>& hull(TermId id) const { return hulls_[id]; }  // how far its coordinates run
  bool is_inlined(TermId id) const { return inlined_[id]; }
  uint32_t uses(TermId id) const { return uses_[id]; }
  bool is_live(const Case& one) const;  // it has points, as far as that can be seen
  // The ranges of the variables of its body, or of its arguments.
  std::vector<Range> scope(TermId id) const;

  // A loop whose carried arrays change from step to step: terms that are made step by step.
  struct Stepped {
    const Loop* loop = nullptr;
    bool scans = false;            // one array that reads its own earlier elements
    std::vector<TermId> carried;   // those that are needed
    std::vector<TermId> members;   // the other terms, by ascending number
    std::vector<TermId> returned;  // those that are read outside
  };
  struct Step {
    uint32_t coordinate = 0;  // that is the step,
    int64_t offset = 0;       // plus this
  };
  const Stepped* stepped(TermId id) const {  // the loop that makes a term
    const auto found = stepped_of_.find(id);
    return found == stepped_of_.end() ? nullptr : &stepped_[found->second];
  }
  Step step_of(TermId id) const { return steps_.at(id); }

 private:
  // Somebody reads a term at these places.
  struct Use {
    TermId term;
    std::span<const Form> at;
    bool by_data;  // to tell a place
  };
  using Visit = std::function<void(const Use&, const std::vector<Range>& box)>;
  void uses_of(const Form& form, const std::vector<Range>& box, const Visit& visit) const;
  void uses_of(const Value& value, const std::vector<Range>& box, const Visit& visit) const;
  void uses_of(const Cases& cases, const std::vector<Range>& scope, const Visit& visit) const;
  void uses_of(TermId id, const std::vector<Range>& scope, const Visit& visit) const;
  void neighbours(TermId id, std::vector<TermId>& found) const;  // terms that it is made of

  // ---- what can be written ----
  void find_loops();
  void find_steps(Stepped& loop, uint32_t number);
  bool assign_steps(const Stepped& loop);
  bool is_writable(TermId id) const;
  bool has_exact_numbers(const Value& value, DType type) const;
  void find_unwritable();

  void sort();
  void reach(const Use& use, const std::vector<Range>& box);
  void find_hulls();
  void choose_inlined();
  double points(TermId id) const;

  NormalForm& form_;
  Terms& terms_;
  Atoms& atoms_;
  std::vector<Stepped> stepped_;
  std::unordered_map<TermId, uint32_t> stepped_of_;
  std::unordered_map<TermId, Step> steps_;
  std::vector<bool> tainted_;    // by term: it can not be written, or is made of what can not
  std::vector<int8_t> spelled_;  // by array: not known yet (-1), no, yes
  mutable std::unordered_map<const Case*, bool> live_;
  std::vector<Hull> array_hulls_;
  std::vector<loops::ArrayId> wanted_;
  std::vector<TermId> order_;
  std::vector<bool> needed_;
  std::vector<uint32_t> uses_;
  std::vector<bool> by_data_;  // read to tell a place: must be an array
  std::vector<bool> inlined_;
  std::vector<int> depth_;  // of the expression that it is inlined as
  std::vector<std::vector<Range>> hulls_;
};

}  // namespace lightline::demand
