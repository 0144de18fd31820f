// Linear rewrites: sums pushed through contractions, chains of contractions in their cheapest order.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "demand/work.h"

namespace lightline::demand {

class LinearRewrites {
 public:
  LinearRewrites(const loops::Program& program, const Structure& structure);

  // A statement, the points of it that are needed, and their cost as written.
  void note(const Compute& compute, const NeededPoints& needed, const Work& work);
  // The work of the whole program after rewrites that make it smaller.
  Work total(const Work& as_written);

 private:
  struct Noted {
    const Compute* compute;
    Domain domain;
    Piece points;
    Work work;
    bool once = true;
  };
  // Where a statement's variables lie among those of the merged one.
  struct Frame {
    const Domain* domain;
    std::vector<HalfSpace> images;
  };
  struct Leaf {
    Factor factor;
    DType precision;
  };
  using Term = std::vector<Leaf>;
  struct Merged {
    Piece points;
    size_t loops = 0;
    std::vector<ArrayId> absorbed;
  };

  void count_uses(const std::vector<Statement>& block);
  void count_uses(ExprId expr);
  bool can_absorb(const Expr& read) const;
  std::optional<std::vector<Term>> expand(ExprId expr, const Frame& frame, Merged& merged);
  std::optional<std::vector<Term>> absorb(const Expr& read, const Frame& frame, Merged& merged);
  Leaf leaf(ExprId expr, const Frame& frame, const Merged& merged) const;
  void mark_reads(ExprId expr, const Frame& frame, const Merged& merged, VariableSet& alone,
                  VariableSet& windows) const;
  // A form over the variables of a frame, over those of the merged statement.
  static HalfSpace seen_from(const HalfSpace& form, const Frame& frame);
  void rewrite(const Noted& root, Work& total);

  const loops::Program& program_;
  const Structure& structure_;
  std::vector<uint32_t> uses_;  // reads of an array in the text, and once more if it is returned
  std::unordered_map<ArrayId, size_t> index_;
  std::vector<Noted> noted_;
  std::vector<bool> taken_;
  std::vector<std::unique_ptr<Domain>> domains_;
};

}  // namespace lightline::demand
