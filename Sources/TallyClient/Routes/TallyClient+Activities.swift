package import APITypes
package import ActivityModel

extension TallyClient {
    /// Starts an activity. `replay` is true if the same start was accepted before.
    package func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest
    ) async throws(ClientError) -> (answer: StartAnswer, replay: Bool) {
        let result = try await statusAndAnswer(StartAnswer.self, to: .put("/v1/apps/\(app)/activities/\(id)", request))
        return (result.answer, result.status == 200)
    }

    /// Posts a new state. Without an `idempotencyKey`, all tries of this call share a new one.
    package func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotencyKey: String? = nil
    ) async throws(ClientError) -> UpdateAnswer {
        try await answer(to: .post("/v1/apps/\(app)/activities/\(id)/updates", request, key: idempotencyKey))
    }

    /// Ends an activity. For the key, see ``update(_:_:_:idempotencyKey:)``.
    package func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotencyKey: String? = nil
    ) async throws(ClientError) -> EndAnswer {
        try await answer(to: .post("/v1/apps/\(app)/activities/\(id)/end", request, key: idempotencyKey))
    }

    /// Previews the pushes of a start, without a change.
    package func dryRunStart(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest
    ) async throws(ClientError) -> DryRunAnswer {
        try await dryRun(.put("/v1/apps/\(app)/activities/\(id)", request))
    }

    /// Previews the pushes of an update, without a change.
    package func dryRunUpdate(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest
    ) async throws(ClientError) -> DryRunAnswer {
        try await dryRun(.post("/v1/apps/\(app)/activities/\(id)/updates", harmless: request))
    }

    /// Previews the pushes of an end, without a change.
    package func dryRunEnd(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest
    ) async throws(ClientError) -> DryRunAnswer {
        try await dryRun(.post("/v1/apps/\(app)/activities/\(id)/end", harmless: request))
    }

    private func dryRun(_ real: APICall) async throws(ClientError) -> DryRunAnswer {
        var call = real
        call.query = [("dry_run", "true")]
        return try await answer(to: call)
    }

    /// Carries out up to 1,000 independent operations. Those on the same activity or device run in their order.
    ///
    /// All tries of this call share new idempotency keys for updates and ends that have none.
    ///
    /// - Returns: One result per operation, in the same order.
    package func batch(_ app: BundleID, _ operations: [BatchOperation]) async throws(ClientError) -> [BatchResult] {
        let keyed = operations.map { operation in
            var operation = operation
            operation.idempotencyKey = operation.idempotencyKey ?? Self.newIdempotencyKey()
            return operation
        }
        return try await answer(BatchAnswer.self, to: .post("/v1/apps/\(app)/batch", harmless: BatchRequest(keyed)))
            .results
    }

    /// Adds to and removes from an activity's audience. For the key, see ``update(_:_:_:idempotencyKey:)``.
    package func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotencyKey: String? = nil
    ) async throws(ClientError) -> AudienceCounts {
        try await answer(to: .post("/v1/apps/\(app)/activities/\(id)/audience", request, key: idempotencyKey))
    }

    /// The users and devices that an audience names.
    package func audience(
        _ app: BundleID,
        _ id: ActivityID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> AudiencePage {
        try await answer(to: .get("/v1/apps/\(app)/activities/\(id)/audience", query: page.query))
    }

    /// One activity with the delivery progress of its newest state.
    package func activity(_ app: BundleID, _ id: ActivityID) async throws(ClientError) -> ActivityResource {
        try await answer(to: .get("/v1/apps/\(app)/activities/\(id)"))
    }

    /// The activities of an app, optionally of one type or in one state.
    package func activities(
        _ app: BundleID,
        type: ActivityTypeName? = nil,
        state: ActivityState? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<ActivityResource> {
        let filters: [(name: String, value: String?)] = [("type", type?.rawValue), ("state", state?.rawValue)]
        return try await answer(to: .get("/v1/apps/\(app)/activities", query: filters + page.query))
    }

    /// The history of an activity, or of one device or one user in it: the newest entries first, with a summary.
    package func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID? = nil,
        user: UserID? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> TimelineAnswer {
        let filter: [(name: String, value: String?)] = [("device_id", device?.rawValue), ("user_id", user?.rawValue)]
        return try await answer(to: .get("/v1/apps/\(app)/activities/\(id)/timeline", query: filter + page.query))
    }

    /// The cards of an activity, optionally in one state.
    package func subscriptions(
        _ app: BundleID,
        _ id: ActivityID,
        state: SubscriptionState? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<SubscriptionResource> {
        let filter: [(name: String, value: String?)] = [("state", state?.rawValue)]
        return try await answer(to: .get("/v1/apps/\(app)/activities/\(id)/subscriptions", query: filter + page.query))
    }

    /// Reports a card: its update token, its channel, or that it is gone.
    package func subscribe(
        _ app: BundleID,
        _ id: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest
    ) async throws(ClientError) -> SubscriptionAnswer {
        try await answer(to: .put("/v1/apps/\(app)/activities/\(id)/subscriptions/\(device)", request))
    }

    /// Ends the card on the phone, then forgets it.
    package func unsubscribe(_ app: BundleID, _ id: ActivityID, _ device: DeviceID) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/activities/\(id)/subscriptions/\(device)"))
    }
}
