#include "loops/plan/nest.h"

#include <algorithm>
#include <optional>

#include "loops/plan/kernels.h"

namespace lightline::loops::plan {
namespace {

class TreeBuilder {
 public:
  TreeBuilder(SteppedProgram& stepped, const NestStep& step, const Stored& stored)
      : stepped_(stepped), step_(step), stored_(stored) {
    for (const FoldedCompute& folded : step.computes) {
      Member member;
      member.folded = folded;
      member.sequence = folded.loops;
      if (folded.tiled)
        member.sequence.pop_back();
      else if (folded.transposed == none)
        member.sequence.insert(member.sequence.end(), folded.reduced.begin(), folded.reduced.end());
      if (folded.transposed != none) member.sequence.clear();
      tree_.members.push_back(std::move(member));
    }
  }

  Tree run() {
    std::vector<size_t> all(tree_.members.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    tree_.items = step_.lines.empty() ? build(all, 0) : build_as_told();
    for (Item& item : tree_.items) trace(item, {});
    for (Member& member : tree_.members) rename(member);
    for (Member& member : tree_.members) place(member);
    note_rows();
    for (Member& member : tree_.members) place_in_host(member);
    for (Member& member : tree_.members) flatten(member);
    return std::move(tree_);
  }

 private:
  Nodes& nodes() { return stepped_.nodes; }

  std::vector<Item> build(const std::vector<size_t>& list, size_t level) {
    std::vector<Item> items;
    std::unordered_map<ArrayId, size_t> made_by;  // item
    for (const size_t id : list) {
      const Member& member = tree_.members[id];
      size_t earliest = 0;
      for_each_load(member, [&](const Node& load) {
        if (const auto it = made_by.find(load.array); it != made_by.end()) earliest = std::max(earliest, it->second);
      });
      size_t at = items.size();
      if (member.sequence.size() > level)
        for (size_t i = earliest; i < items.size() && at == items.size(); ++i)
          if (items[i].nest && joins(*items[i].nest, member, level)) at = i;
      if (at == items.size()) {
        Item& item = items.emplace_back();
        item.member = id;
        if (member.sequence.size() > level) {
          item.nest = std::make_unique<Nest>();
          item.nest->var = member.sequence[level];
          item.nest->level = level;
        }
      }
      if (items[at].nest) items[at].nest->members.push_back(id);
      made_by[member.folded.result] = at;
    }
    for (Item& item : items)
      if (item.nest) item.nest->items = build(item.nest->members, level + 1);
    return items;
  }

  std::vector<Item> build_as_told() {
    std::vector<Item> items;
    std::vector<Nest*> open;
    for (const TreeLine& line : step_.lines) {
      const std::vector<VarId>& sequence = tree_.members[line.compute].sequence;
      open.resize(line.shared);
      while (open.size() < sequence.size()) {
        Item& item = (open.empty() ? items : open.back()->items).emplace_back();
        item.member = line.compute;
        item.nest = std::make_unique<Nest>();
        item.nest->var = sequence[open.size()];
        item.nest->level = open.size();
        open.push_back(item.nest.get());
      }
      Item leaf;
      leaf.member = line.compute;
      (open.empty() ? items : open.back()->items).push_back(std::move(leaf));
      for (Nest* nest : open) nest->members.insert(std::ranges::lower_bound(nest->members, line.compute), line.compute);
    }
    return items;
  }

  void note_rows() {
    tree_.rows.resize(tree_.members.size());
    for (size_t id = 0; id < tree_.members.size(); ++id)
      tree_.rows[tree_.members[id].turn] = {id, 0, tree_.members[id].shared};
    for (size_t i = 1; i < tree_.rows.size(); ++i) {
      const auto &before = tree_.members[tree_.rows[i - 1].member].path,
                 &path = tree_.members[tree_.rows[i].member].path;
      uint32_t& shared = tree_.rows[i].shared;
      while (shared < path.size() && shared < before.size() && path[shared] == before[shared]) ++shared;
    }
  }

  template <class Visit>
  void for_each_load(const Member& member, Visit visit) {
    if (member.folded.body == none) return;
    nodes().for_each(member.folded.body, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load && node.array != member.folded.result) visit(node);
    });
  }

  bool joins(const Nest& nest, const Member& member, size_t level) {
    const VarId var = member.sequence[level];
    if (nodes().extent(nest.var) != nodes().extent(var)) return false;
    for (const size_t id : nest.members) {
      const Member& other = tree_.members[id];
      const VarId other_var = other.sequence[level];
      if ((other.folded.scan == other_var) != (member.folded.scan == var)) return false;
      const bool ends = member.sequence.size() == level + 1, other_ends = other.sequence.size() == level + 1;
      if ((ends || other_ends) && other.folded.scalar_only != member.folded.scalar_only && level > 0) return false;
      if (level > 0 && inside(member, level) != inside(other, level) &&
          std::max(inside(member, level), inside(other, level)) < stepped_.target.fewest_points_inside)
        return false;
      bool fits = true;
      for_each_load(member, [&](const Node& load) {
        if (load.array != other.folded.result) return;
        const auto dimension = std::ranges::find(other.folded.dims, other_var) - other.folded.dims.begin();
        fits &= !other.is_reduced_at(level) && nodes().is_var(nodes().operands(load)[size_t(dimension)], var);
      });
      if (!fits) return false;
    }
    return true;
  }

