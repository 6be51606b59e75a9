import APITypes
import ActivityModel
import Foundation
import JSON
import TestSupport
import Testing

/// `docs/reference/policy.md` and `docs/openapi.yaml` describe every key of a policy as the code reads it.
@Suite("The policy in the documents")
struct PolicyPageTests {
    private static let page = Document(path: "docs/reference/policy.md")

    @Test("the page has every key with its default, and no other")
    func defaults() throws {
        let documented = try Self.rows().map { "\($0[0]) \($0[2].replacing("`", with: ""))" }
        #expect(documented == Self.leaves(of: Policy().json).map { "\($0) \($1.text)".replacing("\"", with: "") })
    }

    @Test("the bounds of every number on the page are those that are refused beyond")
    func ranges() throws {
        var numbers = 0
        for row in try Self.rows() {
            guard let bounds = try Self.bounds(in: row[1]) else { continue }
            numbers += 1
            for (value, isTaken) in [
                (bounds.lowerBound, true), (bounds.upperBound, true), (bounds.lowerBound - 1, false),
                (bounds.upperBound + 1, false),
            ] {
                let policy = Self.policy(row[0], .number(JSONNumber(value)))
                #expect(((try? Policy(json: policy)) != nil) == isTaken, "\(row[0]): \(value)")
            }
            #expect(try Policy(json: Self.policy(row[0], .null)) == Policy(), "\(row[0])")
        }
        #expect(numbers == 17)
    }

    @Test("the OpenAPI document has the same defaults and bounds, and a word on every key")
    func openAPI() async throws {
        let document = try await OpenAPIDocument(yaml: Document.root.appending(path: "docs/openapi.yaml").path)
        let schema = try #require(document.json["components"]?["schemas"]?["Policy"])
        let rows = try Self.rows()
        for (key, value) in Self.leaves(of: Policy().json) {
            var property = schema
            for step in key.split(separator: ".") {
                // A part has a schema of its own, with null as the alternative.
                let part = document.resolved(property["anyOf"]?.array?.first ?? property)
                property = try #require(part["properties"]?[String(step)], "\(key)")
            }
            #expect(property["default"] == value, "\(key)")
            #expect(property["description"]?.string?.isEmpty == false, "\(key)")
            let row = try #require(rows.first { $0[0] == key })
            let bounds = try Self.bounds(in: row[1])
            #expect(property["minimum"]?.int64.map(Int.init) == bounds?.lowerBound, "\(key)")
            #expect(property["maximum"]?.int64.map(Int.init) == bounds?.upperBound, "\(key)")
        }
    }

    @Test(
        "an example is a policy, and its rules say of each change what the table beside it says",
        arguments: [
            "football", "delivery",
        ]
    )
    func example(name: String) throws {
        let block = try #require(try Self.page.blocks().first { $0.mark == "test: \(name)" })
        let policy = try Policy(json: JSONValue(parsing: block.text))
        let rows = try Self.table(after: "<!-- test: \(name) -->\n|")
        #expect(rows.count >= 3)
        for row in rows {
            var old = JSONObject()
            var new = JSONObject()
            for match in row[0].matches(of: /`\/(\w+)`/) {
                old[String(match.output.1)] = 1
                new[String(match.output.1)] = 2
            }
            let rule = policy.rule(from: .object(old), to: .object(new))
            #expect("`\((rule?.urgency ?? .routine).rawValue)`" == row[1], "\(row[0])")
            #expect((rule?.mustDeliver ?? false) == (row[2] == "yes"), "\(row[0])")
            #expect(rule?.minimumIntervalSeconds.map { "\($0) s" } ?? "no" == row[3], "\(row[0])")
        }
    }

    // MARK: Reading the page

    /// Of the table of all keys: key, range, default, meaning.
    private static func rows() throws -> [[String]] {
        try table(after: "## All keys").map { [$0[0].replacing("`", with: "")] + $0.dropFirst() }
    }

    /// The cells of the first table after a text, without its head.
    private static func table(after text: String) throws -> [[String]] {
        let page = try page.text()
        let start = try #require(page.range(of: text)?.lowerBound)
        let lines = page[start...].split(separator: "\n").drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        return lines.dropFirst(2).map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private static func bounds(in range: String) throws -> ClosedRange<Int>? {
        guard let match = range.firstMatch(of: /([0-9]+)–([0-9]+)/), let lower = Int(match.output.1),
            let upper = Int(match.output.2)
        else { return nil }
        return lower...upper
    }

    // MARK: Policies by key

    /// The values of a policy by their keys; those of a part with a dot between.
    private static func leaves(of policy: JSONValue) -> [(String, JSONValue)] {
        (policy.object?.entries ?? []).flatMap { key, value in
            value.object.map { part in part.entries.map { ("\(key).\($0)", $1) } } ?? [(key, value)]
        }
    }

    /// A policy that says this one thing.
    private static func policy(_ key: String, _ value: JSONValue) -> JSONValue {
        key.split(separator: ".").reversed().reduce(value) { .object([String($1): $0]) }
    }
}
