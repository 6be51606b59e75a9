package import APITypes
import Cryptography
import JSON

/// The place of an item in a list: the values of the columns that order it.
///
/// Callers see opaque text. A page begins after that place, so items that are added or deleted meanwhile shift nothing.
package struct PageCursor: Sendable, Hashable {
    package let values: [String]

    package init(values: [String]) {
        self.values = values
    }

    /// Reads what ``text`` made; nil for anything else.
    package init?(_ text: String) {
        // Text that is not JSON is simply not a cursor; why it is not is of no interest to anyone.
        guard let bytes = Base64URL.decode(text), let items = (try? JSONValue.parse(bytes))?.array else { return nil }
        let values = items.compactMap(\.string)
        guard values.count == items.count else { return nil }
        self.values = values
    }

    /// The opaque text.
    package var text: String {
        Base64URL.encode(JSONValue.array(values.map { .string($0) }).serialized())
    }

    /// 422: the cursor was not given out for this list.
    package static let refused = Problem.invalidRequest("'cursor' is not one that this list gave out.")
}

extension PageRequest {
    /// The place after which the page begins, in a list that is ordered by `count` columns; nil on the first page.
    ///
    /// - Throws: 422 when the cursor is not one of such a list.
    package func position(columns count: Int) throws(Problem) -> [String]? {
        guard let cursor else { return nil }
        guard let place = PageCursor(cursor), place.values.count == count else { throw PageCursor.refused }
        return place.values
    }
}

extension Page {
    /// The first `limit` of `found`, which holds one more where the list goes on; `place` gives an item's columns.
    package static func cut(_ found: [Item], limit: Int, place: (Item) -> [String]) -> Page<Item> {
        guard found.count > limit, limit > 0 else { return Page(items: found) }
        let items = Array(found.prefix(limit))
        return Page(items: items, nextCursor: PageCursor(values: place(items[limit - 1])).text)
    }
}
