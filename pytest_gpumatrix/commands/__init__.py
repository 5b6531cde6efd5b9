"""The commands, one file each: it gathers inputs, calls one stage, and prints what comes of it."""
