#include "program.hpp"

int main(int argc, char** argv) { return dooly::cli::run_program(argc, argv); }
