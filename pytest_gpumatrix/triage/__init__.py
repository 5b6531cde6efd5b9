"""Why it went wrong: rules (data) over texts."""
