"""All mutants, by area."""

import areas_accept
import areas_console
import areas_engine
import areas_model
import areas_transport
from failure import Failure


def load():
    """The mutants in their order; names are unique."""
    mutants = [m for module in (areas_model, areas_engine, areas_accept, areas_transport, areas_console) for area in module.AREAS for m in area.mutants]
    names = [mutant.name for mutant in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Failure(f"two mutants of one name: {', '.join(sorted(twice))}")
    return mutants
