package import APITypes
package import ActivityModel

extension TallyClient {
    /// Makes a ticket with which an app may report one device and its cards.
    package func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws(ClientError) -> RegistrationTicketAnswer {
        // Tickets are not stored, so making another one after a lost answer does no harm.
        try await answer(to: .post("/v1/apps/\(app)/registration-tickets", harmless: request))
    }

    /// Makes a key with which the app's backend signs tickets. Only this answer contains its secret.
    ///
    /// Never retried: if the answer were lost, a key would exist whose secret nobody has.
    package func createTicketKey(
        _ app: BundleID,
        _ request: TicketKeyRequest
    ) async throws(ClientError) -> TicketKeyResource {
        let path: APIPath = "/v1/apps/\(app)/ticket-keys"
        let call = APICall(method: "POST", path: path.text, body: request.json, repeating: .impossible)
        return try await answer(to: call)
    }

    /// The ticket keys of an app, without their secrets.
    package func ticketKeys(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<TicketKeyResource> {
        try await answer(to: .get("/v1/apps/\(app)/ticket-keys", query: page.query))
    }

    /// Revokes a ticket key after so many seconds. `id` is its id, not its secret.
    package func revokeTicketKey(
        _ app: BundleID,
        _ id: String,
        afterSeconds: Int64 = 0
    ) async throws(ClientError) {
        let query: [(name: String, value: String?)] = [("after_seconds", String(afterSeconds))]
        try await perform(.delete("/v1/apps/\(app)/ticket-keys/\(id)", query: query))
    }

    /// Refuses the signed tickets of a user or a device that were made before a time.
    package func revokeTickets(
        _ app: BundleID,
        of subject: UserOrDevice,
        before time: Instant
    ) async throws(ClientError) -> TicketRevocation {
        let request = TicketRevocationRequest(revokedBefore: time)
        return try await answer(to: .put(subject.path(app, "tickets"), request))
    }
}
