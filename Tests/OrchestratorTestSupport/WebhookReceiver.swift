import Cryptography
package import JSON
import Synchronization

@testable package import Webhooks

/// A sender that writes down what is posted, and answers what the test says: first the answers in line, then 200.
package final class WebhookReceiver: WebhookSender, WebhookEndpoint {
    package struct Post: Sendable {
        package let id: String
        package let timestamp: String
        package let signature: String
        package let body: [UInt8]

        package var events: [JSONValue] {
            (try? JSONValue.parse(body))?["data"]?["events"]?.array ?? []  // a test compares what it reads
        }
        package var eventIDs: [String] { events.compactMap { $0["id"]?.string } }

        func isSigned(by secret: WebhookSecret) -> Bool {
            let message = Array("\(id).\(timestamp).".utf8) + body
            return signature == "v1," + Base64.encode(HMACSHA256.authenticationCode(for: message, key: secret.bytes))
        }
    }

    private struct State {
        var posts: [Post] = []
        var answers: [WebhookAnswer] = []
        var beforeAnswer: (@Sendable () async throws -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    package var posts: [Post] { state.withLock { $0.posts } }

    package func answer(_ answers: WebhookAnswer...) { state.withLock { $0.answers += answers } }

    /// Runs once, after the next post has arrived.
    package func beforeNextAnswer(_ body: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.beforeAnswer = body }
    }

    package func refusal(of url: String) -> String? { url.hasPrefix("https://") ? nil : "An https URL is expected." }

    package func endpoint(at url: String) -> any WebhookEndpoint { self }

    package func post(_ body: [UInt8], headers: [(name: String, value: String)]) async -> WebhookAnswer {
        func header(_ name: String) -> String { headers.first { $0.name == name }?.value ?? "" }
        let post = Post(
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            body: body
        )
        let (answer, before) = state.withLock { state in
            state.posts.append(post)
            defer { state.beforeAnswer = nil }
            return (state.answers.isEmpty ? .status(200) : state.answers.removeFirst(), state.beforeAnswer)
        }
        do {
            try await before?()
        } catch {
            return .failed("\(error)")
        }
        return answer
    }
}
