import ActivityModel
import Foundation
import TestSupport
import Testing

@testable import APNSSimulator

/// One request that curl makes of the simulator.
struct CurlRequest {
    var api = AppleAPI.device
    var environment = APNSEnvironment.sandbox
    var method = "POST"
    var path: String
    /// In the order in which they are sent; a name may stand twice.
    var headers: [(name: String, value: String)]
    var body: String?

    /// The same with a header field set anew, or left out.
    func with(_ name: String, _ value: String?) -> CurlRequest {
        var copy = self
        copy.headers.removeAll { $0.name == name }
        if let value { copy.headers.append((name, value)) }
        return copy
    }

    func path(_ path: String) -> CurlRequest {
        var copy = self
        copy.path = path
        return copy
    }

    func method(_ method: String, body: String? = nil) -> CurlRequest {
        var copy = self
        copy.method = method
        copy.body = body
        return copy
    }

    func body(_ body: String) -> CurlRequest { method(method, body: body) }
}

/// What curl printed of the answer.
struct CurlAnswer: Equatable {
    var version: String
    var status: Int
    var headers: [String: String]
    var body: String
}

extension ForeignWorld {
    /// Lets curl make a request.
    func curl(_ request: CurlRequest) async throws -> CurlAnswer {
        let url = "https://\(addresses.host):\(try port(request.api, request.environment))\(request.path)"
        var arguments = [
            "--silent", "--show-error", "--include", "--http2", "--max-time", "30", "--cacert", addresses.caFile,
            "--path-as-is", "--request", request.method,
        ]
        for (name, value) in request.headers { arguments += ["--header", "\(name): \(value)"] }
        if let body = request.body {
            let file = folder.appending(path: "body-\(UUID().uuidString)")
            try Data(body.utf8).write(to: file)
            arguments += ["--data-binary", "@\(file.path)"]
        }
        let output = try await Program("curl").run(arguments + [url])
        try #require(output.status == 0, "\(output.text)")
        let parts = output.text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\r\n")
        let words = try #require(lines.first).split(separator: " ")
        let fields = lines.dropFirst().compactMap { line -> (String, String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[colon...].dropFirst().trimmingCharacters(in: .whitespaces))
        }
        return CurlAnswer(
            version: String(words[0]),
            status: try #require(Int(words[1])),
            headers: Dictionary(fields) { first, _ in first },
            body: parts.count > 1 ? String(parts[1]) : ""
        )
    }

    // MARK: Requests that keep every rule

    func push(to token: String) throws -> CurlRequest {
        CurlRequest(
            path: "/3/device/\(token)",
            headers: [
                ("authorization", try authorization()), ("apns-topic", Self.activityTopic),
                ("apns-push-type", "liveactivity"), ("apns-priority", "10"), ("apns-expiration", "0"),
            ],
            body: Self.startBody.text
        )
    }

    func broadcast(to channel: String) throws -> CurlRequest {
        CurlRequest(
            api: .broadcast,
            path: "/4/broadcasts/apps/\(Self.bundleID)",
            headers: [
                ("authorization", try authorization()), ("apns-channel-id", channel),
                ("apns-push-type", "liveactivity"), ("apns-priority", "5"), ("apns-expiration", "0"),
            ],
            body: PushBodyText.update(at: Self.now + 1 - Sample.start).text
        )
    }

    func channels(_ method: String, channel: String? = nil, body: String? = nil) throws -> CurlRequest {
        CurlRequest(
            api: .channels,
            method: method,
            path: "/1/apps/\(Self.bundleID)/channels",
            headers: [("authorization", try authorization())] + (channel.map { [("apns-channel-id", $0)] } ?? []),
            body: body
        )
    }
}
