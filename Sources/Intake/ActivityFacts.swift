import APITypes
import ActivityModel
import DeliveryStore
import Postgres
import Store

/// The facts of an activity that do not change between its acceptance and its deletion.
///
/// A class, because every change reads one and many functions pass it on.
final class ActivityFacts: Sendable {
    /// The ids by which callers know it.
    struct Name: Hashable, Sendable {
        let app: BundleID
        let id: ActivityID
    }

    let key: Int64
    let typeName: ActivityTypeName
    let environment: APNSEnvironment
    let delivery: Delivery
    let attributes: CompactJSON
    /// The alert that its start brought. One that comes with an audience later takes its place (``StandingRow``).
    let startAlert: AlertContent?
    /// Whether it ended so long ago that Tally may delete it, and a caller may reuse its id, before the next look-up of
    /// these facts.
    let isPast: Bool

    /// The facts of an activity that has just been started.
    init(_ activity: NewActivity) {
        let proposal = activity.proposal
        key = activity.key
        typeName = proposal.request.type
        environment = activity.environment
        delivery = proposal.request.delivery
        attributes = proposal.attributes
        startAlert = proposal.alert
        isPast = false
    }

    private init(_ row: ActivityFactsRow) {
        key = row.key
        typeName = row.typeName
        environment = row.environment
        delivery = row.delivery
        attributes = row.attributes
        startAlert = row.startAlert
        isPast = row.isPast
    }

    /// Reads the facts of the activities that exist, in one statement.
    static func read(_ names: [Name], from database: Database) async throws -> [Name: ActivityFacts] {
        let names = Array(Set(names))
        let selection = ActivityFactsRow.selection(names.map { (app: $0.app, id: $0.id) })
        guard let rows = try await database.pipeline([.planningOnce, selection]).last else { return [:] }
        var facts: [Name: ActivityFacts] = [:]
        for row in rows {
            let row = try ActivityFactsRow(row)
            facts[Name(app: row.app, id: row.id)] = ActivityFacts(row)
        }
        return facts
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
        var results: [Result<ActivityFacts, any Error>] = []
        var unknown: [Int] = []
        let generation = facts.generation
        for (place, name) in names.enumerated() {
            if case .fresh(let facts) = facts.lookUp(name), !facts.isPast {
                results.append(.success(facts))
            } else {
                unknown.append(place)
                // Takes the place of the answer to come.
                results.append(.failure(Problem.internalError()))
            }
        }
        let answers = await groups.facts.submit(unknown.map { (names[$0], names[$0]) })
        for (place, answer) in zip(unknown, answers) {
            results[place] = answer.flatMap { facts in
                guard let facts else { return .failure(Problem.notFound("the activity")) }
                self.facts.store(facts, for: names[place], lookedUpIn: generation)
                return .success(facts)
            }
        }
        return results
    }
}
