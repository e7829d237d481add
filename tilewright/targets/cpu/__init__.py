"""This machine's processor: what it is, and LLVM IR made into code for it."""
