package import APITypes
package import ActivityModel
import DeliveryStore
import Postgres
import Registry
package import Store

/// A page of a long list of users and devices.
package struct AudienceListPage: Sendable, Hashable {
    /// Pages count from 1. An empty list is its own last page, with the number 0.
    package let number: Int
    package let members: Audience
    /// How many users and devices the list has named up to the end of this page.
    package let lines: Int
    /// A hash of the list up to the end of this page.
    package let digest: [UInt8]
    package let isLast: Bool

    package init(number: Int, members: Audience, lines: Int, digest: [UInt8], isLast: Bool) {
        self.number = number
        self.members = members
        self.lines = lines
        self.digest = digest
        self.isLast = isLast
    }
}

/// How much of a long list is stored. The answer of a complete list is counted.
package typealias AudienceListProgress = KeptProgress<AudienceCounts>

extension Intake {
    /// Adds one page of a long list to the audience of an activity, in one transaction. The pages come in order.
    ///
    /// An idempotency key stores the progress with the page. A stored page changes nothing when it comes again, so a
    /// caller sends a list that broke off again from its beginning. Without a key, adding a page again changes only
    /// what others have changed since.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - id: the activity.
    ///   - page: the page.
    ///   - known: what the page before returned. It saves the look at the database for pages that are stored.
    ///   - idempotency: the key of the whole list. Its body hash does not matter.
    /// - Returns: How much of the list is stored. With the last page, its answer is complete.
    /// - Throws: 404; 409 `activity_ended`; 409 `idempotency_key_reused` if the key came with another list; 422
    ///   `alert_required` if somebody is added and there is no alert.
    package func addToAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ page: AudienceListPage,
        after known: AudienceListProgress? = nil,
        idempotency: IdempotencyKey? = nil
    ) async throws -> AudienceListProgress {
        if idempotency != nil, let known, !page.isLast, try known.covers(page) { return known }
        let facts = try await facts(app, id)
        var fallback: AlertContent?
        if !page.members.isEmpty { fallback = try await registry.typeContext(app, facts.typeName).policy.startAlert }
        let change = AudienceChange(
            app: app,
            facts: facts,
            request: AudienceRequest(add: page.members),
            policyAlert: fallback
        )
        // A report settles starts in an order of its own.
        let stored = try await database.withYieldingTransaction { connection in
            try await Self.write(page, change, for: idempotency, on: connection)
        }
        wakeUps.signal()
        guard page.isLast else { return stored }
        var counted = stored
        let answer = KeptAnswers<AudienceCounts>.Known(answer: stored.answer, status: 202, uncounted: stored.uncounted)
        counted.answer = try await CountedAnswer(answer, for: idempotency?.forBody(stored.bodyHash))
            .counted(in: database)
        return counted
    }

    private static func write(
        _ page: AudienceListPage,
        _ change: AudienceChange,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws -> AudienceListProgress {
        var isNew = true
        if let key {
            // The same list may come twice at the same time. The second one waits here, and then sees the page.
            try await change.lock(on: connection)
            if var kept = try await AudienceListProgress.read(key, on: connection) {
                isNew = try !kept.covers(page)
                kept.isKept = !isNew
                if !isNew, kept.isComplete || !page.isLast {
                    kept.isReplay = page.isLast
                    return kept
                }
            }
        }
        if isNew { try await change.carryOut(on: connection) }
        var progress = AudienceListProgress(
            answer: AudienceCounts(lines: page.lines, pages: page.number),
            bodyHash: page.digest,
            isComplete: page.isLast,
            uncounted: page.isLast ? change.facts.key : nil
        )
        progress.isKept = !isNew
        if let key { try await progress.keep(for: key, on: connection) }
        return progress
    }
}

extension KeptProgress where Answer == AudienceCounts {
    /// Whether the page is stored. Only the number of earlier pages is kept. The hash of the last stored page covers
    /// them all, so another list is noticed there.
    ///
    /// - Throws: 409 if the list differs from the one that is kept.
    fileprivate func covers(_ page: AudienceListPage) throws(Problem) -> Bool {
        // A request in JSON has no pages.
        guard let pages = answer.pages else { throw .idempotencyKeyReused() }
        let isSame =
            if page.number < pages {
                !page.isLast
            } else if page.number == pages {
                page.digest == bodyHash && (page.isLast || !isComplete)
            } else {
                !isComplete
            }
        guard isSame else { throw .idempotencyKeyReused() }
        return page.number <= pages
    }
}
