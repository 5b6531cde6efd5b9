"""The only code that knows GITHUB_*: what a step of a workflow is given, and what it tells its runner."""
