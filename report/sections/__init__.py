"""The parts of the document that belong to no experiment, one module each."""
