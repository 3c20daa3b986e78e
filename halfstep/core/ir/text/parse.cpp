#include "halfstep/core/ir/text/parse.h"

#include <fmt/format.h>

#include <utility>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/text/text_reader.h"

namespace halfstep {
namespace {

using detail::Token;

/// Whether an operation at the end of `block` could capture the value: it is defined in an enclosing block, and not by
/// an operation that encloses `block`.
bool is_around(Value value, const Block* block) {
  const Block* home = value.block();
  while (block != home) {
    const Op around = block->parent();
    if (!around || around == value.producer()) return false;
    block = around.node()->block;
  }
  return true;
}

std::vector<std::string> visible_names(const Block& block) {
  std::vector<std::string> names;
  for (const Value argument : block.arguments()) names.push_back(argument.name());
  for (const Op op : block.ops()) {
    for (const Value result : op.results()) names.push_back(result.name());
  }
  return names;
}

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}

/// Operands in the text, by port.
struct Operands {
  explicit Operands(const OpInfo& of) : info(of), given(of.inputs.size()), fixed(of.inputs.size()) {
    if (of.has_variadic_input()) fixed.pop_back();
  }
  std::vector<Value> flat() && {
    fixed.insert(fixed.end(), further.begin(), further.end());
    return std::move(fixed);
  }

  const OpInfo& info;
  std::vector<bool> given;
  std::vector<Value> fixed, further;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, const ParseOptions& options)
      : reader_(text, file), options_(options) {}
  Graph graph();

 private:
  void statements();
  void arguments();
  void declaration(Role role);
  void outputs();
  void output(std::vector<Value>& values, std::vector<std::string>& names);
  void operation();
  const OpInfo& operator_info();
  void operand(Operands& operands, bool first);
  void operand_at(Operands& operands, int port);
  Attributes attributes(const OpInfo& info);
  void regions(Op op);
  void region(Op op, const std::string& name);

  std::string new_name(std::string_view what);
  Value reference();
  Value tensor_of(const Token& token) const;
  Value value_of(const Token& token) const;

  detail::TextReader reader_;
  const ParseOptions& options_;
  Graph graph_;
  Block* block_ = nullptr;  ///< block being parsed
  int depth_ = 0;
  int64_t statement_count_ = 0;
};

Graph Parser::graph() {
  if (!reader_.accept_word("graph")) reader_.fail_expected(reader_.peek(), "'graph'");
  graph_.set_name(reader_.name("a name for the graph").text);
  block_ = &graph_.body();
  arguments();
  reader_.expect('{');
  statements();
  if (reader_.peek().kind != detail::TokenKind::end) reader_.fail_expected(reader_.peek(), "the end of the text");
  return std::move(graph_);
}

void Parser::arguments() {
  reader_.expect('(');
  reader_.list(')', [&] {
    std::string name = new_name("an argument");
    reader_.expect(':');
    block_->add_argument(std::move(name), reader_.type());
  });
}

/// Parses statements up to and including the closing brace.
void Parser::statements() {
  const bool body = depth_ == 0;
  while (!reader_.accept_word("return")) {
    if (++statement_count_ > kMaxStatements)
      reader_.fail_expected(reader_.peek(), fmt::format("at most {} statements", kMaxStatements));
    if (body && reader_.accept_word("param")) {
      declaration(Role::parameter);
    } else if (body && reader_.accept_word("state")) {
      declaration(Role::state);
    } else if (body && reader_.accept_word("const")) {
      declaration(Role::constant);
    } else {
      operation();
    }
  }
  outputs();
  reader_.expect('}');
}

void Parser::declaration(Role role) {
  reader_.expect('@');
  const Token token = reader_.name("the name of a tensor");
  if (graph_.tensor(token.text)) reader_.fail_expected(token, "a name that is not taken");
  reader_.expect(':');
  graph_.add_tensor(token.text, reader_.type(), role);
}

void Parser::outputs() {
  std::vector<Value> values;
  std::vector<std::string> names;
  const Location place = reader_.here();
  if (!reader_.peek().is_symbol('}')) {
    do {
      output(values, names);
    } while (reader_.accept(','));
  }
  detail::with_prefix(to_string(place), [&] { block_->set_outputs(std::move(values), std::move(names)); });
}

void Parser::output(std::vector<Value>& values, std::vector<std::string>& names) {
  if (reader_.peek().is_symbol('@')) {
    values.push_back(reference());
    names.push_back(values.back().name());
    return;
  }
  const Token token = reader_.name("an output or '}'");
  values.push_back(reader_.accept('=') ? reference() : value_of(token));
  names.push_back(token.text);
}

