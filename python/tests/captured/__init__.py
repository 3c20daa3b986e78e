"""Python functions that become programs."""
