import APNSTransport
import ActivityModel
import DeliveryStore
import Store

/// A change on its way to update tokens or to a channel: what its pushes have in common, whoever they go to.
struct OutgoingChange: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot
    let change: ChangeToSend
    let identity: SigningIdentity
    let detail: TimelineDetail

    /// A body and its header fields, made once for all pushes that are alike.
    struct Form: Sendable {
        let headers: PushHeaders
        let body: [UInt8]
        /// The revision whose state it carries; nil for an end without one.
        let revision: Revision?
        /// Whether there was no room for the alert.
        let dropsAlert: Bool
    }

    /// Apps that could not decode the state get the form with `leavingOutContent`: an end reaches them all the same. The
    /// form for a channel needs the `storage` of the channel.
    func form(
        alert: AlertContent?,
        priority: PushPriority,
        leavingOutContent: Bool = false,
        storage: ChannelStorage? = nil
    ) -> Form {
        let limit: SizeLimit = storage == nil ? .device : .broadcast
        let (body, dropsAlert) = body(alert, leavingOutContent, within: limit)
        return Form(
            headers: PushHeaders(
                bundleID: activity.bundleID,
                priority: priority,
                expiration: activity.policy.expiration(of: change.kind, at: change.timestamp, storage: storage)
            ),
            body: body,
            revision: leavingOutContent ? nil : change.revision,
            dropsAlert: dropsAlert
        )
    }

    /// An alert that one card is owed from earlier was not measured with every later state; the state goes before it.
    private func body(
        _ alert: AlertContent?,
        _ leavingOutContent: Bool,
        within limit: SizeLimit
    ) -> ([UInt8], dropsAlert: Bool) {
        let body = LiveActivityRendering(change: change, alert: alert, activity: activity)
            .body(leavingOutContent: leavingOutContent)
        guard alert != nil, limit.excess(body.count) != nil else { return (body, false) }
        let state = LiveActivityRendering(change: change, alert: nil, activity: activity)
            .body(leavingOutContent: leavingOutContent)
        return (state, true)
    }

    /// Sends, and takes down what became of it.
    func send(_ form: Form, to destinations: Pass.Destinations) async -> BatchOutcome {
        let pass = Pass(
            of: change.kind == .end ? .end : .update,
            in: activity.names,
            identity,
            form.headers,
            form.body,
            segment: lease.segment,
            revision: form.revision,
            origin: change.origin,
            detail: detail
        )
        let outcome = await room.send(pass, to: destinations, slot: slot)
        if form.dropsAlert {
            room.timeline.record(
                DroppedAlert(activity: activity.names, revision: form.revision),
                phones: outcome.accepted
            )
        }
        return outcome
    }
}
