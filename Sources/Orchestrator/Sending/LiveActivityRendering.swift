import ActivityModel

/// One change of one activity on its way to a body.
struct LiveActivityRendering: Sendable {
    let change: ChangeToSend
    /// The alert that rides on it: its own or an older one that was not heard yet.
    let alert: AlertContent?
    let activity: ActivitySnapshot

    private var content: LiveActivityBody.Content {
        LiveActivityBody.Content(
            contentState: self.change.contentState,
            alert: self.alert,
            staleAfterSeconds: self.change.staleAfterSeconds ?? self.activity.policy.staleAfterSeconds,
            relevanceScore: self.change.relevanceScore
        )
    }

    /// The body for a card that is there: an end if the change is one, else an update.
    ///
    /// A card that catches up with the start itself is updated to its state: it cannot be started twice.
    func body() -> [UInt8] {
        switch self.change.kind {
        case .start, .update:
            LiveActivityBody.update(self.content, timestamp: self.change.timestamp)
        case .end:
            LiveActivityBody.end(
                contentState: self.change.contentState,
                alert: self.alert,
                dismissal: Dismissal(
                    dismissAt: self.change.dismissAt,
                    dismissAfterSeconds: self.change.dismissAfterSeconds,
                    policy: self.activity.policy
                ),
                timestamp: self.change.timestamp
            )
        }
    }

    /// The body that starts a card with the state of this change.
    func start(inputPush: LiveActivityBody.InputPush) -> [UInt8] {
        LiveActivityBody.start(
            self.activity.typeName,
            attributes: self.activity.attributes,
            content: self.content,
            timestamp: self.change.timestamp,
            inputPush: inputPush
        )
    }
}
