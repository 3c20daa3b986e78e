"""Functions of Python that become programs."""
