#include "cli/program.h"

int main(int count, char** arguments) { return halfstep::cli::run(count, arguments); }
