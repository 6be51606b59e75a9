package import Orchestrator

extension Orchestrator: TallyService {}
