// redline: picks the command, prints an Error as one line, sets the exit code.
#include <cstdio>
int main() { std::puts("redline"); }
