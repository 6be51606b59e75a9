package import JSON

/// One page of a list: the answer of every list route.
package struct Page<Item: APIValue & Hashable>: Sendable, Hashable {
    package var items: [Item]
    /// The `?cursor=` of the next page; nil after the last page. Opaque to callers.
    package var nextCursor: String?

    package init(items: [Item], nextCursor: String? = nil) {
        self.items = items
        self.nextCursor = nextCursor
    }
}

extension Page: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let items = reader.required("items", .list(of: .object(Item.self)))
        let nextCursor = reader.optional("next_cursor", .string)
        guard reader.finish(), let items else { return nil }
        self.init(items: items, nextCursor: nextCursor)
    }

    /// `next_cursor` is `null` after the last page.
    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("items", items)
        fields.add("next_cursor", nextCursor.map { JSONValue.string($0) } ?? .null)
        return fields.json
    }
}

/// Selects one page of a list.
package struct PageRequest: Sendable, Hashable {
    /// The most items in one page, 1 to ``maximumLimit``.
    package var limit: Int
    /// The `next_cursor` of the previous page; nil for the first page.
    package var cursor: String?

    package static let defaultLimit = 100
    package static let maximumLimit = 1_000

    package init(limit: Int = defaultLimit, cursor: String? = nil) {
        self.limit = limit
        self.cursor = cursor
    }

    /// Reads the query parameters `limit` and `cursor`.
    ///
    /// - Throws: 422 `invalid_request` with the pointer `/limit`.
    package init(limit: String?, cursor: String?) throws(Problem) {
        guard let limit else {
            self.init(cursor: cursor)
            return
        }
        guard let number = Int(limit), (1...Self.maximumLimit).contains(number) else {
            let message = "A number from 1 to \(Self.maximumLimit) is expected."
            throw .invalidRequest(at: ["limit"], code: FieldError.outOfRange, message)
        }
        self.init(limit: number, cursor: cursor)
    }
}
