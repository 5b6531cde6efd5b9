"""The only code that knows GitHub's environment and files."""
