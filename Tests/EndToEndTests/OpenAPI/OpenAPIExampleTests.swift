import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

/// Every example of `docs/openapi.yaml` is what the server takes and answers.
@Suite("Examples of the OpenAPI document", .timeLimit(.minutes(5)))
struct OpenAPIExampleTests {
    private static let app = ["bundle_id": "com.example.documented"]
    private static let type = app.merging(["type": "GameAttributes"]) { $1 }

    private static func activity(_ id: String) -> [String: String] { app.merging(["activity_id": id]) { $1 } }
    private static func device(_ id: String) -> [String: String] { app.merging(["device_id": id]) { $1 } }

    private static func document() async throws -> OpenAPIDocument {
        try await OpenAPIDocument(yaml: Places.document("openapi.yaml").path)
    }

    @Test("Every request that it shows is taken by a running server, and every answer is as it says")
    func requests() async throws {
        try await TallySystem.with { system in
            let api = DocumentedAPI(try await Self.document(), at: system.api())
            try await appsAndKeys(api)
            try await types(api)
            try await devices(api)
            try await activities(api)
            try await channels(api)
            try await schedules(api)
            try await webhooks(api)
            try await operations(api)
            #expect(api.unsent == [])
        }
    }

    @Test("Every answer that it shows is one that its schema allows, and so is every request")
    func shownAnswers() async throws {
        let api = DocumentedAPI(try await Self.document(), at: HTTPCaller(base: ""))
        for operation in api.document.operations {
            let answers = (operation.json["responses"]?.object?.entries ?? []).map { api.document.resolved($0.1) }
            let bodies = answers + [operation.json["requestBody"] ?? [:]]
            for (type, content) in bodies.flatMap({ $0["content"]?.object?.entries ?? [] }) {
                var examples = content["examples"]?.object?.entries.compactMap { $0.1["value"] } ?? []
                if let example = content["example"] { examples.append(example) }
                #expect(!examples.isEmpty, "\(operation.id) \(type)")
                let schema = try #require(content["schema"])
                for example in examples { #expect(try api.violations(of: example, schema) == [], "\(operation.id)") }
            }
        }
    }

    // MARK: The story

    private func appsAndKeys(_ api: DocumentedAPI) async throws {
        try await api.send("putApp", "production", Self.app)
        try await api.send("putApp", "key_kept", Self.app)
        try await api.send("listApps")
        try await api.send("getApp", nil, Self.app)
        try await api.send("getApp", nil, ["bundle_id": "com.example.unknown"], status: 404)
        try await api.send("createAPIKey", "dashboard", status: 201)
        // Its app is the one of the samples.
        let key = try await api.send("createAPIKey", "backend", status: 201)
        try await api.send("listAPIKeys")
        try await api.send("revokeAPIKey", nil, ["api_key_id": key["id"]?.string ?? ""], status: 204)
        try await api.send("listHalts", nil, Self.app)
        try await api.send("liftHalt", nil, Self.app.merging(["environment": "production"]) { $1 }, status: 404)
    }

    private func types(_ api: DocumentedAPI) async throws {
        try await api.send("putType", "schemas", Self.type)
        try await api.send("putType", "swift", Self.type)
        try await api.send("listTypes", nil, Self.app)
        try await api.send("getType", nil, Self.type)
        try await api.send("listTypeVersions", nil, Self.type)
        let first = Self.type.merging(["version": "1"]) { $1 }
        try await api.send("putTypeVersion", "retire", first)
        try await api.send("putTypeVersion", "take_back", first)
        try await api.send("patchType", "budget", Self.type)
        try await api.send("patchType", "defaults", Self.type)
        try await api.send("validate", "both", Self.type)
        try await api.send("validate", "state", Self.type)
    }

    private func devices(_ api: DocumentedAPI) async throws {
        try await api.send("putDevice", "phone", Self.device("phone-1"))
        try await api.send("putDevice", "switched_off", Self.device("phone-2"))
        try await api.send("putDevice", "signed_out", Self.device("phone-2"))
        for example in ["seen", "found_after_launch"] {
            try await api.send("postReceipts", example, Self.device("phone-1"))
        }
        try await api.send("listDevices", nil, Self.app, query: "?limit=1")
        try await api.send("listDevices", nil, Self.app, query: "?limit=0", status: 422)
        try await api.send("listDevices", nil, Self.app, query: "?user_id=ada")
        try await api.send("getDevice", nil, Self.device("phone-1"))
        try await api.send("createTicket", "device", Self.app, status: 201)
        try await api.send("createTickets", "two_devices", Self.app, status: 201)
        try await api.send("createTicketKey", "key_pair", Self.app, status: 201)
        let key = try await api.send("createTicketKey", "shared_secret", Self.app, status: 201)
        try await api.send("listTicketKeys", nil, Self.app)
        let place = Self.app.merging(["ticket_key_id": key["id"]?.string ?? ""]) { $1 }
        try await api.send("revokeTicketKey", nil, place, query: "?after_seconds=60", status: 204)
        let user = Self.app.merging(["user_id": "ada"]) { $1 }
        try await api.send("revokeUserTickets", "signed_out_everywhere", user)
        try await api.send("revokeDeviceTickets", "stolen", Self.device("phone-1"))
        for example in ["whole_list", "change"] {
            try await api.send("putUserTopics", example, user)
            try await api.send("putDeviceTopics", example, Self.device("phone-1"))
        }
        try await api.send("getUserTopics", nil, user)
        try await api.send("getDeviceTopics", nil, Self.device("phone-1"))
        try await api.send("listTopics", nil, Self.app)
        try await api.send("push", "user", Self.app, status: 202)
        try await api.send("push", "token", Self.app, status: 202)
    }

    private func activities(_ api: DocumentedAPI) async throws {
        try await dryRun(api, "startActivity", "match", "final")
        try await api.send("startActivity", "match", Self.activity("final"), status: 202)
        try await api.send("startActivity", "match", Self.activity("final"))
        try await api.send("startActivity", "self_started", Self.activity("final"), status: 409)
        try await api.send("startActivity", "self_started", Self.activity("semi"), status: 202)
        try await api.send("startActivity", "scheduled", Self.activity("opening"), status: 202)
        // The answer comes before Apple has made the channel.
        let channel = try await api.send("startActivity", "by_channel", Self.activity("third"), status: 202)["channel"]
        #expect(channel?["state"] == "creating")
        #expect(channel?["apns_channel_id"] == .null)
        try await api.send("getActivity", nil, Self.activity("third"))
        for example in ["goal", "clock", "later"] {
            try await api.send("updateActivity", example, Self.activity("final"), status: 202)
        }
        try await api.send("changeAudience", "add", Self.activity("final"), status: 202)
        try await api.send("changeAudience", "add_topic", Self.activity("final"), status: 202)
        try await api.send("changeAudience", "remove", Self.activity("final"), status: 202)
        try await api.send("changeAudience", "add_with_alert", Self.activity("semi"), status: 202)
        try await api.send("listActivities", nil, Self.app, query: "?state=live")
        let card = Self.activity("final").merging(["device_id": "phone-1"]) { $1 }
        try await api.send("subscribe", "token", card)
        try await api.send("listSubscriptions", nil, Self.activity("final"), query: "?state=following")
        try await api.send("getUser", nil, Self.app.merging(["user_id": "ada"]) { $1 })
        try await api.send("exportUser", nil, Self.app.merging(["user_id": "ada"]) { $1 })
        try await api.send("listActivities", nil, Self.app, query: "?user_id=ada")
        try await api.send("listAudience", nil, Self.activity("final"))
        try await dryRun(api, "updateActivity", "goal", "final")
        try await dryRun(api, "endActivity", "final_state", "final")
        try await api.send("getTimeline", nil, Self.activity("final"), query: "?device_id=phone-1")
        try await api.send("batch", "update_and_card", Self.app)
        try await api.send("ingest", "two_updates", Self.app)
        try await api.send("subscribe", "unknown_device", card.merging(["device_id": "phone-3"]) { $1 })
        try await api.send("subscribe", "gone", card)
        try await api.send("unsubscribe", nil, card, status: 204)
        try await api.send("endActivity", "later", Self.activity("final"), status: 202)
        try await api.send("getActivity", nil, Self.activity("final"))
        try await api.send("endActivity", "final_state", Self.activity("semi"), status: 202)
        try await api.send("updateActivity", "clock", Self.activity("semi"), status: 409)
    }

    /// Sends a change that is not to be made. What the document shows of its pushes is of the same kind as what comes
    /// back.
    private func dryRun(_ api: DocumentedAPI, _ operation: String, _ example: String, _ activity: String) async throws {
        let answer = try await api.send(operation, example, Self.activity(activity), query: "?dry_run=true")
        let shown = try #require(api.shownAnswer(to: operation, "dry_run"))
        func outline(_ push: JSONValue) -> [String] {
            let fields = ["event", "to", "class", "priority", "reason", "path"].map { push[$0] }
            let headers = push["headers"]?.object?.entries.map(\.0).sorted() ?? []
            return (fields + [push["body"]?["aps"]?["event"]]).map { $0?.text ?? "-" } + headers
        }
        let planned = (answer["pushes"]?.array ?? []).map(outline)
        let pushes = shown["pushes"]?.array ?? []
        #expect(!pushes.isEmpty, "\(operation)")
        for push in pushes { #expect(planned.contains(outline(push)), "\(operation): \(answer.text)") }
    }

    private func channels(_ api: DocumentedAPI) async throws {
        let channel = try await api.send("createChannel", "production", Self.app, status: 201)
        try await api.send("createChannel", "default", Self.app, status: 201)
        try await api.send("listChannels", nil, Self.app)
        let place = Self.app.merging(["channel_id": channel["id"]?.string ?? ""]) { $1 }
        try await api.send("getChannel", nil, place)
        try await api.send("deleteChannel", nil, place, status: 204)
        try await api.send("reconcileChannels", "look", Self.app)
    }

    private func schedules(_ api: DocumentedAPI) async throws {
        let page = try await api.send("listSchedules", nil, Self.app, query: "?state=pending")
        let updates = (page["items"]?.array ?? []).filter { $0["activity_id"] == "final" }
        #expect(updates.count == 2)
        let ids = updates.compactMap { $0["id"]?.string }
        for (operation, id, status) in [("cancelSchedule", ids.first, 204), ("runSchedule", ids.last, 200)] {
            let place = Self.app.merging(["schedule_id": try #require(id)]) { $1 }
            try await api.send("getSchedule", nil, place)
            try await api.send(operation, nil, place, status: status)
        }
    }

    private func webhooks(_ api: DocumentedAPI) async throws {
        let webhook = Self.app.merging(["webhook_id": "audit"]) { $1 }
        try await api.send("putWebhook", "dead_tokens", webhook)
        try await api.send("getWebhook", nil, webhook)
        try await api.send("listWebhooks", nil, Self.app)
        try await api.send("replayWebhook", "since", webhook)
        try await api.send("deleteWebhook", nil, webhook, status: 204)
    }

    private func operations(_ api: DocumentedAPI) async throws {
        try await api.send("followEvents", query: "?bundle_id=com.example.documented")
        try await api.send("followEvents", query: "?kind=nothing", status: 422)
        try await api.send("listAudit", query: "?action=app_changed&since=2026-01-01T00:00:00Z")
        try await api.send("examine", "all")
        try await api.send("examine", "app")
        for operation in ["live", "ready", "metrics", "openapi", "docs", "docsStyle", "docsErrors"] {
            try await api.send(operation)
        }
        try await api.send("docsError", nil, ["code": "late_event"])
        try await api.send("docsError", nil, ["code": "no_code"], status: 404)
        try await api.send("endActivity", "as_it_is", Self.activity("opening"), status: 202)
        try await api.send("deleteDevice", nil, Self.device("phone-2"), status: 204)
        try await api.send("eraseUser", nil, Self.app.merging(["user_id": "ada"]) { $1 }, status: 204)
        try await api.send("patchApp", "pool", Self.app)
        try await api.send("patchApp", "new_key", Self.app)
        try await api.send("deleteApp", nil, Self.app, status: 422)
        try await api.send("deleteApp", nil, Self.app, query: "?confirm=com.example.documented", status: 409)
    }
}
