package import ActivityModel

/// One change of one activity on its way to a body.
package struct LiveActivityRendering: Sendable {
    let change: ChangeToSend
    /// The alert that rides on it: its own or an older one that was not heard yet.
    let alert: AlertContent?
    let activity: ActivitySnapshot

    package init(change: ChangeToSend, alert: AlertContent?, activity: ActivitySnapshot) {
        self.change = change
        self.alert = alert
        self.activity = activity
    }

    private var content: LiveActivityBody.Content {
        var hints = change.hints
        hints.staleAfterSeconds = hints.staleAfterSeconds ?? activity.policy.staleAfterSeconds
        return LiveActivityBody.Content(contentState: change.contentState, alert: alert, hints: hints)
    }

    /// The body for a card that is there: an end if the change is one, else an update.
    ///
    /// A card that catches up with the start itself is updated to its state: it cannot be started twice. Without its
    /// content, an end leaves on the card what it shows.
    package func body(leavingOutContent: Bool = false) -> [UInt8] {
        switch change.kind {
        case .start, .update:
            LiveActivityBody.update(content, timestamp: change.timestamp)
        case .end:
            LiveActivityBody.end(
                contentState: leavingOutContent ? nil : change.contentState,
                alert: alert,
                dismissal: Dismissal(
                    dismissAt: change.dismissAt,
                    dismissAfterSeconds: change.dismissAfterSeconds,
                    policy: activity.policy
                ),
                timestamp: change.timestamp
            )
        }
    }

    /// The body that starts a card with the state of this change.
    package func start(inputPush: LiveActivityBody.InputPush) -> [UInt8] {
        LiveActivityBody.start(
            activity.typeName,
            attributes: activity.attributes,
            content: content,
            timestamp: change.timestamp,
            inputPush: inputPush
        )
    }
}