  // Points inside one iteration of a loop, counted as far as they make a difference.
  int64_t inside(const Member& member, size_t level) {
    const int64_t enough = stepped_.target.fewest_points_inside;
    int64_t points = 1;
    for (size_t i = level + 1; i < member.sequence.size(); ++i)
      points = std::min<int64_t>(enough, points * nodes().extent(member.sequence[i]));
    if (member.folded.tiled) points = enough;
    return points;
  }

  void trace(Item& item, std::vector<const Nest*> path) {
    if (!item.nest) {
      tree_.members[item.member].path = std::move(path);
      tree_.members[item.member].turn = turns_++;
      return;
    }
    path.push_back(item.nest.get());
    for (Item& inner : item.nest->items) trace(inner, path);
  }

  // From the compute's own variables to those of the nests.
  void rename(Member& member) {
    Substitution by;
    std::unordered_map<VarId, VarId> to;
    for (size_t i = 0; i < member.path.size(); ++i) {
      if (member.sequence[i] == member.path[i]->var) continue;
      by.emplace(member.sequence[i], nodes().var(member.path[i]->var));
      to.emplace(member.sequence[i], member.path[i]->var);
    }
    if (by.empty()) return;
    const auto replace = [&](std::vector<VarId>& list) {
      for (VarId& var : list)
        if (const auto it = to.find(var); it != to.end()) var = it->second;
    };
    replace(member.sequence);
    replace(member.folded.dims);
    replace(member.folded.loops);
    replace(member.folded.reduced);
    if (const auto it = to.find(member.folded.scan); it != to.end()) member.folded.scan = it->second;
    if (member.folded.body != none) member.folded.body = nodes().substitute(member.folded.body, by);
  }

  // Keeps only the dimensions that change between the loops shared with all readers.
  void place(Member& member) {
    const FoldedCompute& folded = member.folded;
    const Shape& shape = stepped_.program.arrays[folded.result].shape;
    member.shared = std::min(member.path.size(), member.first_reduced());
    for (const Member& reader : tree_.members) {
      if (&reader == &member) continue;
      bool reads = false;
      for_each_load(reader, [&](const Node& load) { reads |= load.array == folded.result; });
      if (!reads) continue;
      member.is_read = true;
      size_t common = 0;
      while (common < member.shared && common < reader.path.size() && reader.path[common] == member.path[common])
        ++common;
      member.shared = common;
    }
    if (folded.scan != none)  // its earlier elements are read
      while (member.shared > 0 && std::find(folded.loops.begin(), folded.loops.begin() + ptrdiff_t(member.shared),
                                            folded.scan) != folded.loops.begin() + ptrdiff_t(member.shared))
        --member.shared;
    member.strides = row_major(shape);
    member.elements = size_of(shape);
    if (stored_[folded.result]) return;
    member.elements = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const auto at = std::find(folded.loops.begin(), folded.loops.end(), folded.dims[d]) - folded.loops.begin();
      const bool kept = folded.dims[d] != none && size_t(at) >= member.shared;
      member.strides[d] = kept ? member.elements : 0;
      if (kept) member.elements *= shape[d];
    }
  }

  // A row that lives only until a stored result overwrites it, point by point, lives in the memory of that result: it
  // is in the cache when the result is written, and is fetched while the row is computed.
  void place_in_host(Member& member) {
    if (stored_[member.folded.result] || member.elements == 1 || member.folded.tiled) return;
    for (const Member& host : tree_.members) {
      if (!takes_place(host, member)) continue;
      member.host = host.folded.result;
      const std::vector<size_t> dimension = *same_point(host, member);
      for (size_t d = 0; d < dimension.size(); ++d)
        member.strides[d] = dimension[d] == no_dimension ? 0 : host.strides[dimension[d]];
      return;
    }
  }

  bool takes_place(const Member& host, const Member& guest) {
    const FoldedCompute& folded = host.folded;
    const bool is_map = folded.reducer == Reducer::none && folded.scan == none && !folded.is_empty && !folded.tiled &&
                        folded.transposed == none;
    const DType dtype = stepped_.program.arrays[folded.result].dtype;
    if (!is_map || !stored_[folded.result] || compute_type(dtype) != dtype ||
        dtype != compute_type(stepped_.program.arrays[guest.folded.result].dtype) || !same_point(host, guest))
      return false;
    return std::ranges::all_of(tree_.members, [&](const Member& other) {
      if (other.host == folded.result) return false;
      if (&other == &host) return true;
      bool uses = &other == &guest;
      for_each_load(other, [&](const Node& load) { uses |= load.array == guest.folded.result; });
      return !uses || (other.turn < host.turn && !in_same_item(other, host, guest.shared));
    });
  }

