package import ActivityModel
package import Postgres
package import Store

/// One update token to send to.
package struct Destination: Sendable {
    package let deviceKey: Int64
    package let token: PushToken
    /// Budget class: the device allows frequent pushes.
    package let frequent: Bool
    /// Tries in a row that failed.
    package let failures: Int
    /// A revision that the card certainly has; 0 for one that just joined.
    package let knownRevision: Revision
    /// A revision that the phone is known to have; what APNs accepted proves nothing.
    package let confirmedRevision: Revision
    /// While it is served by its own row: alerts and must-deliver changes up to this revision are not owed to it.
    package let heardRevision: Revision
    /// The card is to be ended and forgotten.
    package let leaving: Bool
    /// Whether its app can decode the newest state. If not, only an end without it may be sent.
    package var canDecode = true
    /// Must-deliver changes before this revision are not owed to it: its app could not decode all of them, or nobody
    /// asked.
    package var decodesFrom: Revision = 0

    /// One whose app decodes all.
    package init(
        deviceKey: Int64,
        token: PushToken,
        frequent: Bool,
        failures: Int,
        knownRevision: Revision,
        confirmedRevision: Revision,
        heardRevision: Revision,
        leaving: Bool
    ) {
        self.deviceKey = deviceKey
        self.token = token
        self.frequent = frequent
        self.failures = failures
        self.knownRevision = knownRevision
        self.confirmedRevision = confirmedRevision
        self.heardRevision = heardRevision
        self.leaving = leaving
    }
}

extension Destination {
    /// The statement that reads a page of the cards of a ring that are due, in the order of their devices. It returns no card
    /// if `newest` is not the newest revision any more: its app may not decode a state that came since. An app version that
    /// decodes states again since then is settled first.
    ///
    /// The order and the bounds name all columns before the device. Only one index has that order, so the server cannot read
    /// the cards of other rings to sort them.
    package static func due(
        in activityKey: Int64,
        _ range: RingRange,
        ifNewestIs newest: Revision,
        limit: Int
    ) -> Query {
        """
        SELECT \(unescaped: columns), \(unescaped: canDecode), \(unescaped: decodesFrom)
        FROM subscriptions
        WHERE (activity_key, mode, device_key) > (\(activityKey), 'token', \(range.after))
          AND (activity_key, mode, device_key) <= (\(activityKey), 'token', \(range.through))
          AND state = 'due' AND due_at <= now()
          AND EXISTS (SELECT FROM activities AS a WHERE a.activity_key = \(activityKey) AND a.revision = \(newest))
        ORDER BY activity_key, mode, device_key LIMIT \(limit)
        """
    }

    /// The columns of a destination in `subscriptions`. Without ``canDecode`` and ``decodesFrom``, its app decodes all.
    package static let columns = """
        device_key, update_token, frequent, failures, known_revision, confirmed_revision, heard_revision, leaving
        """

    /// Whether the newest state is not withheld from the app of the card `subscriptions`.
    ///
    /// OFFSET makes the server look for each card. Without it a server that expects many cards reads all devices first.
    private static let canDecode = """
        NOT EXISTS (\(versionRow) AND v.is_withheld OFFSET 0) AS can_decode
        """

    /// The revision from which on the app of the card `subscriptions` can decode all states.
    private static let decodesFrom = "coalesce((\(versionRow)), 0) AS decodes_from"

    private static let versionRow = """
        SELECT v.decodes_from FROM activity_app_versions AS v JOIN devices AS d ON v.app_version = \(CardVersions.appVersion)
        WHERE v.activity_key = subscriptions.activity_key AND d.device_key = subscriptions.device_key
        """

    /// Runs a query of ``due(in:_:ifNewestIs:limit:)``.
    package static func read(_ query: Query, from database: Database) async throws -> [Destination] {
        try await database.query(query).compactMap { try Destination($0) }
    }

    /// A CHECK keeps the token's length within the bounds that make this nil.
    private init?(_ row: Row) throws {
        guard let token = PushToken(bytes: try row["update_token"]) else { return nil }
        self.token = token
        deviceKey = try row["device_key"]
        frequent = try row["frequent"]
        failures = try row["failures"]
        knownRevision = try row["known_revision"]
        confirmedRevision = try row["confirmed_revision"]
        heardRevision = try row["heard_revision"]
        leaving = try row["leaving"]
        canDecode = try row["can_decode"]
        decodesFrom = try row["decodes_from"]
    }

    /// The statement that forgets cards which were ended on their phones (`settled`), or cannot be.
    ///
    /// A card whose token was replaced meanwhile keeps its row: the new token is owed the end.
    package static func forget(_ destinations: [Destination], settled: [Destination], _ activityKey: Int64) -> Query {
        let ended = Set(settled.map(\.deviceKey))
        return """
            DELETE FROM subscriptions AS s
            USING unnest(
                \(destinations.map { _ in activityKey }), \(destinations.map(\.deviceKey)),
                \(destinations.map(\.token.bytes)), \(destinations.map { ended.contains($0.deviceKey) })
            ) AS d(activity_key, device_key, token, has_ended)
            WHERE \(unescaped: Query.byKey("s", "d", "activity_key", "device_key"))
              AND s.update_token = d.token AND s.leaving AND (d.has_ended OR s.state IN ('dead', 'rejected'))
            """
    }

    /// The condition that a card is due. Written so that the index of all due cards does not fit: cards are found by key.
    private static let isDue = "CASE s.state WHEN 'due' THEN true ELSE false END"

    /// The statement for destinations that were sent a must-deliver change which is not the newest: what is newer is
    /// due now.
    package static func owedMore(_ destinations: [Destination], _ activityKey: Int64, than revision: Revision) -> Query
    {
        """
        UPDATE subscriptions AS s
        SET due_at = clock_timestamp(), failures = 0, reason = NULL,
            known_revision = greatest(s.known_revision, \(revision)), heard_revision = \(revision)
        FROM unnest(
            \(destinations.map { _ in activityKey }), \(destinations.map(\.deviceKey)), \(destinations.map(\.token.bytes))
        ) AS d(activity_key, device_key, token)
        WHERE \(unescaped: Query.byKey("s", "d", "activity_key", "device_key"))
          AND s.update_token = d.token AND \(unescaped: isDue)
        """
    }

    /// The statement that gives destinations back to the ring after they were sent a revision (or had it).
    ///
    /// A destination whose token was replaced meanwhile keeps its row: the new token is owed a push of its own. A
    /// destination that is to leave meanwhile keeps it, too: it is owed its end.
    package static func backOnRing(_ destinations: [Destination], _ activityKey: Int64, _ revision: Revision) -> Query {
        """
        UPDATE subscriptions AS s
        SET state = 'riding', due_at = NULL, failures = 0, reason = NULL,
            known_revision = greatest(s.known_revision, \(revision))
        FROM unnest(
            \(destinations.map { _ in activityKey }), \(destinations.map(\.deviceKey)), \(destinations.map(\.token.bytes))
        ) AS d(activity_key, device_key, token)
        WHERE \(unescaped: Query.byKey("s", "d", "activity_key", "device_key"))
          AND s.update_token = d.token AND \(unescaped: isDue) AND NOT s.leaving
        """
    }
}
