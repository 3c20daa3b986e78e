// The files of a C program. Internal to this room.
#pragma once

#include "halfstep/formats/c/body.h"
#include "halfstep/formats/c/c_program.h"

namespace halfstep::formats::c {

/// Conversion between the network's float values and codes, outside of NAME_run.
struct EndText {
  std::string verb;  ///< "quantize" or "dequantize"
  CPort port;
  std::string call;
};

struct SourceParts {
  const CProgram& program;
  const Body& body;
  const Body& ends;  ///< functions and constants of `end_texts`
  const std::vector<EndText>& end_texts;
  bool hooks = false;
  std::string network;  ///< name of the network
};

std::string header_text(const SourceParts& parts);
std::string source_text(const SourceParts& parts);

/// Converts to capitals.
std::string upper(std::string text);
/// Returns the parameters of NAME_run: "const uint8_t *x, uint8_t *logits".
std::string run_parameters(const CProgram& program);
/// Returns "NAME_quantize", with the port if there are several of its kind.
std::string end_function(const CProgram& program, const EndText& end);
/// Returns the name for a port.
std::string end_function(const CProgram& program, const std::string& verb, const CPort& port);

}  // namespace halfstep::formats::c