void Parser::operation() {
  const Location place = reader_.here();
  OpSpec spec{};
  spec.name = new_name(depth_ == 0 ? "an operation, a tensor or 'return'" : "an operation or 'return'");
  spec.location = place;
  reader_.expect('=');
  const OpInfo& info = operator_info();
  spec.info = &info;
  Operands operands(info);
  reader_.expect('(');
  bool first = true;
  reader_.list(')', [&] { operand(operands, std::exchange(first, false)); });
  spec.operands = std::move(operands).flat();
  if (reader_.accept('{')) spec.attributes = attributes(info);
  const std::string name = spec.name;
  const Op op = graph_.insert(std::move(spec), block_);
  if (op.name() != name) fail(errors::name_taken(to_string(place), name));
  if (!options_.locations) op.node()->location = {};
  if (reader_.accept_word("at")) op.node()->location = reader_.location();
  regions(op);
  if (info.flow != Flow::none) op.close_regions();
}

const OpInfo& Parser::operator_info() {
  const Token token = reader_.name("an operator");
  return require_operator(token.text, to_string(Location{reader_.here().file, token.line}));
}

void Parser::operand(Operands& operands, bool first) {
  const bool may_be_first = first && !operands.given.empty();
  if (may_be_first && (reader_.peek().is_symbol('@') || reader_.peek().is_symbol('['))) return operand_at(operands, 0);
  const Token token = reader_.key("PORT=VALUE");
  if (!reader_.accept('=')) {
    if (!may_be_first || operands.info.inputs[0].variadic || !token.is_name())
      reader_.fail_expected(token, "PORT=VALUE");
    operands.given[0] = true;
    operands.fixed[0] = value_of(token);
    return;
  }
  const int port = operands.info.input(token.text);
  if (port < 0) {
    reader_.fail_expected(token, fmt::format("an input of {}", operands.info.name),
                          did_you_mean(token.text, names_of(operands.info.inputs)));
  }
  if (operands.given[static_cast<size_t>(port)]) reader_.fail_expected(token, "each input once");
  operand_at(operands, port);
}

void Parser::operand_at(Operands& operands, int port) {
  operands.given[static_cast<size_t>(port)] = true;
  if (!operands.info.inputs[static_cast<size_t>(port)].variadic) {
    operands.fixed[static_cast<size_t>(port)] = reference();
    return;
  }
  reader_.expect('[');
  reader_.list(']', [&] { operands.further.push_back(reference()); });
}

Attributes Parser::attributes(const OpInfo& info) {
  Attributes attributes;
  reader_.list('}', [&] {
    const Token token = reader_.key("an attribute");
    if (info.attribute(token.text) == nullptr) {
      reader_.fail_expected(token, fmt::format("an attribute of {}", info.name),
                            did_you_mean(token.text, names_of(info.attributes)));
    }
    reader_.expect(':');
    if (!attributes.emplace(token.text, reader_.attribute()).second)
      reader_.fail_expected(token, "each attribute once");
  });
  return attributes;
}

void Parser::regions(Op op) {
  for (const std::string& name : op.info().regions) {
    const Token token = reader_.peek();
    if (!reader_.accept_word("region")) reader_.fail_expected(token, fmt::format("'region {}'", name));
    region(op, name);
  }
}

void Parser::region(Op op, const std::string& name) {
  const Token token = reader_.key("the name of a region");
  if (token.text != name) reader_.fail_expected(token, fmt::format("'{}'", name));
  if (++depth_ > kMaxRegionDepth)
    reader_.fail_expected(token, fmt::format("at most {} regions in each other", kMaxRegionDepth));
  Block* const outer = std::exchange(block_, &graph_.add_region(op));
  arguments();
  reader_.expect('{');
  statements();
  block_ = outer;
  --depth_;
}

std::string Parser::new_name(std::string_view what) {
  Token token = reader_.name(what);
  if (graph_.value(token.text) || graph_.op(token.text)) reader_.fail_expected(token, "a name that is not taken");
  return std::move(token.text);
}

Value Parser::reference() {
  if (!reader_.accept('@')) return value_of(reader_.name("a value"));
  return tensor_of(reader_.name("the name of a tensor"));
}

Value Parser::tensor_of(const Token& token) const {
  if (const Value tensor = graph_.tensor(token.text)) return tensor;
  std::vector<std::string> names;
  for (const Value tensor : graph_.tensors()) names.push_back(tensor.name());
  reader_.fail_expected(token, "a tensor that is declared before", did_you_mean(token.text, names));
}

Value Parser::value_of(const Token& token) const {
  const Value value = graph_.value(token.text);
  if (value && value.block() == block_) return value;
  const bool is_outside = value && is_around(value, block_);
  reader_.fail_expected(
      token, is_outside ? "a value of this region: capture it as an operand" : "a value that is defined before",
      is_outside ? "" : did_you_mean(token.text, visible_names(*block_)));
}

}  // namespace

Graph parse(std::string_view text, const std::string& file, const ParseOptions& options) {
  if (text.size() > kMaxTextBytes) fail(errors::text_too_large(file, text.size(), kMaxTextBytes));
  return Parser(text, file, options).graph();
}

}  // namespace halfstep
