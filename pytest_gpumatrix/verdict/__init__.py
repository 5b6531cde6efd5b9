"""What changed: one Verdict from head and base results. Pure."""
