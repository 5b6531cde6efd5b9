"""How tests meet GPUs: which column runs, gating, recording. Loaded only when asked."""
