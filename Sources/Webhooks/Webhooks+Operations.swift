package import APITypes
package import ActivityModel
import Cryptography
import JSON
import Postgres
import Record
import ReportTypes
import Store

extension Webhooks {
    /// The most webhooks of an app.
    static let mostOfApp = 100

    /// Makes or changes a webhook. A new webhook gets the events that happen from now on. A change also ends a pause.
    ///
    /// - Throws: 404 for an unknown app; 422 for a URL that webhooks may not have, a wrong secret, an unknown kind, or
    ///   one webhook too many.
    package func put(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest
    ) async throws -> WebhookResource {
        let given = try checkedSecret(of: request)
        return try await store.database.withTransaction { connection in
            // The lock lets one request at a time decide whether a secret is made.
            let apps = try await connection.query(
                "SELECT FROM apps WHERE bundle_id = \(app.rawValue) FOR NO KEY UPDATE"
            )
            if apps.isEmpty { throw Problem.notFound("the app") }
            let before = try await Self.webhook(app, id, on: connection)
            if before == nil { try await Self.requireRoom(app, on: connection) }
            let new = given ?? (before == nil ? WebhookSecret.generate() : nil)
            let sealed = try new.map {
                try SecretSeal.webhook(app, id).seal($0.bytes, under: store.masterKeys)
            }
            let rows = try await connection.query(
                before == nil
                    ? Self.insertion(app, id, request, sealed: sealed) : Self.change(app, id, request, sealed: sealed)
            )
            guard var made = try Self.webhooks(rows).first else { throw Problem.internalError() }
            try await AuditRows.record(
                .webhookChanged,
                of: app,
                id.rawValue,
                before: before?.recorded,
                after: made.recorded,
                on: connection
            )
            if given == nil { made.secret = new?.text }
            return made
        }
    }

    /// The webhooks of an app, in the order of their ids.
    ///
    /// - Throws: 404 for an unknown app.
    package func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<WebhookResource> {
        let place = try page.position(in: .webhooks, WebhookID.self)
        let after = place?.rawValue
        let rows = try await store.database.query(
            """
            SELECT \(unescaped: Self.webhookColumns) FROM webhooks
            WHERE bundle_id = \(app.rawValue) AND (\(after)::text IS NULL OR webhook_id > \(after))
            ORDER BY webhook_id LIMIT \(page.limit + 1)
            """
        )
        let found = try Self.webhooks(rows)
        if found.isEmpty { try await store.requireApp(app) }
        return .cut(found, of: .webhooks, limit: page.limit) { [$0.id.rawValue] }
    }

    /// One webhook.
    ///
    /// - Throws: 404.
    package func webhook(_ app: BundleID, _ id: WebhookID) async throws -> WebhookResource {
        let found = try await store.database.withConnection { try await Self.webhook(app, id, on: $0) }
        guard let found else { throw Problem.notFound("the webhook") }
        return found
    }

    /// Deletes a webhook. A request that is on its way may still arrive.
    ///
    /// - Throws: 404.
    package func delete(_ app: BundleID, _ id: WebhookID) async throws {
        try await store.database.withTransaction { connection in
            let rows = try await connection.query(
                """
                DELETE FROM webhooks WHERE bundle_id = \(app.rawValue) AND webhook_id = \(id.rawValue)
                RETURNING \(unescaped: Self.webhookColumns)
                """
            )
            guard let before = try Self.webhooks(rows).first else { throw Problem.notFound("the webhook") }
            try await AuditRows.record(.webhookDeleted, of: app, id.rawValue, before: before.recorded, on: connection)
        }
    }

    /// Delivers the events since a time again, and then what comes after them. It does not end a pause.
    ///
    /// The order of events is not exactly that of their times, so a few older ones may come as well.
    ///
    /// - Throws: 404.
    package func replay(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookReplayRequest
    ) async throws -> WebhookResource {
        let place = try await record.events.place(before: request.since)
        return try await store.database.withTransaction { connection in
            // Never forwards: that would pass over events that were not delivered.
            let rows = try await connection.query(
                """
                UPDATE webhooks SET version = version + 1, message_id = NULL, next_try_at = NULL,
                    (transaction_id, event_id, read_at) = (
                        SELECT p.transaction_id, p.event_id, p.at FROM (VALUES
                            (transaction_id, event_id, read_at),
                            (\(String(place.transaction))::xid8, \(place.event)::bigint,
                             greatest(\(request.since.stored), clock_timestamp() - \(store.settings.eventRetention)))
                        ) AS p(transaction_id, event_id, at)
                        ORDER BY p.transaction_id, p.event_id LIMIT 1
                    )
                WHERE bundle_id = \(app.rawValue) AND webhook_id = \(id.rawValue)
                RETURNING \(unescaped: Self.webhookColumns)
                """
            )
            guard let webhook = try Self.webhooks(rows).first else { throw Problem.notFound("the webhook") }
            try await AuditRows.record(
                .webhookReplayed,
                of: app,
                id.rawValue,
                after: ["since": .string(request.since.description)],
                on: connection
            )
            return webhook
        }
    }

