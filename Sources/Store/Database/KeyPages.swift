package import Postgres

/// Reads many rows in the order of their device keys, a page by each statement: none is long, however many there are.
package struct KeyPages: Sendable {
    /// Keys behind `after`, up to `through` and with it.
    package struct Page: Sendable {
        package let after: Int64
        package let through: Int64
        package let rows: Int
    }

    private let database: Database
    /// Rows of a page at most.
    private let size: Int

    package init(database: Database, size: Int) {
        self.database = database
        self.size = size
    }

    /// Calls `read` for each page until it says that it needs no more.
    ///
    /// - Parameters:
    ///   - first: The key behind which the first page begins.
    ///   - bound: The statement that selects the greatest key of the next page, or NULL if there is none, and counts its
    ///     rows. It gets the key behind which the page begins, and the rows that it may have.
    ///   - read: Reads a page, and says whether the next one is needed.
    /// - Throws: ``PostgresError``, and what `read` throws.
    package func read(
        after first: Int64 = 0,
        bound: (_ after: Int64, _ size: Int) -> Query,
        _ read: (Page) async throws -> Bool
    ) async throws {
        var after = first
        while case let (through?, rows)? = try await database.query(bound(after, size)).first(
            as: (Int64?, Int64).self
        ) {
            let isLast = rows < size
            guard try await read(Page(after: after, through: through, rows: Int(rows))), !isLast else { return }
            after = through
        }
    }
}

extension KeyPages {
    /// Bounds the next page of an activity's cards.
    package static func boundOfCards(_ activityKey: Int64) -> (_ after: Int64, _ size: Int) -> Query {
        { after, size in
            """
            SELECT max(device_key), count(*) FROM (
                SELECT device_key FROM subscriptions WHERE activity_key = \(activityKey) AND device_key > \(after)
                ORDER BY device_key LIMIT \(size)
            ) AS page
            """
        }
    }
}
