"""What a test needs of a GPU, and whether a profile has it."""
