import APITypes
import ActivityModel
import DeliveryStore
import Postgres
import Store

extension ActivityFacts {
    /// The facts of an activity that has just been started.
    convenience init(_ activity: NewActivity) {
        let proposal = activity.proposal
        self.init(
            started: activity.key,
            typeName: proposal.request.type,
            environment: activity.environment,
            delivery: proposal.request.delivery,
            attributes: proposal.attributes,
            startAlert: proposal.alert
        )
    }
}

extension Intake {
    /// The facts of an activity.
    ///
    /// - Throws: 404 if the activity does not exist.
    func facts(_ app: BundleID, _ id: ActivityID) async throws -> ActivityFacts {
        try (await facts(of: [ActivityFacts.Name(app: app, id: id)]).first ?? .failure(Problem.internalError())).get()
    }

    /// The facts of several activities in their order. Those that are not cached are read together. 404 for activities
    /// that do not exist.
    func facts(of names: [ActivityFacts.Name]) async -> [Result<ActivityFacts, any Error>] {
        // Nil until it is known.
        var results: [Result<ActivityFacts, any Error>?] = []
        var unknown: [Int] = []
        let generation = facts.generation
        for (place, name) in names.enumerated() {
            if case .fresh(let facts) = facts.lookUp(name), !facts.isPast {
                results.append(.success(facts))
            } else {
                unknown.append(place)
                results.append(nil)
            }
        }
        let answers = await groups.facts.submit(unknown.map { (names[$0], names[$0]) })
        for (place, answer) in zip(unknown, answers) {
            results[place] = answer.flatMap { facts -> Result<ActivityFacts, any Error> in
                guard let facts else { return .failure(Problem.notFound("the activity")) }
                self.facts.store(facts, for: names[place], lookedUpIn: generation)
                return .success(facts)
            }
        }
        return results.compactMap { $0 }
    }
}
