import APITypes
import HTTPTypes
import JSON
import Testing

@testable import HTTPAPI

/// The pages that the daemon serves to people: the API reference, and what each error means.
@Suite("Pages about the API", .timeLimit(.minutes(1)))
struct DocumentPageTests {
    private static let paths = ["/docs", "/docs/errors"] + ErrorPages.ofTheAPI.codes.map { "/docs/errors/\($0)" }

    @Test("Each is HTML for everybody that loads nothing but the style sheet beside it", arguments: paths)
    func selfContained(path: String) async throws {
        let answer = try await API().send(.get, path, key: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/html; charset=utf-8")
        let policy = answer.headers[.contentSecurityPolicy] ?? ""
        #expect(policy.contains("default-src 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(answer.body.hasPrefix("<!DOCTYPE html>"))
        #expect(!answer.body.contains("<script"))
        #expect(!answer.body.contains(" style="), "the policy forbids it")
        let loaded = answer.body.matches(of: /<(?:link|img|iframe|object)[^>]*(?:href|src)="([^"]*)"/).map(\.output.1)
        #expect(loaded.count == 1)
        #expect(loaded.allSatisfy { $0.hasSuffix("style.css") && !$0.contains(":") })
    }

    @Test("Each link leads to a page or a place on it", arguments: paths)
    func links(path: String) async throws {
        let page = try await API().send(.get, path, key: nil).body
        for link in Set(page.matches(of: /href="([^"]*)"/).map { String($0.output.1) }) {
            if link.hasPrefix("#") {
                #expect(page.contains("id=\"\(link.dropFirst())\""), "\(link)")
            } else {
                let target = try #require(Self.resolved(link, at: path))
                #expect(try await API().send(.get, target, key: nil).status == 200, "\(link)")
            }
        }
    }

    @Test("The type of a problem leads to a page with its code, its cause and what to do")
    func problem() async throws {
        let refused = try await API().send(.get, "/v1/nothing")
        #expect(refused.json?["type"] == "/docs/errors/not_found")
        #expect(refused.json?["title"] == "Not found")
        let page = try await API().send(.get, "/docs/errors/not_found", key: nil).body
        #expect(page.contains("<code>not_found</code>"))
        #expect(page.contains("Status 404"))
        #expect(page.contains("does not exist"))
        #expect(page.contains("check the ids") || page.contains("Check the ids"))
    }

    @Test("A code that does not exist has no page")
    func unknown() async throws {
        let answer = try await API().send(.get, "/docs/errors/nothing", key: nil)
        #expect(answer.code == "not_found")
    }

    @Test("The page has every operation of the document")
    func operations() async throws {
        let page = try await API().send(.get, "/docs", key: nil).body
        for route in RouteTable.api(service: RecordingService(), metrics: PrometheusMetrics()).routes {
            #expect(page.contains("<b>\(route.method.rawValue)</b> <code>\(route.path)</code>"), "\(route.path)")
        }
    }

    @Test("A row of the table becomes a page, and text in it stays text")
    func rows() throws {
        let pages = ErrorPages(
            markdown: """
                | status | `code` | cause | what to do |
                |---|---|---|---|
                | 409 | `one`, `two` | a [link](x.md) & `<b>` | use *this*; see [that](y.md) |
                | 404 | no code here |
                """
        )
        #expect(pages.codes == ["one", "two"])
        let page = try #require(pages.page(for: "two"))
        #expect(page.contains("<p>A link &amp; <code>&lt;b&gt;</code>.</p>"))
        #expect(page.contains("see that.</p>"))
    }

    /// The path that a link without a host leads to.
    private static func resolved(_ link: String, at path: String) -> String? {
        guard !link.contains(":"), !link.hasPrefix("/") else { return link.hasPrefix("/") ? link : nil }
        var folders = path.split(separator: "/").dropLast()
        for step in link.split(separator: "/") {
            if step == ".." { folders = folders.dropLast() } else { folders.append(step) }
        }
        return "/" + folders.joined(separator: "/")
    }
}
