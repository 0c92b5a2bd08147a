"""Compiled loops without the compiler: machine code on disk, and memory by its address."""
