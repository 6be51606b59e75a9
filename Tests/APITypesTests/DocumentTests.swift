import APITypes
import ActivityModel
import Foundation
import JSON
import JSONSchema
import TestSupport
import Testing

/// What stands in `docs/openapi.yaml` of the bodies, held against the types that read and write them.
@Suite("Bodies in the OpenAPI document", .timeLimit(.minutes(2)))
struct DocumentTests {
    /// The names in the document of those that have another name here.
    private static let names = [
        "AppResource": "App", "APIKeyResource": "APIKey", "TypeResource": "Type", "TypeVersionResource": "TypeVersion",
        "ValidationAnswer": "Validation", "DeviceResource": "Device", "ActivityResource": "Activity",
        "SubscriptionAnswer": "Subscription", "SubscriptionResource": "ListedSubscription",
        "ChannelResource": "Channel", "ScheduleResource": "Schedule", "DryRunAnswer": "DryRun",
        "TimelineAnswer": "Timeline", "RegistrationTicketRequest": "TicketRequest",
        "RegistrationTicketAnswer": "Ticket", "RegistrationReceipt": "Receipt",
        "TicketKeyResource": "TicketKey", "WebhookResource": "Webhook", "TicketBatchAnswer": "TicketBatch",
        "Page<ScheduleResource>": "SchedulePage",
    ]

    private static func document() async throws -> OpenAPIDocument {
        let file = URL(filePath: #filePath).appending(path: "../../../docs/openapi.yaml").standardized
        return try await OpenAPIDocument(yaml: file.path)
    }

    private static func name(_ sample: any APIValue) -> String {
        let type = "\(type(of: sample))"
        return names[type] ?? type
    }

    private static func schema(_ name: String, in document: OpenAPIDocument) throws -> CompiledSchema {
        _ = try #require(document.json["components"]?["schemas"]?[name], "\(name)")
        var options = SchemaOptions()
        options.unknownKeywords = .ignore
        options.formats = .assert
        let reference: JSONValue = ["$ref": .string("#/components/schemas/\(name)")]
        return try CompiledSchema(document.standalone(reference), options: options)
    }

    @Test("Every request and answer is one that the document allows, with every field and with as few as it may have")
    func bodies() async throws {
        let document = try await Self.document()
        for sample in try samples() {
            let found = try Self.schema(Self.name(sample), in: document).validate(Self.plausible(sample.json))
            #expect(found.isEmpty, "\(type(of: sample)) \(sample.json.text): \(found.map(\.line))")
        }
    }

    /// The samples have ids such as `s` where the server has UUIDs.
    private static func plausible(_ json: JSONValue) -> JSONValue {
        let uuid = JSONValue.string("0a0b0c0d-0000-4000-8000-000000000001")
        switch json {
        case .object(let object):
            var plain = JSONObject()
            for (key, value) in object.entries {
                let isShort = ["s", "k"].contains(value.string ?? "")
                plain[key] = isShort && ["id", "schedule_id"].contains(key) ? uuid : plausible(value)
            }
            return .object(plain)
        case .array(let values): return .array(values.map(plausible))
        default: return json
        }
    }

    @Test("In a request a field that is null counts as absent, whatever the field and wherever it stands")
    func nulls() throws {
        var tried = 0
        for sample in try samples() {
            guard let request = sample as? any APIRequest & Hashable else { continue }
            for (absent, null) in Self.variants(request.json) {
                let body = "\(type(of: request)) \(null.text)"
                tried += 1
                #expect(Self.outcome(request, null) == Self.outcome(request, absent), "\(body)")
            }
        }
        #expect(tried > 100)
    }

    /// What reading a body comes to.
    private static func outcome<Request: APIRequest & Hashable>(_: Request, _ body: JSONValue) -> String {
        do throws(Problem) {
            return try Request(json: body).json.text
        } catch {
            return error.json.text
        }
    }

    /// The body without one of its fields, and with `null` in its place; content of the caller's own is left alone.
    private static func variants(_ json: JSONValue) -> [(absent: JSONValue, null: JSONValue)] {
        guard let object = json.object else {
            return (json.array ?? []).enumerated().flatMap { index, item in
                variants(item).map { variant in
                    func with(_ item: JSONValue) -> JSONValue {
                        var items = json.array ?? []
                        items[index] = item
                        return .array(items)
                    }
                    return (with(variant.absent), with(variant.null))
                }
            }
        }
        return object.entries.flatMap { key, value -> [(absent: JSONValue, null: JSONValue)] in
            var (absent, null) = (object, object)
            absent[key] = nil
            null[key] = .null
            let own = ["attributes", "content_state", "attributes_schema", "content_state_schema", "custom", "aps"]
            let inner = own.contains(key) ? [] : variants(value)
            return [(.object(absent), .object(null))]
                + inner.map { variant in
                    func with(_ value: JSONValue) -> JSONValue {
                        var copy = object
                        copy[key] = value
                        return .object(copy)
                    }
                    return (with(variant.absent), with(variant.null))
                }
        }
    }

    @Test("No key stands in the document, not even a sample: scanners of repositories would sound the alarm")
    func secrets() async throws {
        #expect(!(try await Self.document()).json.text.contains("PRIVATE KEY-----"))
    }
}
