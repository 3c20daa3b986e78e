// Shape functions of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "halfstep/core/ir/shapes/shape_detail.h"

namespace halfstep::shapes {
namespace {

int64_t entry(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
  return list.empty() ? otherwise : list[i];
}

/// One term of an einsum equation and its operand: binds letters, and returns the extents of "...".
class EinsumBinding {
 public:
  explicit EinsumBinding(const OpSite& site) : site_(site) {}

  void bind(const std::string& term, const Dims& dims) {
    const size_t dots = term.find("...");
    const size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (dots == std::string::npos ? letters != dims.size() : letters > dims.size())
      reject(site_, errors::einsum_term, fmt::format("the term '{}'", term),
             fmt::format("a letter for each axis of {}", to_string(dims)));
    size_t axis = 0;
    for (size_t i = 0; i < term.size();) {
      if (term[i] != '.') {
        bind_letter(term[i++], dims[axis++]);
        continue;
      }
      const auto first = dims.begin() + static_cast<std::ptrdiff_t>(axis);
      const size_t count = dims.size() - letters;
      ellipsis_ = broadcast(site_, ellipsis_, Dims(first, first + static_cast<std::ptrdiff_t>(count)));
      axis += count;
      i += 3;
    }
  }

  Dims result(const std::string& term) const {
    Dims dims;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        dims.insert(dims.end(), ellipsis_.begin(), ellipsis_.end());
        i += 2;
        continue;
      }
      const auto found = extents_.find(term[i]);
      if (found == extents_.end())
        reject(site_, errors::einsum_term, fmt::format("'{}' in the result", term[i]), "a letter of a term");
      dims.push_back(found->second);
    }
    return dims;
  }

  /// "..." followed by the letters that occur exactly once in all terms, in alphabetical order.
  std::string implied_result() const {
    std::string term = dots_ ? "..." : "";
    for (const auto& [letter, count] : counts_) {
      if (count == 1) term += letter;
    }
    return term;
  }
  void saw_dots() { dots_ = true; }

  /// Limits the work, because operands of a few elements can require any number of products.
  void check_work() const {
    constexpr double kMostProducts = 1099511627776;  // 2^40
    double products = 1;
    for (const auto& [letter, extent] : extents_) products *= extent == kUnknown ? 1 : static_cast<double>(extent);
    for (const int64_t extent : ellipsis_) products *= extent == kUnknown ? 1 : static_cast<double>(extent);
    if (products > kMostProducts)
      reject(site_, errors::too_much_work, fmt::format("{} products", products), "at most 2^40");
  }

 private:
  void bind_letter(char letter, int64_t extent) {
    ++counts_[letter];
    const auto [place, is_new] = extents_.emplace(letter, extent);
    if (is_new) return;
    if (place->second == 1) {
      place->second = extent;
    } else if (extent != 1 && !agrees(place->second, extent)) {
      reject(site_, errors::einsum_extents, std::string(1, letter), place->second, extent);
    } else if (extent != 1) {
      place->second = either(place->second, extent);
    }
  }

  const OpSite& site_;
  std::map<char, int64_t> extents_;
  std::map<char, int> counts_;
  Dims ellipsis_;
  bool dots_ = false;
};

void check_term(const OpSite& site, const std::string& term) {
  std::string letters = term;
  if (const size_t dots = letters.find("..."); dots != std::string::npos) letters.erase(dots, 3);
  for (const char c : letters) {
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z'))
      reject(site, errors::einsum_term, fmt::format("'{}'", c), "letters, commas, ... and ->");
  }
}

}  // namespace

