import Intake
import Store
import ActivityModel
import APITypes
import HTTPTypes
import JSON
import Testing

@testable import HTTPAPI

@Suite("The route of an audience in lines", .timeLimit(.minutes(2)))
struct AudienceStreamTests {
    private static let path = "/v1/apps/com.example.mine/activities/a1/audience"
    private static let lines: HTTPFields = [.contentType: "application/x-ndjson", .idempotencyKey: "k"]

    private static func users(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"user_id":"u\#($0)"}"# + "\n" }.joined()
    }

    private static func send(_ body: String, to api: API, headers: HTTPFields = lines) async throws -> Answer {
        api.service.answer(AudienceCounts(devices: 7))
        return try await api.send(.post, path, body: body, headers: headers)
    }

    @Test(
        "hands over pages of 2,000, of which only the last one is the last",
        arguments: [1, 2_000, 2_001, 4_000, 4_500]
    )
    func pages(count: Int) async throws {
        let api = API()
        let answer = try await Self.send(Self.users(1...count), to: api)
        #expect(answer.status == 202)
        #expect(answer.json?["lines"]?.int64 == Int64(count))
        #expect(answer.json?["devices"]?.int64 == 7)
        let pages = api.service.audiencePages
        #expect(pages.flatMap(\.members.users).map(\.rawValue) == (1...count).map { "u\($0)" })
        #expect(pages.dropLast().allSatisfy { $0.members.users.count == 2_000 && !$0.isLast })
        #expect(pages.last?.isLast == true)
        #expect(pages.map(\.number) == Array(1...pages.count))
        #expect(Set(api.service.idempotencyKeys.map { $0?.scope }).count == 1)
        #expect(api.service.idempotencyKeys.first??.scope.isEmpty == false)
    }

    @Test("takes users and devices, empty lines, and a last line without its end")
    func mixed() async throws {
        let api = API()
        let body = "{\"device_id\":\"d1\"}\n\n{\"user_id\":\"u1\"}\r\n \n{\"device_id\":\"d2\"}"
        #expect(try await Self.send(body, to: api).status == 202)
        let page = try #require(api.service.audiencePages.first)
        #expect(page.members.users.map(\.rawValue) == ["u1"])
        #expect(page.members.devices.map(\.rawValue) == ["d1", "d2"])
        #expect(page.lines == 3)
    }

    @Test("White space does not matter for the key, and each hash covers the pages before it")
    func hashes() async throws {
        func digests(_ body: String) async throws -> [[UInt8]] {
            let api = API()
            _ = try await Self.send(body, to: api)
            return api.service.audiencePages.map(\.digest)
        }
        let one = try await digests(Self.users(1...4_001))
        let wide = Self.users(1...4_001).replacing(":", with: " : ").replacing("\n", with: "\n\n")
        #expect(try await digests(wide) == one)
        let other = try await digests(Self.users(0...0) + Self.users(2...4_001))
        #expect(zip(one, other).allSatisfy { $0 != $1 })
        #expect(try await digests(#"{"user_id":"a"}"#) != digests(#"{"device_id":"a"}"#))
    }

    @Test(
        "names a wrong line and its field, and hands over only the pages before it",
        arguments: [
            ("{", "invalid_json", nil), ("{}", "invalid_request", ""),
            (#"{"user_id":"u","device_id":"d"}"#, "invalid_request", ""),
            (#"{"user_id":null}"#, "invalid_request", ""), (#"{"user_id":7}"#, "invalid_request", "/user_id"),
            (#"{"user_id":"u","x":1}"#, "invalid_request", "/x"),
            (String(repeating: " ", count: 5_000), "body_too_large", nil),
        ] as [(String, String, String?)]
    )
    func wrong(line: String, code: String, pointer: String?) async throws {
        let api = API()
        let answer = try await Self.send(Self.users(1...2_001) + "\n" + line + "\n" + Self.users(1...2_000), to: api)
        #expect(answer.code == code)
        #expect(answer.json?["line"]?.int64 == 2_003)
        #expect(answer.json?["stored_lines"]?.int64 == 2_000)
        #expect(answer.json?["errors"]?.array?.first?["pointer"]?.string == pointer)
        #expect(api.service.audiencePages.map(\.members.users.count) == [2_000])
    }

    @Test("A line that never ends is refused before it is read to its end")
    func endless() async throws {
        let answer = try await Self.send(String(repeating: "x", count: 1 << 20), to: API())
        #expect(answer.code == "body_too_large")
        #expect(answer.json?["line"]?.int64 == 1)
        #expect(answer.json?["limit"]?.int64 == 4_096)
    }

    @Test("The list may be longer than a body; JSON may not")
    func long() async throws {
        let api = API(maximumBodySize: 100)
        #expect(try await Self.send(Self.users(1...100), to: api).status == 202)
        let json: HTTPFields = [.contentType: "application/json"]
        #expect(try await Self.send(Self.users(1...100), to: api, headers: json).code == "body_too_large")
    }

    @Test("The content type says which form it is")
    func forms() async throws {
        let api = API()
        let json = #"{"add":{"users":["u1"]}}"#
        #expect(try await Self.send(json, to: api).code == "invalid_request")
        #expect(try await Self.send(json, to: api, headers: [.contentType: "application/json"]).status == 202)
        #expect(api.service.calls == ["changeAudience com.example.mine a1"])
        let other = try await Self.send(json, to: api, headers: [.contentType: "text/plain"])
        #expect(other.code == "unsupported_media_type")
        let parameters: HTTPFields = [.contentType: "Application/X-NDJSON; charset=utf-8"]
        #expect(try await Self.send(Self.users(1...1), to: api, headers: parameters).status == 202)
        let long: HTTPFields = [
            .contentType: "application/x-ndjson", .idempotencyKey: String(repeating: "k", count: 256),
        ]
        #expect(try await Self.send(Self.users(1...1), to: api, headers: long).code == "invalid_request")
    }

    @Test("Over a socket a body of chunks is taken, also after 100 Continue")
    func sockets() async throws {
        try await RawServer.with { server in
            let head =
                "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\n"
                + "Content-Type: application/x-ndjson\r\nConnection: close\r\n"
            let line = "{\"user_id\":\"u1\"}\n"
            let chunk = "\(String(line.utf8.count, radix: 16))\r\n\(line)\r\n"
            let chunked = try await server.exchange(
                head + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n" + chunk + chunk + "0\r\n\r\n"
            )
            // The service of this server answers every call with 418.
            #expect(chunked.statuses == [100, 418])
        }
    }
}
