# Formatting and static analysis, with the tools of clang 16 (14 rejects C++20 that g++ 12 takes).
