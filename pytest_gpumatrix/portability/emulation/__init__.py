"""One GPU poses as another: what code asks of it, its memory, and the operators that its libraries refuse."""
