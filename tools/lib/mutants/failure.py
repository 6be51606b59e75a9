class Failure(Exception):
    """Why the mutants cannot be tried, in words for whoever runs the tool."""
