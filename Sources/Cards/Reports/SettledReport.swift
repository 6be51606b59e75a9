package import APITypes
package import ActivityModel
package import Postgres
package import Store

/// A report of a known device, whose start has been settled: what is to be stored of the card.
package struct SettledReport: Sendable {
    package let key: CardKey
    package let request: SubscriptionRequest
    let revision: Revision?
    let startedAt: PGTimestamp?
    let isLeaving: Bool
    let isNews: Bool

    /// - Parameters:
    ///   - key: The activity and the device of the card.
    ///   - request: What the app reports.
    ///   - revision: A revision that the card certainly has: it says so, or its start carried it.
    ///   - startedAt: When its start left; nil if the app started it itself.
    ///   - isLeaving: Whether the card is to end because its device has left the audience by its topics.
    ///   - isNews: Whether this report, or the start that it settles, tells what the card shows.
    package init(
        key: CardKey,
        request: SubscriptionRequest,
        revision: Revision?,
        startedAt: PGTimestamp?,
        isLeaving: Bool,
        isNews: Bool
    ) {
        self.key = key
        self.request = request
        self.revision = revision
        self.startedAt = startedAt
        self.isLeaving = isLeaving
        self.isNews = isNews
    }

    /// What decides which statement stores it.
    package var kind: ReportRows.Kind {
        let reach: ReportRows.Kind.Reach =
            switch request.report {
            case .updateToken: .token
            case .channelID, .channel: .channel
            case .ended: .nothing
            }
        return ReportRows.Kind(
            reach: reach,
            hasGeneration: request.generation != nil,
            hasInstallation: reach != .nothing && request.installation != nil,
            isNews: isNews,
            isPending: request.isPending
        )
    }
}