    // MARK: Checks

    private func checkedSecret(of request: WebhookRequest) throws(Problem) -> WebhookSecret? {
        var errors: [FieldError] = []
        func refuse(_ field: String, _ message: String) {
            let pointer = JSONPointer().appending(field)
            errors.append(FieldError(pointer: pointer, code: FieldError.invalidValue, message: message))
        }
        if let refusal = sender?.refusal(of: request.url) { refuse("url", refusal) }
        let unknown = (request.events ?? []).filter { Event.Kind(known: $0) == nil }
        if !unknown.isEmpty || request.events?.isEmpty == true {
            let known = Event.Kind.known.map { "'\($0)'" }.joined(separator: ", ")
            refuse("events", "At least one is expected, and each of: \(known).")
        }
        let secret = request.secret.flatMap { WebhookSecret($0) }
        if request.secret != nil, secret == nil {
            refuse("secret", "'whsec_' and the base64 of 24 to 64 bytes are expected.")
        }
        if !errors.isEmpty { throw .invalidRequest(errors) }
        return secret
    }

    /// The caller has locked the app.
    private static func requireRoom(_ app: BundleID, on connection: PostgresConnection) async throws {
        let rows = try await connection.query("SELECT count(*) FROM webhooks WHERE bundle_id = \(app.rawValue)")
        guard try rows.single(Int64.self) ?? 0 < Int64(mostOfApp) else {
            throw Problem.invalidRequest("An app has at most \(mostOfApp) webhooks. Delete one first.")
        }
    }

    // MARK: Rows

    private static func insertion(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest,
        sealed: [UInt8]?
    ) -> Query {
        """
        INSERT INTO webhooks (bundle_id, webhook_id, url, kinds, batch_size, secret_sealed, pause_reason, paused_at,
            transaction_id, event_id)
        VALUES (\(app.rawValue), \(id.rawValue), \(request.url), \(request.kinds)::text[], \(Int16(request.maxEvents)), \(sealed),
            \(request.pauseReason), CASE WHEN \(request.isPaused) THEN clock_timestamp() END,
            \(unescaped: EventVisibility.bound), 0)
        RETURNING \(unescaped: webhookColumns)
        """
    }

    /// A message whose events would be others is given up: its events come in another one.
    private static func change(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest,
        sealed: [UInt8]?
    ) -> Query {
        """
        UPDATE webhooks
        SET url = \(request.url), kinds = \(request.kinds)::text[], batch_size = \(Int16(request.maxEvents)),
            secret_sealed = coalesce(\(sealed), secret_sealed), pause_reason = \(request.pauseReason),
            paused_at = CASE WHEN \(request.isPaused) THEN coalesce(paused_at, clock_timestamp()) END,
            version = version + 1, failures = 0, failing_since = NULL, next_try_at = NULL, last_error = NULL,
            message_id = CASE WHEN kinds IS NOT DISTINCT FROM \(request.kinds)::text[] THEN message_id END
        WHERE bundle_id = \(app.rawValue) AND webhook_id = \(id.rawValue)
        RETURNING \(unescaped: webhookColumns)
        """
    }

    private static func webhook(
        _ app: BundleID,
        _ id: WebhookID,
        on connection: PostgresConnection
    ) async throws -> WebhookResource? {
        let rows = try await connection.query(
            """
            SELECT \(unescaped: webhookColumns) FROM webhooks
            WHERE bundle_id = \(app.rawValue) AND webhook_id = \(id.rawValue)
            """
        )
        return try webhooks(rows).first
    }

    private static var webhookColumns: String {
        """
        webhook_id, url, kinds, batch_size, pause_reason, created_at, delivered_at, failing_since, last_error, \
        next_try_at
        """
    }

    private static func webhooks(_ rows: Rows) throws -> [WebhookResource] {
        try rows.map { row in
            let pause: String? = try row["pause_reason"]
            return WebhookResource(
                id: WebhookID(stored: try row["webhook_id"]),
                url: try row["url"],
                events: try row["kinds"],
                maxEvents: try row["batch_size"],
                pausedBecause: try pause.map { word throws in try .stored(word) },
                createdAt: try row["created_at"],
                deliveredAt: try row["delivered_at"],
                failingSince: try row["failing_since"],
                lastError: try row["last_error"],
                nextTryAt: try row["next_try_at"]
            )
        }
    }
}

extension WebhookRequest {
    /// In the order of ``Event/Kind/known``, each once.
    fileprivate var kinds: [String]? {
        events.map { wanted in Event.Kind.known.map(\.word).filter(wanted.contains) }
    }

    fileprivate var pauseReason: String? { isPaused ? WebhookPause.operatorAsked.rawValue : nil }
}
