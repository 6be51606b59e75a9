import Foundation
import Testing

/// The server may answer EXISTS for many rows by reading a whole table first, and keeps that plan for a page of a few. OFFSET
/// forbids it. Tables that grow with an audience are never read whole.
@Suite("EXISTS over the tables that grow with an audience")
struct AudienceLookupsTests {
    private static let tables = "audience_members|continuations|devices|start_tokens|starts|subscriptions|topic_follows"

    /// What stands between the parenthesis at a place and the one that closes it.
    private func inside(_ text: Substring) -> Substring {
        var depth = 0
        for place in text.indices {
            if text[place] == "(" { depth += 1 }
            if text[place] == ")" { depth -= 1 }
            if depth == 0 { return text[..<place] }
        }
        return text
    }

    @Test("Each looks rows up one by one")
    func offset() throws {
        let lookup = try Regex("EXISTS (?=\\(\\s*(SELECT\\b[^()]*FROM (\(Self.tables))\\b|\\\\\\())")
        var count = 0
        for file in Document.files(in: "Sources", ending: ".swift") {
            let text = try Document(path: file).text()
            for found in text.matches(of: lookup) {
                count += 1
                let query = inside(text[found.range.upperBound...])
                #expect(query.contains("OFFSET 0"), "\(file): EXISTS \(query.prefix(200)))")
            }
        }
        #expect(count > 15)
    }
}
