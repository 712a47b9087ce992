#include "profile_program.hpp"

int main(int argc, char** argv) { return dooly::profiling::run_profile(argc, argv, {}); }
