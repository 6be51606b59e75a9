import APITypes
package import ActivityModel
package import Postgres
import Store

extension Registry {
    /// An activity type with all its versions, compiled; believed for a second.
    ///
    /// - Throws: 422 `unknown_type` if the app has no such type.
    package func typeContext(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeContext {
        try await typeContext(app, name) { try await database.query($0) }
    }

    /// The same, read with `query`. A transaction passes its own connection, so that it never waits for a second one
    /// while it holds the first.
    package func typeContext(
        _ app: BundleID,
        _ name: ActivityTypeName,
        on query: (Query) async throws -> Rows
    ) async throws -> TypeContext {
        let key = RegistryCaches.TypeKey(app: app, name: name)
        let lookUp = caches.types.lookUp(key)
        if case .fresh(let context) = lookUp { return context }
        let generation = caches.types.generation
        let rows = try await query(
            """
            SELECT policy::text, updated_at FROM activity_types
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
            """
        )
        guard let (policy, updatedAt) = try rows.first(as: (String, PGTimestamp).self) else {
            caches.types.remove(key)
            throw Problem.unknownType(name)
        }
        if case .outdated(let context) = lookUp, context.updatedAt == updatedAt {
            caches.types.store(context, for: key, lookedUpIn: generation)
            return context
        }
        let versions = try await TypeVersionRows.compiled(app, name, on: query)
        // Versions are committed with their type, and read after it: none means that the type has just been deleted.
        guard !versions.isEmpty else { throw Problem.unknownType(name) }
        let context = TypeContext(
            app: app,
            name: name,
            policy: try Policy.stored(policy),
            versions: versions,
            updatedAt: updatedAt
        )
        caches.types.store(context, for: key, lookedUpIn: generation)
        return context
    }

    /// Runs work that depends on a type, and again if the type was changed while it ran.
    ///
    /// - Throws: What `body` throws; 503 if the type is changed again and again.
    package func withCurrentType<Answer>(
        _ body: () async throws -> Answer
    ) async throws -> Answer {
        for _ in 0..<5 {
            do {
                return try await body()
            } catch let outdated as OutdatedType {
                caches.types.remove(outdated.type)
            }
        }
        throw Self.changing
    }

    /// The same for several requests: repeats only those whose type was changed meanwhile.
    package func withCurrentTypes<Request, Answer>(
        _ requests: [Request],
        _ body: ([Request]) async -> [Result<Answer, any Error>]
    ) async -> [Result<Answer, any Error>] {
        var answers = await body(requests)
        for _ in 1..<5 {
            let outdated = answers.indices.filter { answers[$0].outdatedType != nil }
            guard !outdated.isEmpty else { return answers }
            for type in outdated.compactMap({ answers[$0].outdatedType }) { caches.types.remove(type) }
            let again = await body(outdated.map { requests[$0] })
            for (place, answer) in zip(outdated, again) { answers[place] = answer }
        }
        return answers.map { $0.outdatedType == nil ? $0 : .failure(Self.changing) }
    }

    private static var changing: Problem { .unavailable("The activity type is being changed.", retryAfter: 1) }
}

extension Result {
    /// The type of an ``OutdatedType`` failure.
    fileprivate var outdatedType: RegistryCaches.TypeKey? {
        if case .failure(let error as OutdatedType) = self { error.type } else { nil }
    }
}

/// A type was changed since it was read; what was decided by it does not count.
package struct OutdatedType: Error, Sendable {
    package let type: RegistryCaches.TypeKey
}
