"""Numbers and words as text, citations, and the blocks that the template sets."""