  static bool in_same_item(const Member& a, const Member& b, size_t level) {
    return a.path.size() > level && b.path.size() > level && a.path[level] == b.path[level];
  }

  // Which dimension of the host each dimension of the guest is, if every point of the host reads its own point only.
  std::optional<std::vector<size_t>> same_point(const Member& host, const Member& guest) {
    const Shape &from = stepped_.program.arrays[guest.folded.result].shape,
                &to = stepped_.program.arrays[host.folded.result].shape;
    std::optional<std::vector<size_t>> found;
    bool agree = size_of(from) == size_of(to);
    for_each_load(host, [&](const Node& load) {
      if (load.array != guest.folded.result || !agree) return;
      std::vector<size_t> dimension(from.size(), no_dimension);
      for (size_t d = 0; d < from.size(); ++d) {
        if (from[d] == 1) continue;
        for (size_t k = 0; k < to.size(); ++k)
          if (to[k] == from[d] && nodes().is_var(nodes().operands(load)[d], host.folded.dims[k])) dimension[d] = k;
        agree &= dimension[d] != no_dimension && std::ranges::count(dimension, dimension[d]) == 1;
      }
      agree &= load.guard == none && (!found || *found == dimension);
      found = std::move(dimension);
    });
    return agree ? found : std::nullopt;
  }

  void flatten(Member& member) {
    const auto strides_of = [&](ArrayId array) {
      for (const Member& other : tree_.members)
        if (other.folded.result == array) return other.strides;
      return row_major(stepped_.program.arrays[array].shape);
    };
    if (member.folded.body != none) member.body = nodes().flatten(member.folded.body, strides_of);
    std::vector<NodeId> subscripts;
    for (const VarId var : member.folded.dims)
      subscripts.push_back(var == none ? nodes().integer(0) : nodes().var(var));
    member.store = nodes().position(subscripts, member.strides);
  }

  static constexpr size_t no_dimension = SIZE_MAX;

  SteppedProgram& stepped_;
  const NestStep& step_;
  const Stored& stored_;
  Tree tree_;
  size_t turns_ = 0;
};

bool merge_pair(SteppedProgram& stepped, Tree& tree, Nest& outer, Nest& inner) {
  Nodes& nodes = stepped.nodes;
  for (const size_t id : outer.members) {
    const Member& member = tree.members[id];
    if (member.folded.scan == outer.var || member.folded.scan == inner.var || member.folded.transposed != none)
      return false;
    if (member.is_reduced_at(outer.level) != member.is_reduced_at(inner.level)) return false;
    if (member.shared == inner.level && member.is_read) return false;  // kept between the two
  }
  const int64_t width = nodes.extent(inner.var);
  const VarId merged = nodes.add_var(nodes.extent(outer.var) * width);
  const Substitution by{{outer.var, nodes.call(Function::div, DType::i64, nodes.var(merged), nodes.integer(width))},
                        {inner.var, nodes.call(Function::mod, DType::i64, nodes.var(merged), nodes.integer(width))}};
  std::vector<std::pair<NodeId, NodeId>> rewritten;
  for (const size_t id : outer.members) {
    const Member& member = tree.members[id];
    const NodeId body = member.body == none ? none : nodes.substitute(member.body, by),
                 store = nodes.substitute(member.store, by);
    if ((body != none && takes_apart(nodes, body, merged, width)) || takes_apart(nodes, store, merged, width))
      return false;
    rewritten.emplace_back(body, store);
  }
  for (size_t i = 0; i < outer.members.size(); ++i) {
    Member& member = tree.members[outer.members[i]];
    std::tie(member.body, member.store) = rewritten[i];
    const auto replace = [&](std::vector<VarId>& list) {
      if (std::ranges::find(list, inner.var) == list.end()) return;
      std::erase(list, outer.var);
      std::ranges::replace(list, inner.var, merged);
    };
    replace(member.sequence);
    replace(member.folded.loops);
    replace(member.folded.reduced);
    std::erase(member.path, &inner);
    if (member.shared > inner.level) --member.shared;
  }
  outer.var = merged;
  outer.merged += inner.merged;
  std::vector<Item> items = std::move(inner.items);
  outer.items = std::move(items);
  return true;
}

void lower_levels(Nest& nest) {
  --nest.level;
  for (Item& item : nest.items)
    if (item.nest) lower_levels(*item.nest);
}

}  // namespace

Tree build_tree(SteppedProgram& stepped, const NestStep& step, const Stored& stored) {
  return TreeBuilder(stepped, step, stored).run();
}

void merge_loops(SteppedProgram& stepped, Tree& tree, Nest& nest) {
  while (nest.items.size() == 1 && nest.items[0].nest && merge_pair(stepped, tree, nest, *nest.items[0].nest))
    for (Item& item : nest.items)
      if (item.nest) lower_levels(*item.nest);
  for (Item& item : nest.items)
    if (item.nest) merge_loops(stepped, tree, *item.nest);
}

}  // namespace lightline::loops::plan