Dims pool(const OpSite& site, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
          const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad,
          bool ceil_mode) {
  const size_t spatial = kernel.size();
  Dims dims = {x[0], x[1]};
  for (size_t i = 0; i < spatial; ++i) {
    const Dim extent = x[i + 2], step = entry(stride, i, 1), one = 1;
    const Dim span = (Dim(kernel[i]) - one) * Dim(entry(dilation, i, 1)) + one;
    const Dim before = entry(pad, i, 0), after = entry(pad, spatial + i, 0);
    if (auto_pad.starts_with("same")) {
      dims.push_back(floor_div(extent + step - one, step).value());
      continue;
    }
    const Dim room = extent + before + after - span;
    if ((room < Dim(0)) == Truth::yes) reject(site, errors::kernel_too_large, i + 2, to_string(x), to_string(kernel));
    Dim count = floor_div(ceil_mode ? room + step - one : room, step) + one;
    if (ceil_mode && ((count - one) * step >= extent + before) == Truth::yes) count = count - one;
    dims.push_back(count.value());
  }
  return dims;
}

Dims unpool(const OpSite&, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
            const std::vector<int64_t>& pad, const std::vector<int64_t>& dims) {
  if (!dims.empty()) return dims;
  Dims result = {x[0], x[1]};
  const size_t spatial = kernel.size();
  for (size_t i = 0; i < spatial; ++i) {
    const Dim step = entry(stride, i, 1);
    const Dim padding = Dim(entry(pad, i, 0)) + Dim(entry(pad, spatial + i, 0));
    result.push_back(((Dim(x[i + 2]) - Dim(1)) * step - padding + Dim(kernel[i])).value());
  }
  return result;
}

Dims convolution_transpose(const OpSite& site, const Dims& x, const Dims& w, int64_t groups,
                           const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                           const std::vector<int64_t>& pad, const std::vector<int64_t>& output_padding,
                           const std::vector<int64_t>& output_shape, const std::string& auto_pad) {
  const size_t spatial = x.size() - 2;
  Dims dims = {x[0], (Dim(w[1]) * Dim(groups)).value()};
  for (size_t i = 0; i < spatial; ++i) {
    const Dim step = entry(stride, i, 1), one = 1;
    if (!output_shape.empty()) {
      dims.push_back(output_shape[output_shape.size() - spatial + i]);
      continue;
    }
    if (auto_pad.starts_with("same")) {
      dims.push_back((Dim(x[i + 2]) * step).value());
      continue;
    }
    const Dim span = (Dim(w[i + 2]) - one) * Dim(entry(dilation, i, 1)) + one;
    const Dim padding = Dim(entry(pad, i, 0)) + Dim(entry(pad, spatial + i, 0));
    const int64_t more = entry(output_padding, i, 0), limit = std::max(entry(stride, i, 1), entry(dilation, i, 1));
    if (more > 0 && more >= limit) reject(site, errors::output_padding_too_large, i + 2, more, limit);
    const Dim extent = step * (Dim(x[i + 2]) - one) + Dim(more) + span - padding;
    if ((extent < Dim(0)) == Truth::yes) reject(site, errors::output_dims, "the result", i + 2, extent.value());
    dims.push_back(extent.value());
  }
  return dims;
}

Dims einsum(const OpSite& site, std::span<const Type* const> x, const std::string& equation) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  EinsumBinding binding(site);
  size_t begin = 0, count = 0;
  while (begin <= terms.size()) {
    const size_t end = std::min(terms.find(',', begin), terms.size());
    const std::string term = terms.substr(begin, end - begin);
    check_term(site, term);
    if (term.find('.') != std::string::npos) binding.saw_dots();
    if (count < x.size()) binding.bind(term, x[count]->dims);
    ++count;
    begin = end + 1;
  }
  if (count != x.size())
    reject(site, errors::einsum_term, fmt::format("{} terms", count), fmt::format("{}, one for each input", x.size()));
  const std::string result = arrow == std::string::npos ? binding.implied_result() : text.substr(arrow + 2);
  check_term(site, result);
  binding.check_work();
  return binding.result(result);
}

namespace {

int64_t whole_extent(const OpSite& site, double extent) {
  if (!(extent <= static_cast<double>(kMaxElements)))
    reject(site, errors::too_much_work, fmt::format("an axis of {} elements", extent), "at most 2^48");
  return static_cast<int64_t>(std::floor(extent));
}

}  // namespace

