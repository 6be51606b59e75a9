package import APITypes
package import ActivityModel
import JSON
package import Postgres

extension CardHints {
    package init(_ request: StartRequest) {
        self.init(request.staleAfterSeconds, request.relevanceScore)
    }

    package init(_ request: UpdateRequest) {
        self.init(request.staleAfterSeconds, request.relevanceScore)
    }

    private init(_ staleAfterSeconds: Int64?, _ relevanceScore: Double?) {
        self.init(
            staleAfterSeconds: staleAfterSeconds.map(Int.init),
            relevanceScore: relevanceScore.flatMap(JSONNumber.init)
        )
    }

    /// Their columns in `changes`. No other table has columns of these names.
    package static let columns = "stale_after_seconds, relevance_score"
    /// How many ``columns`` there are.
    static let columnCount = 2

    /// Reads ``columns``, which begin at a column.
    package init(in row: Row, from first: Int) throws {
        self.init(
            staleAfterSeconds: try row.decode(Int32?.self, at: first).map(Int.init),
            relevanceScore: try row.decode(Double?.self, at: first + 1).flatMap(JSONNumber.init)
        )
    }

    /// The ``columns`` of rows to insert.
    package static func rows(_ hints: [CardHints]) -> [RowColumn] {
        [
            .rarely("stale_after_seconds", hints.map { $0.staleAfterSeconds.map(Int32.init) }),
            .rarely("relevance_score", hints.map { $0.relevanceScore?.double }),
        ]
    }
}
