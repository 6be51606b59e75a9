package import ActivityModel
package import Postgres
package import Store

/// A change with the stamp under which it leaves.
package struct ChangeToSend: Sendable {
    package let revision: Revision
    package var kind: ChangeKind
    package let contentState: CompactJSON
    package var alert: AlertContent?
    let urgency: Urgency
    /// Whether every destination is to get a push of its own for it.
    var mustDeliver = false
    /// The aps timestamp, UNIX seconds. Committed before any push carries it.
    package var timestamp: Timestamp
    var hints: CardHints
    var dismissAfterSeconds: Int?
    /// UNIX seconds.
    var dismissAt: Timestamp?
    /// When it was accepted, as this daemon's own clock would have said.
    let acceptedAt: ContinuousClock.Instant
    /// The priorities that it was given already.
    package var priorities: [BudgetClass: GivenPriority] = [:]
    /// When it was read, by the database's clock.
    package let readAt: PGTimestamp
    /// The request that brought it.
    package let origin: RequestOrigin?
    /// Whether it was on record, when it was read, that some of it was sent.
    package var isSent = false
    /// Whether it counts as sent once the first ring has completed it.
    var isSentWithRing = false

    /// The same state as an end that removes the card at once. It is for a card that leaves before its activity ends.
    package var asEnd: ChangeToSend {
        var end = self
        end.kind = .end
        end.alert = nil
        end.mustDeliver = false
        end.timestamp += 1
        end.hints = CardHints()
        end.dismissAfterSeconds = 0
        end.dismissAt = nil
        return end
    }

    /// The newest revision that a card has heard if this push fails. If the push was to bring the alert of `alert`,
    /// that is all before the alert. If the change must be delivered, it is also all before the change.
    package func heard(missing alert: Revision?) -> Revision {
        min(alert.map { $0 - 1 } ?? revision, mustDeliver ? revision - 1 : revision)
    }
}

/// The newest alert that a card has not heard, on its way with a change that is its own or a newer one.
package struct OwedAlert: Sendable, Hashable {
    package let revision: Revision
    package let content: AlertContent
}

/// So many changes came so quickly that the next stamp would run ahead of the clock. After the wait the newest change
/// is sent, and the others are merged into it.
package struct StampTooEarly: Error, Sendable {
    /// How long until it may leave.
    package let wait: Duration
}