Dims resize(const OpSite& site, const Dims& x, const std::vector<int64_t>& sizes, const std::vector<double>& scales,
            const std::vector<int64_t>& axes, const std::string& policy) {
  const size_t count = axes.empty() ? x.size() : axes.size();
  if (sizes.empty() == scales.empty() || std::max(sizes.size(), scales.size()) != count)
    reject(site, errors::attributes_unfit, fmt::format("{} sizes and {} scales", sizes.size(), scales.size()),
           fmt::format("{} of one of them", count));
  Dims dims = x;
  std::vector<double> factors;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = axes.empty() ? i : normal_axis(site, axes[i], x.size());
    int64_t& extent = dims[at];
    if (sizes.empty()) {
      if (!(scales[i] > 0)) reject(site, errors::attribute_out_of_range, "scales", scales[i], "positive numbers");
      if (extent != kUnknown) extent = whole_extent(site, static_cast<double>(extent) * scales[i]);
    } else {
      if (policy != "stretch" && extent == kUnknown)
        reject(site, errors::extent_needed, at, to_string(x), "the policy " + policy);
      factors.push_back(static_cast<double>(sizes[i]) / static_cast<double>(extent));
      if (policy == "stretch") extent = sizes[i];
    }
  }
  if (policy == "stretch" || sizes.empty()) return dims;
  const double factor = policy == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                               : *std::max_element(factors.begin(), factors.end());
  for (size_t i = 0; i < count; ++i) {
    int64_t& extent = dims[axes.empty() ? i : normal_axis(site, axes[i], x.size())];
    extent = whole_extent(site, factor * static_cast<double>(extent) + 0.5);
  }
  return dims;
}

Dims recurrent_sequence(const OpSite&, const Dims& x, const Dims& r, int64_t layout) {
  return layout == 0 ? Dims{x[0], r[0], x[1], r[2]} : Dims{x[0], x[1], r[0], r[2]};
}

Dims recurrent_state(const OpSite&, const Dims& x, const Dims& r, int64_t layout) {
  return layout == 0 ? Dims{r[0], x[1], r[2]} : Dims{x[0], r[0], r[2]};
}

Dims attention(const OpSite&, const Dims& q, const Dims& v, int64_t heads, int64_t kv_heads) {
  if (q.size() == 4) return {q[0], q[1], q[2], v[3]};
  return {q[0], q[1], (floor_div(Dim(v[2]), Dim(kv_heads)) * Dim(heads)).value()};
}

Dims attention_scores(const OpSite&, const Dims& q, const Dims& k, int64_t heads) {
  return q.size() == 4 ? Dims{q[0], q[1], q[2], k[2]} : Dims{q[0], heads, q[1], k[1]};
}

Dims grid_sample(const OpSite&, const Dims& x, const Dims& grid) {
  Dims dims = {either(x[0], grid[0]), x[1]};
  dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
  return dims;
}

Dims affine_grid(const OpSite&, const Dims& theta, const std::vector<int64_t>& dims) {
  Dims grid = {theta[0]};
  grid.insert(grid.end(), dims.begin() + 2, dims.end());
  grid.push_back(theta[1]);
  return grid;
}

Dims col2im(const OpSite& site, const Dims& x, const std::vector<int64_t>& image, const std::vector<int64_t>& block) {
  const Dim taps = product(block);
  if ((Dim(x[1]) % taps == Dim(0)) == Truth::no) reject(site, errors::not_a_multiple, "rows", x[1], taps.value());
  Dims dims = {x[0], floor_div(Dim(x[1]), taps).value()};
  dims.insert(dims.end(), image.begin(), image.end());
  return dims;
}

Dims batch_axes(const OpSite&, const Dims& x) { return {x.begin(), x.end() - 2}; }

Dims reduced_loss(const OpSite&, const Dims& target, const std::string& reduction) {
  return reduction == "none" ? target : Dims();
}

}  // namespace halfstep::shapes
