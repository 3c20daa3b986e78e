// Train a network, convert it to integers and verify them, in memory, with the installed library.
#include <halfstep/halfstep.h>

#include <iostream>

int main() {
  using namespace halfstep;
  const api::Dataset data = data::digits();
  const Model network =
      api::train(api::create_network("digits", data, 0), data, {.epochs = 1, .keep_best = false}).model;
  const auto prepared = api::quantize(network, quant::load_platform("generic_int8"), data);
  const auto integer = api::convert(prepared.model);
  const auto proof = api::verify(prepared.model, integer.model, data);
  std::cout << "halfstep " << kVersion << ": " << proof.layers.size() << " layers, "
            << (proof.equal() ? "equal" : "different") << "\n";
  return proof.equal() ? 0 : 1;
}
